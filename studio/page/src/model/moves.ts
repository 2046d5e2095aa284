// Steps between checkpoints in the tree of branches.

import type { Row } from "../wire/documents";

export type Move = "older" | "newer" | "branchLeft" | "branchRight";

type Placed = readonly [number, Row];

/** Returns the id of the checkpoint that a move leads to. `rows` are those that have been read, from the top. */
export function moved(rows: readonly Placed[], position: number, move: Move): string | null {
  const selected = rows.find(([at]) => at === position)?.[1];
  if (selected === undefined) return null;
  switch (move) {
    case "older":
      // It need not have been read.
      return selected.parent ?? null;
    case "newer":
      return child(rows, selected);
    case "branchLeft":
      return neighbour(rows, position, selected, (lane) => lane < laneOf(selected));
    case "branchRight":
      return neighbour(rows, position, selected, (lane) => lane > laneOf(selected));
  }
}

export function laneOf(row: Row): number {
  return row.lane ?? 0;
}

/** The child in the same lane, or the newest one. */
function child(rows: readonly Placed[], parent: Row): string | null {
  const children = rows.map(([, row]) => row).filter((row) => row.parent === parent.id);
  const same = children.find((row) => laneOf(row) === laneOf(parent));
  return (same ?? children[0])?.id ?? null;
}

/** The nearest row of the nearest lane on one side. */
function neighbour(rows: readonly Placed[], position: number, selected: Row, side: (lane: number) => boolean): string | null {
  let best: readonly [number, number, Row] | null = null;
  for (const [at, row] of rows) {
    const lane = laneOf(row);
    if (!side(lane)) continue;
    const distance = [Math.abs(lane - laneOf(selected)), Math.abs(at - position)] as const;
    if (best === null || distance[0] < best[0] || (distance[0] === best[0] && distance[1] < best[1])) {
      best = [...distance, row];
    }
  }
  return best?.[2].id ?? null;
}

// What ran on the way to a checkpoint, from the rows of the timeline that have been read.

import type { Row } from "../wire/documents";

/** The run of a node on the way to the selected checkpoint. */
export interface NodeRun {
  /** How often it ran. */
  runs: number;
  /** The number of steps in which it ran, and their time. */
  steps: number;
  took_ms: number;
  /** The latest checkpoint in whose step it ran. */
  readonly latest: Row;
}

export interface Execution {
  /** By the names of nodes. */
  readonly nodes: ReadonlyMap<string, NodeRun>;
  /** The pairs of nodes of which one ran directly after the other, as `pairName` has them. */
  readonly pairs: ReadonlySet<string>;
  /** The pairs of the selected step. */
  readonly latestPairs: ReadonlySet<string>;
}

/** Returns the average milliseconds of the steps in which a node ran, as far as they are known. */
export function averageOf({ nodes }: Execution, node: string): number | null {
  const run = nodes.get(node);
  return run === undefined ? null : run.took_ms / run.steps;
}

export function pairName(from: string, to: string): string {
  return JSON.stringify([from, to]);
}

/** Follows the parents of the selected row, as far as their rows have been read. */
export function executionTo(selected: Row | null, rows: readonly Row[]): Execution {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const nodes = new Map<string, NodeRun>();
  const pairs = new Set<string>();
  const latestPairs = new Set<string>();
  let row = selected ?? undefined;
  while (row !== undefined) {
    const parent: Row | undefined = row.parent === undefined ? undefined : byId.get(row.parent);
    for (const node of row.ran) {
      const run = nodes.get(node);
      if (run === undefined) nodes.set(node, { runs: 1, steps: 0, took_ms: 0, latest: row });
      else run.runs += 1;
    }
    // Tasks of one step run at the same time, so each node counts its time once.
    for (const node of new Set(row.ran)) {
      const run = nodes.get(node);
      if (run === undefined) continue;
      run.steps += 1;
      run.took_ms += row.took_ms ?? 0;
    }
    for (const from of new Set(parent?.ran)) {
      for (const to of new Set(row.ran)) {
        pairs.add(pairName(from, to));
        if (row === selected) latestPairs.add(pairName(from, to));
      }
    }
    if (row.next.length === 0) for (const from of row.ran) pairs.add(pairName(from, "__end__"));
    if (row === selected && row.next.length === 0) for (const from of row.ran) latestPairs.add(pairName(from, "__end__"));
    row = parent;
  }
  return { nodes, pairs, latestPairs };
}

// The lanes of the branches beside the rows: the server says which lane a checkpoint has, which lanes pass it and which
// end at it.

import type { JSX } from "preact";
import { laneOf } from "../../model/moves";
import type { Row } from "../../wire/documents";
import { rowHeight } from "../virtual";

/** The distance of two lanes, and the largest width that all of them get. */
const GAP = 14;
const WIDEST = 126;
const RADIUS = 4.5;
const COLOURS = 6;

/** Returns the distance of lanes with which those of all rows fit, and the width of all lanes. */
export function lanesOf(rows: readonly Row[]): { readonly gap: number; readonly width: number } {
  const most = rows.reduce((most, row) => Math.max(most, laneOf(row), ...(row.passing ?? []), ...(row.branches ?? [])), 0) + 1;
  const gap = Math.min(GAP, WIDEST / most);
  return { gap, width: Math.ceil(most * gap) + GAP };
}

/** Returns `true` if the lane of a row comes from the row above. */
function comesFrom(above: Row | null | "unknown", lane: number): boolean {
  if (above === null) return false;
  if (above === "unknown") return true;
  return (laneOf(above) === lane && above.goes_on === true) || (above.passing ?? []).includes(lane);
}

interface Props {
  readonly row: Row;
  /** The row above; `null` for the first row. */
  readonly above: Row | null | "unknown";
  readonly gap: number;
  readonly width: number;
  /** `true` if the row is the latest of the thread that is shown. */
  readonly isHead: boolean;
}

export function Lanes({ row, above, gap, width, isHead }: Props): JSX.Element {
  const height = rowHeight();
  const middle = height / 2;
  const lane = laneOf(row);
  const x = (of: number) => GAP * 0.75 + of * gap;
  const line = (of: number, from: number, to: number) => <path key={`${of} ${from}`} class={colour(of)} d={`M${x(of)} ${from}V${to}`} />;
  return (
    <svg class="lanes" width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      {(row.passing ?? []).map((of) => line(of, 0, height))}
      {(row.branches ?? []).map((of) => (
        <path key={of} class={colour(of)} d={`M${x(of)} 0C${x(of)} ${middle} ${x(of)} ${middle} ${x(lane)} ${middle}`} />
      ))}
      {comesFrom(above, lane) && line(lane, 0, middle)}
      {row.goes_on === true && line(lane, middle, height)}
      <circle class={`${colour(lane)} ${isHead ? "is-head" : ""}`} cx={x(lane)} cy={middle} r={RADIUS} />
    </svg>
  );
}

function colour(lane: number): string {
  return `lane-${lane % COLOURS}`;
}

// The steps of two branches, beside each other.

import type { Compare, Line, Usage } from "../wire/documents";
import { items } from "./difference";

/** The same step on both branches, or a step of one of them. */
export interface Aligned {
  readonly a: Line | null;
  readonly b: Line | null;
  /** `true` if the same nodes ran, changed the same fields, and led to the same nodes. */
  readonly isSame: boolean;
}

/** Aligns the steps of two branches: those that did the same stand beside each other. */
export function aligned(a: readonly Line[], b: readonly Line[]): Aligned[] {
  const rows: Aligned[] = [];
  let [left, right] = [0, 0];
  for (const { before, after } of items(a.map(deed), b.map(deed))) {
    const line = before === undefined ? null : (a[left] ?? null);
    const other = after === undefined ? null : (b[right] ?? null);
    if (before !== undefined) left += 1;
    if (after !== undefined) right += 1;
    rows.push({ a: line, b: other, isSame: before !== undefined && before === after });
  }
  return rows;
}

/** What a step did, as a text. */
function deed({ source, ran, changed, next }: Line): string {
  return JSON.stringify([source, [...ran].sort(), [...changed].sort(), [...next].sort()]);
}

/** Returns the position of the first row whose sides differ; `null` if none does. */
export function firstDivergence(rows: readonly Aligned[]): number | null {
  const at = rows.findIndex(({ isSame }) => !isSame);
  return at < 0 ? null : at;
}

/** A figure of both branches. */
export interface Figure {
  readonly name: string;
  readonly a: number;
  readonly b: number;
  readonly unit: "count" | "ms" | "cost";
}

const NO_USAGE: Usage = { model_calls: 0, input_tokens: 0, output_tokens: 0, elapsed_ms: 0 };

/** Returns the figures of what each branch did on its own. */
export function figures({ a, b }: Pick<Compare, "a" | "b">): Figure[] {
  const [used, other] = [a.used ?? NO_USAGE, b.used ?? NO_USAGE];
  const took = (lines: readonly Line[]) => lines.reduce((sum, line) => sum + (line.took_ms ?? 0), 0);
  const all: Figure[] = [
    { name: "Steps", a: a.own.length, b: b.own.length, unit: "count" },
    { name: "Time of the steps", a: took(a.own), b: took(b.own), unit: "ms" },
  ];
  if (a.used === undefined && b.used === undefined) return all;
  all.push(
    { name: "Model calls", a: used.model_calls, b: other.model_calls, unit: "count" },
    { name: "Tokens in", a: used.input_tokens, b: other.input_tokens, unit: "count" },
    { name: "of them cached", a: used.cache_read_tokens ?? 0, b: other.cache_read_tokens ?? 0, unit: "count" },
    { name: "Tokens out", a: used.output_tokens, b: other.output_tokens, unit: "count" },
    { name: "Time of the calls", a: used.elapsed_ms, b: other.elapsed_ms, unit: "ms" },
  );
  if (used.cost !== undefined || other.cost !== undefined) all.push({ name: "Cost", a: used.cost ?? 0, b: other.cost ?? 0, unit: "cost" });
  return all;
}

// The differences between two values, found as the command line finds them: items of lists by their `id` if all have a
// unique one, otherwise by their values.

import type { Difference } from "../wire/documents";
import { type Json, Numeral, isObject } from "../wire/json";
import { type Path, type Segment, idsOf, printPath } from "./path";

/** Returns `true` if two values are the same JSON. */
export function equal(a: Json, b: Json): boolean {
  if (a === b) return true;
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return false;
  if (a instanceof Numeral || b instanceof Numeral) return a instanceof Numeral && b instanceof Numeral && a.source === b.source;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, at) => equal(item, b[at] ?? null));
  }
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && equal(a[key] ?? null, b[key] ?? null));
}

/** The same part of two values. One that only one of them has lacks the other side. */
export interface Pair {
  readonly segment: Segment;
  readonly before?: Json;
  readonly after?: Json;
  /** The position in a list: in the second one if it has the part. */
  readonly at?: number;
}

/** Returns the members of two objects, in the order of their keys on the command line. */
export function members(before: { readonly [key: string]: Json }, after: { readonly [key: string]: Json }): Pair[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort(byCharacters);
  return keys.map((key) => pairOf({ key }, own(before, key), own(after, key)));
}

/** Returns the items of two lists: in the order of the second one, each removed item where it was. */
export function items(before: readonly Json[], after: readonly Json[]): Pair[] {
  const [oldIds, newIds] = [idsOf(before), idsOf(after)];
  return oldIds !== null && newIds !== null ? itemsById(before, oldIds, after, newIds) : itemsByValue(before, after);
}

/** Returns the ids of the items that both lists have, in the order of the second, if that is not the one of the first. */
export function reordered(before: readonly Json[], after: readonly Json[]): Json[] | null {
  const [oldIds, newIds] = [idsOf(before), idsOf(after)];
  if (oldIds === null || newIds === null) return null;
  const places = new Map(oldIds.map((id, at) => [id, at]));
  const common = newIds.flatMap((id) => places.get(id) ?? []);
  if (common.every((place, at) => at === 0 || place > (common[at - 1] ?? 0))) return null;
  return common.map((place) => {
    const item = before[place] ?? null;
    return isObject(item) ? (item["id"] ?? null) : null;
  });
}

/** Returns all differences between two values, in the order in which the command line lists them. */
export function differences(before: Json, after: Json): Difference[] {
  const found: Difference[] = [];
  compare([], before, after, found);
  return found;
}

function compare(path: Path, before: Json, after: Json, found: Difference[]): void {
  if (equal(before, after)) return;
  if (Array.isArray(before) && Array.isArray(after)) {
    const pairs = items(before, after);
    const ids = reordered(before, after);
    const gone = pairs.filter((pair) => pair.after === undefined).sort((a, b) => (a.at ?? 0) - (b.at ?? 0));
    // Positions stay right if items are removed from the end.
    const byPosition = gone.some(({ segment }) => "index" in segment);
    for (const pair of byPosition ? gone.reverse() : gone) push(path, pair, found);
    if (ids !== null) found.push({ path: printPath(path), edit: "reordered", ids });
    for (const pair of pairs) if (pair.before === undefined) push(path, pair, found);
    for (const pair of pairs) if (pair.before !== undefined && pair.after !== undefined) push(path, pair, found);
  } else if (isObject(before) && isObject(after)) {
    for (const pair of members(before, after)) push(path, pair, found);
  } else {
    found.push({ path: printPath(path), edit: "changed", from: before, to: after });
  }
}

function push(path: Path, { segment, before, after, at }: Pair, found: Difference[]): void {
  const place = [...path, segment];
  if (before !== undefined && after !== undefined) compare(place, before, after, found);
  else if (before !== undefined) found.push({ path: printPath(place), edit: "removed", value: before });
  else if (after !== undefined) found.push({ path: printPath(place), edit: "added", value: after, ...(at !== undefined && { at }) });
}

function own(value: { readonly [key: string]: Json }, key: string): Json | undefined {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function pairOf(segment: Segment, before: Json | undefined, after: Json | undefined, at?: number): Pair {
  return {
    segment,
    ...(before !== undefined && { before }),
    ...(after !== undefined && { after }),
    ...(at !== undefined && { at }),
  };
}

/** UTF-16 puts some characters before others that have a lower number. */
function byCharacters(a: string, b: string): number {
  for (let at = 0; at < Math.min(a.length, b.length); at += 1) {
    if (a.charCodeAt(at) !== b.charCodeAt(at)) return (a.codePointAt(at) ?? 0) - (b.codePointAt(at) ?? 0);
  }
  return a.length - b.length;
}

function itemsById(before: readonly Json[], oldIds: readonly string[], after: readonly Json[], newIds: readonly string[]): Pair[] {
  const places = new Map(oldIds.map((id, at) => [id, at]));
  const isKept = new Set(newIds);
  const pairs = newIds.map((id, at) => {
    const place = places.get(id);
    return pairOf({ item: id }, place === undefined ? undefined : before[place], after[at], at);
  });
  // A removed item stands behind the one that it followed.
  const gone = new Map<string | null, Pair[]>();
  let follows: string | null = null;
  oldIds.forEach((id, at) => {
    if (isKept.has(id)) {
      follows = id;
      return;
    }
    const behind = gone.get(follows) ?? [];
    behind.push(pairOf({ item: id }, before[at], undefined, at));
    gone.set(follows, behind);
  });
  return [...(gone.get(null) ?? []), ...pairs.flatMap((pair, at) => [pair, ...(gone.get(newIds[at] ?? "") ?? [])])];
}

function itemsByValue(before: readonly Json[], after: readonly Json[]): Pair[] {
  const pairs: Pair[] = [];
  let [old, fresh] = [0, 0];
  for (const [oldSame, newSame] of [...commonSubsequence(before, after), [before.length, after.length] as const]) {
    // Between two unchanged items, as many items as both lists have there count as changed.
    for (; old < oldSame && fresh < newSame; old += 1, fresh += 1) {
      pairs.push(pairOf({ index: fresh }, before[old], after[fresh], fresh));
    }
    for (; old < oldSame; old += 1) pairs.push(pairOf({ index: old }, before[old], undefined, old));
    for (; fresh < newSame; fresh += 1) pairs.push(pairOf({ index: fresh }, undefined, after[fresh], fresh));
    if (old < before.length && fresh < after.length) pairs.push(pairOf({ index: fresh }, before[old], after[fresh], fresh));
    [old, fresh] = [oldSame + 1, newSame + 1];
  }
  return pairs;
}

/** The most comparisons for aligning two lists; longer lists are compared position by position. */
const COMPARISONS = 1 << 20;

/** Returns the positions of the items that both lists have in the same order. */
function commonSubsequence(before: readonly Json[], after: readonly Json[]): (readonly [number, number])[] {
  const same = (a: number, b: number) => equal(before[a] ?? null, after[b] ?? null);
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && same(start, start)) start += 1;
  let end = 0;
  while (end < shorter - start && same(before.length - 1 - end, after.length - 1 - end)) end += 1;
  const common: (readonly [number, number])[] = [];
  for (let at = 0; at < start; at += 1) common.push([at, at]);
  const [rows, columns] = [before.length - start - end, after.length - start - end];
  if (rows * columns <= COMPARISONS) common.push(...longest(rows, columns, (a, b) => same(start + a, start + b)).map(([a, b]) => [start + a, start + b] as const));
  for (let at = end; at > 0; at -= 1) common.push([before.length - at, after.length - at]);
  return common;
}

/** Returns the longest common subsequence, by dynamic programming. */
function longest(rows: number, columns: number, same: (row: number, column: number) => boolean): (readonly [number, number])[] {
  const width = columns + 1;
  // The length for what follows a row and a column.
  const lengths = new Uint32Array((rows + 1) * width);
  const isSame = new Uint8Array(rows * columns);
  const length = (row: number, column: number) => lengths[row * width + column] ?? 0;
  for (let row = rows - 1; row >= 0; row -= 1) {
    for (let column = columns - 1; column >= 0; column -= 1) {
      const here = same(row, column);
      isSame[row * columns + column] = here ? 1 : 0;
      lengths[row * width + column] = here ? length(row + 1, column + 1) + 1 : Math.max(length(row + 1, column), length(row, column + 1));
    }
  }
  const common: (readonly [number, number])[] = [];
  for (let row = 0, column = 0; row < rows && column < columns; ) {
    if (isSame[row * columns + column] === 1) common.push([row++, column++]);
    else if (length(row + 1, column) >= length(row, column + 1)) row += 1;
    else column += 1;
  }
  return common;
}

// The tree of a state, with what the step changed.

import { type Json, isObject } from "../wire/json";
import { type Pair, equal, items, members, reordered } from "./difference";
import { type Path, type Segment, canonicalPath, idsOf, parsePath, printPath } from "./path";

/** What a step did to a value; `inside` if it changed a part of it. */
export type Mark = "added" | "removed" | "changed" | "moved" | "inside";

/** The states that are shown: the one after the step with marks, the one before it, or only what differs. */
export const SIDES = ["after", "before", "difference"] as const;
export type Side = (typeof SIDES)[number];

export const SIDE_TITLES: { readonly [S in Side]: string } = { after: "After", before: "Before", difference: "Difference" };

/** Returns the side of an address. */
export function sideOf(parameter: string | undefined): Side {
  return SIDES.find((side) => side === parameter) ?? "after";
}

/** A visible row of the tree. */
export interface TreeRow {
  readonly path: string;
  /** The name in its parent: a key, an id or a position. */
  readonly label: string;
  readonly isKey: boolean;
  /** 1 for a field of the state. */
  readonly level: number;
  readonly value: Json;
  /** The other value of what changed: on the side `before` the one after the step, otherwise the one before it. */
  readonly other: Json | undefined;
  readonly mark: Mark | null;
  /** The number of its parts; 0 for a value without parts. */
  readonly parts: number;
  /** `true` if rows of its parts can be shown: also of those that the step removed, if none is left. */
  readonly hasRows: boolean;
  readonly isOpen: boolean;
  /** The position among its siblings, from 1, and their number. */
  readonly position: number;
  readonly siblings: number;
}

export interface TreeInput {
  readonly after: Json;
  /** The state of the step before; `null` if there is none, or it is not known. */
  readonly before: Json | null;
  readonly side: Side;
  /** The fields that the step changed; of secret ones both values look the same. */
  readonly changed: readonly string[];
  /** The rows that a person opened or closed, by their paths. */
  readonly opened: ReadonlyMap<string, boolean>;
  /** The selected path: the rows that lead to it are open. */
  readonly selected: string | null;
}

/** Fields with more parts begin closed. */
const FEW = 12;

/** Returns the visible rows. */
export function treeRows(input: TreeInput): TreeRow[] {
  const rows: TreeRow[] = [];
  const { after, selected } = input;
  const target = selected === null ? null : canonicalPath(after, parsePath(selected) ?? []);
  const before = input.before ?? after;
  append([], { segment: { key: "" }, before, after }, target, 0, input, rows);
  return rows;
}

/** Appends the rows of the parts of a value. */
function append(path: Path, whole: Pair, target: Path | null, level: number, input: TreeInput, rows: TreeRow[]): void {
  const pairs = partsOf(whole, input.side);
  const moved = level > 0 ? movedIds(whole) : null;
  const marked = pairs.map((pair) => [pair, markOf(pair, moved, level, input.before === null ? [] : input.changed)] as const);
  const isCompared = whole.before !== whole.after;
  const shown = input.side === "difference" && isCompared ? marked.filter(([, mark]) => mark !== null) : marked;
  shown.forEach(([pair, mark], at) => {
    const value = valueOf(pair, input.side);
    const wanted = target?.[level];
    const leads = wanted !== undefined && printPath([wanted]) === printPath([pair.segment]);
    const place = [...path, pair.segment];
    const name = printPath(place);
    const parts = sizeOf(value);
    const isAbove = leads && (target?.length ?? 0) > level + 1;
    const hasRows = parts > 0 || (mark === "inside" && input.side !== "before");
    const isOpen = hasRows && (input.opened.get(keyOf(name, mark)) ?? (isAbove || mark === "inside" || (level === 0 && parts <= FEW && mark !== "removed")));
    rows.push({
      path: name,
      label: labelOf(pair.segment),
      isKey: "key" in pair.segment,
      level: level + 1,
      value,
      other: mark === "changed" ? otherOf(pair, input.side) : undefined,
      mark,
      parts,
      hasRows,
      isOpen,
      position: at + 1,
      siblings: shown.length,
    });
    // The parts of other values are shown as they are.
    const inner = mark === "inside" ? pair : { segment: pair.segment, before: value, after: value };
    if (isOpen) append(place, inner, leads ? target : null, level + 1, input, rows);
  });
}

/** The name of a row among the opened ones, and in the page: a removed part may have the path of another one. */
export function keyOf(path: string, mark: Mark | null): string {
  return mark === "removed" ? `removed ${path}` : path;
}

function partsOf({ before, after }: Pair, side: Side): Pair[] {
  if (before !== undefined && after !== undefined) {
    if (Array.isArray(before) && Array.isArray(after)) {
      // The states of most steps share most lists.
      const pairs = before === after || equal(before, after) ? same(after) : items(before, after);
      return side === "before" ? inOldOrder(pairs, before) : pairs;
    }
    if (isObject(before) && isObject(after)) {
      const pairs = members(before, after);
      return side === "before" ? pairs.filter((pair) => pair.before !== undefined) : pairs;
    }
  }
  return [];
}

/** Returns the items that the first list has, in its order. */
function inOldOrder(pairs: readonly Pair[], before: readonly Json[]): Pair[] {
  const places = new Map((idsOf(before) ?? []).map((id, at) => [id, at]));
  const place = ({ segment }: Pair) => ("item" in segment ? (places.get(segment.item) ?? 0) : 0);
  return pairs.filter((pair) => pair.before !== undefined).sort((a, b) => place(a) - place(b));
}

function same(list: readonly Json[]): Pair[] {
  const ids = idsOf(list);
  return list.map((item, at) => {
    const id = ids?.[at];
    return { segment: id === undefined ? { index: at } : { item: id }, before: item, after: item, at };
  });
}

function markOf({ segment, before, after }: Pair, moved: ReadonlySet<string> | null, level: number, changed: readonly string[]): Mark | null {
  if (before === undefined) return "added";
  if (after === undefined) return "removed";
  if (equal(before, after)) {
    if (level === 0 && "key" in segment && changed.includes(segment.key) && after === "<secret>") return "changed";
    return "item" in segment && moved?.has(segment.item) ? "moved" : null;
  }
  const haveParts = (Array.isArray(before) && Array.isArray(after)) || (isObject(before) && isObject(after));
  return haveParts ? "inside" : "changed";
}

/** The ids of the items whose order changed. */
function movedIds({ before, after }: Pair): ReadonlySet<string> | null {
  if (!Array.isArray(before) || !Array.isArray(after) || before === after) return null;
  if (reordered(before, after) === null) return null;
  const [oldIds, newIds] = [idsOf(before) ?? [], idsOf(after) ?? []];
  const [isOld, isNew] = [new Set(oldIds), new Set(newIds)];
  const [old, fresh] = [oldIds.filter((id) => isNew.has(id)), newIds.filter((id) => isOld.has(id))];
  return new Set(fresh.filter((id, at) => old[at] !== id));
}

function valueOf({ before, after }: Pair, side: Side): Json {
  const [wanted, other] = side === "before" ? [before, after] : [after, before];
  return wanted !== undefined ? wanted : (other ?? null);
}

function otherOf({ before, after }: Pair, side: Side): Json | undefined {
  return side === "before" ? after : before;
}

function sizeOf(value: Json): number {
  return Array.isArray(value) ? value.length : isObject(value) ? Object.keys(value).length : 0;
}

function labelOf(segment: Segment): string {
  if ("key" in segment) return segment.key;
  if ("index" in segment) return String(segment.index);
  return segment.item.startsWith('"') ? String(JSON.parse(segment.item)) : segment.item;
}

/** Returns the position of the row with a path, which may be written in another way. */
export function findRow(rows: readonly TreeRow[], path: string, after: Json): number | null {
  const wanted = canonicalName(path, after);
  const found = rows.findIndex((row) => row.path === wanted && row.mark !== "removed");
  const removed = found >= 0 ? found : rows.findIndex((row) => row.path === wanted);
  return removed < 0 ? null : removed;
}

function canonicalName(path: string, value: Json): string {
  const parsed = parsePath(path);
  return parsed === null ? path : printPath(canonicalPath(value, parsed));
}

/** Returns the position of the row that contains another one. */
export function parentOf(rows: readonly TreeRow[], position: number): number | null {
  const level = rows[position]?.level ?? 1;
  for (let at = position - 1; at >= 0; at -= 1) {
    if ((rows[at]?.level ?? 0) < level) return at;
  }
  return null;
}

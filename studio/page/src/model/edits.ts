// An edit of a state before it is stored: the values that are typed, and the state with them.

import { type Json, isObject, kindOf, parse, print } from "../wire/json";
import type { Assignment } from "../wire/requests";
import { contentOf } from "./content";
import { jsonProblem } from "./form/draft";
import { type Path, parsePath, positionIn, printPath, valueAt } from "./path";

/** A value that is being edited. */
export interface Entry {
  readonly path: string;
  /** The letters of a text, or JSON. */
  readonly typed: string;
  readonly as: "text" | "json";
}

/** Returns the entry for the value at a path, with the present value. */
export function entryAt(state: Json, path: string): Entry {
  const parsed = parsePath(path);
  const value = parsed === null ? undefined : valueAt(state, parsed);
  if (value === undefined) return { path, typed: "", as: "json" };
  // A secret is not known here, and must not be replaced by an empty text.
  if (contentOf(value).is === "secret") return { path, typed: "", as: "json" };
  return typeof value === "string" ? { path, typed: value, as: "text" } : { path, typed: print(value, "indented"), as: "json" };
}

/** Returns `true` for an entry in which nothing was typed. */
export function isUntouched(state: Json, { path, typed, as }: Entry): boolean {
  const first = entryAt(state, path);
  return typed === "" || (typed === first.typed && as === first.as);
}

/** Returns the entry in the other form, with the same value where it can be kept. */
export function converted({ path, typed, as }: Entry): Entry {
  if (as === "text") return { path, typed: JSON.stringify(typed), as: "json" };
  try {
    const value = parse(typed);
    return { path, typed: typeof value === "string" ? value : typed, as: "text" };
  } catch {
    return { path, typed, as: "text" };
  }
}

/** What comes of entries: the assignments that change something, and the state with them. */
export interface Edit {
  readonly assignments: readonly Assignment[];
  readonly state: Json;
  /** The error of each entry. */
  readonly problems: ReadonlyMap<number, string>;
  /** The fields that become another kind of JSON. */
  readonly kinds: readonly string[];
}

export function editOf(before: Json, entries: readonly Entry[]): Edit {
  const assignments: Assignment[] = [];
  const problems = new Map<number, string>();
  let state = before;
  for (const [at, entry] of entries.entries()) {
    const read = assignmentOf(entry, state);
    if (typeof read === "string") problems.set(at, read);
    else {
      assignments.push(read.assignment);
      state = read.state;
    }
  }
  return { assignments, state, problems, kinds: changedKinds(before, state) };
}

function assignmentOf({ path, typed, as }: Entry, state: Json): string | { readonly assignment: Assignment; readonly state: Json } {
  if (path.trim() === "") return "Enter the path of the value, such as draft or facts[0].text.";
  const parsed = parsePath(path.trim());
  if (parsed === null) return "This is not a path, such as draft, facts[0].text or notes[id=\"a\"].done.";
  const [first] = parsed;
  if (first === undefined || !("key" in first)) return "A path begins with the name of a field.";
  let value: Json = typed;
  if (as === "json") {
    if (typed.trim() === "") return "Enter JSON, or choose Text.";
    try {
      value = parse(typed);
    } catch (error) {
      return jsonProblem(error);
    }
  }
  const inserted = insert(state, parsed, value);
  return typeof inserted === "string" ? inserted : { assignment: { path: path.trim(), value }, state: inserted.value };
}

/** Puts a value into another one: it replaces a value, becomes a member, or is appended to a list. */
function insert(whole: Json, path: Path, value: Json, steps = 0): string | { readonly value: Json } {
  const segment = path[steps];
  if (segment === undefined) return { value };
  const isLast = steps + 1 === path.length;
  const nowhere = (found: string) => `${printPath(path)} leads nowhere: ${printPath(path.slice(0, steps))} is ${found}.`;
  if (Array.isArray(whole)) {
    const at = positionIn(whole, segment);
    if (at < 0) {
      const isEnd = "index" in segment ? segment.index === whole.length : "key" in segment && segment.key === String(whole.length);
      if (isLast && isEnd) return { value: [...whole, value] };
      return nowhere(`a list of ${whole.length}${"item" in segment ? `, and none has the id ${segment.item}` : ""}`);
    }
    const inner = insert(whole[at] ?? null, path, value, steps + 1);
    return typeof inner === "string" ? inner : { value: whole.map((item, position) => (position === at ? inner.value : item)) };
  }
  if (isObject(whole)) {
    if (!("key" in segment)) return nowhere("an object");
    const { key } = segment;
    const held = Object.hasOwn(whole, key) ? whole[key] : undefined;
    if (held === undefined && !isLast) return nowhere(`an object without ${JSON.stringify(key)}`);
    const inner = held === undefined ? { value } : insert(held, path, value, steps + 1);
    if (typeof inner === "string") return inner;
    const members = Object.entries(whole).map(([name, member]): [string, Json] => [name, name === key ? inner.value : member]);
    return { value: Object.fromEntries(held === undefined ? [...members, [key, inner.value]] : members) };
  }
  return nowhere(KINDS[kindOf(whole)]);
}

/** The fields whose kind changes, which the program may not be able to read. */
function changedKinds(before: Json, after: Json): string[] {
  if (!isObject(before) || !isObject(after)) return [];
  return Object.entries(after).flatMap(([field, value]) => {
    const held = Object.hasOwn(before, field) ? before[field] : undefined;
    if (held === undefined || held === null || value === null || contentOf(held).is === "secret") return [];
    return kindOf(held) === kindOf(value) ? [] : [`${field} was ${KINDS[kindOf(held)]} and becomes ${KINDS[kindOf(value)]}`];
  });
}

const KINDS = { null: "null", boolean: "true or false", number: "a number", text: "a text", list: "a list", object: "an object" } as const;

// Paths into a state, as the command line writes them: `draft`, `facts[2].text`, `notes[id="a"].done`, `["a key"].b`.

import { type Json, Numeral, isObject, parse, print } from "../wire/json";

export type Segment =
  /** The key of a member; if it is a number, also the position of an item. */
  | { readonly key: string }
  /** The position of an item. */
  | { readonly index: number }
  /** The id of an item, as JSON text. */
  | { readonly item: string };

export type Path = readonly Segment[];

/** Characters of a key that is written without quotes: no others than on the command line. */
const BARE = /^(?!\/)[^.[\]"=\s\p{Cc}]+$/u;
const WORD = /^[^.[\]"=\s\p{Cc}]+/u;
const QUOTED = /^"(?:[^"\\]|\\.)*"/su;

/** Returns a path as a text. */
export function printPath(path: Path): string {
  if (path.length === 0) return ".";
  return path.map((segment, at) => printSegment(segment, at === 0)).join("");
}

function printSegment(segment: Segment, isFirst: boolean): string {
  if ("index" in segment) return `[${segment.index}]`;
  if ("item" in segment) return `[id=${segment.item}]`;
  if (!BARE.test(segment.key)) return `[${JSON.stringify(segment.key)}]`;
  return isFirst ? segment.key : `.${segment.key}`;
}

/** Reads a path; `null` if the text is none. The server has the sentence about what is wrong. */
export function parsePath(text: string): Path | null {
  if (text === ".") return [];
  if (text.startsWith("/")) {
    const keys = text.slice(1).split("/");
    return keys.map((key) => ({ key: key.replace(/~1/g, "/").replace(/~0/g, "~") }));
  }
  const path: Segment[] = [];
  let rest = text.startsWith("[") ? text : `.${text}`;
  while (rest !== "") {
    const taken = rest.startsWith(".") ? word(rest.slice(1)) : rest.startsWith("[") ? bracketed(rest.slice(1)) : null;
    if (taken === null) return null;
    path.push(taken.segment);
    rest = taken.rest;
  }
  return path;
}

interface Taken {
  readonly segment: Segment;
  readonly rest: string;
}

function word(text: string): Taken | null {
  const [key] = WORD.exec(text) ?? [];
  return key === undefined ? null : { segment: { key }, rest: text.slice(key.length) };
}

function bracketed(text: string): Taken | null {
  const isItem = text.startsWith("id=");
  const body = isItem ? text.slice(3) : text;
  const [quoted] = QUOTED.exec(body) ?? [];
  const inside = quoted ?? body.slice(0, Math.max(0, body.indexOf("]")));
  const rest = body.slice(inside.length);
  if (inside === "" || !rest.startsWith("]")) return null;
  const segment = isItem ? { item: itemOf(inside) } : quoted === undefined ? position(inside) : { key: unquoted(quoted) };
  return segment === null ? null : { segment, rest: rest.slice(1) };
}

function position(text: string): Segment | null {
  return /^\d+$/.test(text) ? { index: Number(text) } : null;
}

/** An id may also be written as a word without quotes. */
function itemOf(text: string): string {
  if (text.startsWith('"')) return JSON.stringify(unquoted(text));
  return /^-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(text) ? text : JSON.stringify(text);
}

function unquoted(text: string): string {
  try {
    const value = parse(text);
    return typeof value === "string" ? value : text;
  } catch {
    return text;
  }
}

/** Returns the value at a path; `undefined` if there is none. */
export function valueAt(value: Json, path: Path): Json | undefined {
  let here: Json | undefined = value;
  for (const segment of path) {
    if (here === undefined) return undefined;
    here = step(here, segment);
  }
  return here;
}

function step(value: Json, segment: Segment): Json | undefined {
  if (Array.isArray(value)) return value[positionIn(value, segment)];
  return isObject(value) && "key" in segment && Object.hasOwn(value, segment.key) ? value[segment.key] : undefined;
}

/** Returns the position of an item; -1 if the list does not have it. */
export function positionIn(list: readonly Json[], segment: Segment): number {
  if ("item" in segment) return list.findIndex((item) => idOf(item) === segment.item);
  const at = "index" in segment ? segment.index : /^\d+$/.test(segment.key) ? Number(segment.key) : -1;
  return at < list.length ? at : -1;
}

/** Returns a path with the ids of items in place of their positions, where lists are aware of ids. */
export function canonicalPath(value: Json, path: Path): Path {
  let here: Json | undefined = value;
  return path.map((segment): Segment => {
    const around: Json | undefined = here;
    here = around === undefined ? undefined : step(around, segment);
    const at = Array.isArray(around) ? positionIn(around, segment) : -1;
    if (!Array.isArray(around) || at < 0) return segment;
    const id = idsOf(around)?.[at];
    return id === undefined ? { index: at } : { item: id };
  });
}

/** Returns the id of a list's item in the form of paths, if it is a text or a number. */
export function idOf(item: Json): string | null {
  if (!isObject(item) || !Object.hasOwn(item, "id")) return null;
  const { id } = item;
  return typeof id === "string" || typeof id === "number" || id instanceof Numeral ? print(id) : null;
}

/** Returns the ids of a list's items; `null` unless each item has a unique one. */
export function idsOf(items: readonly Json[]): readonly string[] | null {
  const ids: string[] = [];
  for (const item of items) {
    const id = idOf(item);
    if (id === null) return null;
    ids.push(id);
  }
  return new Set(ids).size === ids.length ? ids : null;
}

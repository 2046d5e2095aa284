// JSON that keeps every number as it was written: a state may hold 64-bit ids, which JavaScript's numbers round.

/** A value of a state. */
export type Json = null | boolean | number | string | Numeral | Json[] | { [key: string]: Json };

/** A number that JavaScript would print in another way than its source, such as `12345678901234567890` or `1.0`. */
export class Numeral {
  constructor(readonly source: string) {}
}

export type JsonKind = "null" | "boolean" | "number" | "text" | "list" | "object";

export function kindOf(value: Json): JsonKind {
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  if (value instanceof Numeral) return "number";
  switch (typeof value) {
    case "boolean":
      return "boolean";
    case "number":
      return "number";
    case "string":
      return "text";
    default:
      return "object";
  }
}

export function isObject(value: Json): value is { [key: string]: Json } {
  return kindOf(value) === "object";
}

/** A number that may need its source. False alarms inside texts only cost time. */
const UNUSUAL = /(?:^|[:,[\s])-?(?:\d[\d.]{15,}|\d+\.\d*0|\d[\d.]*[eE][-+]?\d+|(?<=-)0)(?=[\s,\]}]|$)/;

/** The texts of a document that are no keys, its numbers, and its keys, which stay. */
const TOKENS = /"(?:[^"\\]|\\.)*"(?:\s*:)?|-?\d[-+.\deE]*/g;

/** Parses a JSON text. Throws a SyntaxError. */
export function parse(text: string): Json {
  const value: Json = JSON.parse(text);
  return UNUSUAL.test(text) ? JSON.parse(text.replace(TOKENS, marked), unmarked) : value;
}

/** Makes a text of a number that would lose its source, and tells other texts apart by one more mark. */
function marked(token: string): string {
  if (token.endsWith(":")) return token;
  if (token.startsWith('"')) return String(JSON.parse(token)).startsWith("#") ? `"#${token.slice(1)}` : token;
  return String(Number(token)) === token ? token : `"#${token}"`;
}

function unmarked(_: string, value: Json): Json {
  if (typeof value !== "string" || !value.startsWith("#")) return value;
  return value.startsWith("##") ? value.slice(1) : new Numeral(value.slice(1));
}

/** Prints a value as JSON, on one line or indented by two spaces. */
export function print(value: Json, layout: "line" | "indented" = "line"): string {
  const parts: string[] = [];
  write(value, layout === "indented" ? "\n" : "", parts);
  return parts.join("");
}

function write(value: Json, newline: string, to: string[]): void {
  if (value instanceof Numeral) {
    to.push(value.source);
  } else if (Array.isArray(value)) {
    bracketed("[", "]", value, newline, to, (item, inner) => write(item, inner, to));
  } else if (isObject(value)) {
    bracketed("{", "}", Object.entries(value), newline, to, ([key, member], inner) => {
      to.push(JSON.stringify(key), newline ? ": " : ":");
      write(member, inner, to);
    });
  } else {
    to.push(JSON.stringify(value));
  }
}

function bracketed<T>(
  open: string,
  close: string,
  items: readonly T[],
  newline: string,
  to: string[],
  each: (item: T, newline: string) => void,
): void {
  const inner = newline && `${newline}  `;
  to.push(open);
  items.forEach((item, position) => {
    to.push(position > 0 ? "," : "", inner);
    each(item, inner);
  });
  to.push(items.length > 0 ? newline : "", close);
}

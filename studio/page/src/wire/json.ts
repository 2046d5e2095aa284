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

/** Parses a JSON text. Throws a SyntaxError. */
export function parse(text: string): Json {
  const value: Json = JSON.parse(text);
  return UNUSUAL.test(text) ? new Reader(text).document() : value;
}

/** Reads a text that JSON.parse has accepted, so it need not look for errors. */
class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  document(): Json {
    this.space();
    return this.value();
  }

  private value(): Json {
    switch (this.text[this.at]) {
      case "{":
        return this.object();
      case "[":
        return this.list();
      case '"':
        return this.string();
      case "t":
        this.at += 4;
        return true;
      case "f":
        this.at += 5;
        return false;
      case "n":
        this.at += 4;
        return null;
      default:
        return this.number();
    }
  }

  private object(): Json {
    const members: [string, Json][] = [];
    this.open();
    while (this.text[this.at] !== "}") {
      const key = this.string();
      this.space();
      this.open();
      members.push([key, this.value()]);
      this.separator();
    }
    this.at += 1;
    // Own properties, also for the key __proto__.
    return Object.fromEntries(members);
  }

  private list(): Json {
    const items: Json[] = [];
    this.open();
    while (this.text[this.at] !== "]") {
      items.push(this.value());
      this.separator();
    }
    this.at += 1;
    return items;
  }

  private string(): string {
    const begin = this.at;
    let end = begin + 1;
    while (this.text[end] !== '"') end += this.text[end] === "\\" ? 2 : 1;
    this.at = end + 1;
    return String(JSON.parse(this.text.slice(begin, this.at)));
  }

  private number(): Json {
    const begin = this.at;
    while (/[-+.\deE]/.test(this.text[this.at] ?? "")) this.at += 1;
    const source = this.text.slice(begin, this.at);
    const number = Number(source);
    return String(number) === source ? number : new Numeral(source);
  }

  /** Passes a bracket or a colon, and the space behind it. */
  private open(): void {
    this.at += 1;
    this.space();
  }

  private separator(): void {
    this.space();
    if (this.text[this.at] === ",") this.open();
  }

  private space(): void {
    while (/\s/.test(this.text[this.at] ?? "")) this.at += 1;
  }
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

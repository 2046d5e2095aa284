// Texts for people: names, times, durations, sizes and counts.

/** Characters that are invisible or change the text around them: the same as on the command line. */
const NONPRINTING =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|\r(?!\n)/gu;

/** Most texts, which need no search for the characters above. */
const PLAIN = /^[ -~]*$/;

/** Returns a text with its nonprinting characters escaped, as `\u{202e}`. All texts of a file are shown by it. */
export function shown(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(NONPRINTING, (letter) => `\\u{${(letter.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Returns a text with the full stop of a sentence. */
export function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** Returns JSON with its nonprinting characters escaped, as `\u202e`: still the same JSON. */
export function shownJson(json: string): string {
  return json.replace(NONPRINTING, (letter) =>
    [...Array(letter.length).keys()].map((at) => `\\u${letter.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );
}

/** Returns the name of a node, with the words of the documentation for the special ones. */
export function shownNode(node: string): string {
  if (node === "__start__") return "START";
  if (node === "__end__") return "END";
  if (node === "__edit__") return "EDIT";
  return shown(node);
}

/** Returns a text on one line, cut to a number of characters. */
export function excerpt(text: string, longest: number): string {
  const line = shown(text).replace(/\s+/g, " ").trim();
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
}

/** Returns the short form of an id: its last characters, as ids of the same time begin alike. */
export function shortId(id: string): string {
  return id.length > 12 ? id.slice(-8) : shown(id);
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** Returns the name of a thread for a small place: of a generated name, its last characters. */
export function shortName(name: string): string {
  return UUID.test(name) ? `…${name.slice(-8)}` : excerpt(name, 32);
}

/** Returns a duration as the command line prints it. */
export function duration(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 1) return `${Math.round(ms)} ms`;
  if (seconds < 60) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}

/** Returns a count in a few characters: 950, 1.2k, 34k, 5.6M. */
export function compact(count: number): string {
  return scaled(count, ["", "k", "M"]);
}

export function bytes(count: number): string {
  return scaled(count, [" B", " kB", " MB", " GB"]);
}

/** Returns a count in the largest unit in which it is at least one; each unit is a thousand of the one before. */
function scaled(count: number, units: readonly string[]): string {
  let [value, at] = [count, 0];
  for (; value >= (at === 0 ? 1_000 : 999.5) && at + 1 < units.length; at += 1) value /= 1_000;
  return `${at > 0 && value < 9.95 ? value.toFixed(1) : Math.round(value)}${units[at]}`;
}

/** Returns names with their counts, in the order of their first: `write, pack ×3`. */
export function grouped(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`)).join(", ");
}

/** Returns a number with its noun: 1 question, 2 questions. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Returns a cost of the price table, which names no currency. */
export function cost(amount: number): string {
  return amount >= 1 ? amount.toFixed(2) : amount.toPrecision(2);
}

/** Returns a time of today without its date, and others with it; `at` is in RFC 3339. */
export function time(at: string, now: Date): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return shown(at);
  const two = (value: number) => String(value).padStart(2, "0");
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  if (date.toDateString() === now.toDateString()) return clock;
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock}`;
}

/** Returns how long ago a time was, in one unit. */
export function ago(at: string, now: Date): string {
  const ms = now.getTime() - new Date(at).getTime();
  if (Number.isNaN(ms)) return shown(at);
  const units: readonly (readonly [number, string])[] = [
    [86_400_000, "d"],
    [3_600_000, "h"],
    [60_000, "min"],
    [1_000, "s"],
  ];
  for (const [size, unit] of units) {
    if (ms >= size) return `${Math.floor(ms / size)} ${unit} ago`;
  }
  return "now";
}

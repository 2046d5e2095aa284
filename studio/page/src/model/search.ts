// Results of a search, by thread.

import type { PaneName } from "./address";
import type { Grep } from "../wire/documents";
import { shown, shownNode } from "./words";

export type Match = Grep["matches"][number];

export interface Group {
  /** The name by which the thread is opened. */
  readonly thread: string;
  readonly matches: readonly Match[];
}

/** Returns the matches of each thread, in the order of the first ones. */
export function grouped(matches: readonly Match[]): Group[] {
  const groups = new Map<string, Match[]>();
  for (const match of matches) {
    // For effects and metadata, `name` is theirs.
    const thread = match.place === "effect" || match.place === "metadata" ? match.thread : (match.name ?? match.thread);
    const group = groups.get(thread);
    if (group === undefined) groups.set(thread, [match]);
    else group.push(match);
  }
  return [...groups].map(([thread, all]) => ({ thread, matches: all }));
}

/** A text cut around its matching part. */
export interface Excerpt {
  readonly before: string;
  readonly match: string;
  readonly after: string;
}

/** Characters that are shown before the match, and in all. */
const BEFORE = 60;
const LONGEST = 240;

/** Returns the part of the text around the match. */
export function excerptOf({ text, match }: Pick<Match, "text" | "match">): Excerpt {
  const found = Math.max(0, text.indexOf(match));
  const begin = found <= BEFORE ? 0 : whole(text, found - BEFORE);
  const part = match.slice(0, whole(match, LONGEST));
  const end = whole(text, Math.max(found + part.length, begin + LONGEST));
  const isCut = part.length < match.length;
  return {
    before: oneLine((begin > 0 ? "…" : "") + text.slice(begin, found)),
    match: oneLine(part) + (isCut ? "…" : ""),
    after: isCut ? "" : oneLine(text.slice(found + match.length, end) + (end < text.length ? "…" : "")),
  };
}

/** Returns a position that is not inside a character. */
function whole(text: string, at: number): number {
  return /[\udc00-\udfff]/.test(text[at] ?? "") ? at - 1 : Math.min(at, text.length);
}

function oneLine(text: string): string {
  return shown(text).replace(/\s+/g, " ");
}

/** Returns the place of a match in words, and the pane that shows it. */
export function placeOf(match: Match): { readonly words: string; readonly pane: PaneName; readonly path?: string } {
  switch (match.place) {
    case "state":
      return { words: shown(match.path), pane: "state", path: match.path };
    case "effect":
      return { words: `effect ${shown(match.name)}`, pane: "tasks" };
    case "question":
      return { words: `question of ${shownNode(match.node)}`, pane: "tasks" };
    case "answer":
      return { words: `answer to ${shownNode(match.node)}`, pane: "tasks" };
    case "failure":
      return { words: `failure of ${shownNode(match.node)}`, pane: "tasks" };
    case "emitted":
      return { words: `emitted by ${shownNode(match.node)}`, pane: "tasks" };
    case "metadata":
      return { words: `metadata ${shown(match.name)}`, pane: "tasks" };
  }
}

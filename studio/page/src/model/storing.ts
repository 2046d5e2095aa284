// The sentences that say what a fork or an edit will store, and where.

import type { Row } from "../wire/documents";
import { counted, grouped, shown, shownNode } from "./words";

/** What is about to be stored. */
export interface Plan {
  readonly verb: "fork" | "edit";
  readonly file: string;
  /** The thread of the selected checkpoint. */
  readonly thread: string;
  readonly row: Pick<Row, "step" | "next">;
  /** `true` if the checkpoint is the latest one of the thread. */
  readonly isHead: boolean;
  /** The name of the new thread; `null` for a branch of the thread. */
  readonly name: string | null;
  /** The number of open questions on the thread's latest checkpoint. */
  readonly open: number;
  /** The node as which the values are written. */
  readonly as: string | null;
}

export function planWords(plan: Plan): string[] {
  const { verb, thread, row, isHead, name, open } = plan;
  const at = `step ${row.step}`;
  const words: string[] = [];
  if (name !== null) {
    words.push(`A new thread ${shown(name)} begins at ${at} of ${shown(thread)}, with its past${verb === "edit" ? " and the edited state" : ""}. ${shown(thread)} does not change.`);
  } else if (verb === "edit" && isHead) {
    words.push(`The edited state becomes step ${row.step + 1} of ${shown(thread)}, on top of ${at}.`);
  } else {
    words.push(`${verb === "fork" ? "A copy of" : "The edited state of"} ${at} becomes the latest checkpoint of ${shown(thread)}, on a new branch. The steps after ${at} stay on theirs.`);
  }
  words.push(nextWords(plan));
  if (name === null && open > 0 && !(verb === "edit" && isHead)) {
    words.push(`${counted(open, "open question")} of the former latest step can no longer be answered.`);
  }
  return words;
}

function nextWords({ verb, row, isHead, name, as }: Plan): string {
  if (as !== null) return `The nodes that follow ${shownNode(as)} are next.`;
  if (row.next.length === 0) return "No node is next there, so there is nothing to resume.";
  const next = grouped(row.next.map(shownNode));
  const isKept = verb === "edit" && isHead && name === null;
  return isKept
    ? `Next is still ${next}, with its results, effects and answers.`
    : `Next is ${next}, without unfinished work: it runs, and asks, again.`;
}

/** Returns the error of a name for a new thread; `null` if it has none. */
export function nameProblem(name: string): string | null {
  if (!/\p{L}/u.test(name)) return "Enter a name with at least one letter.";
  return /\p{Cc}/u.test(name) ? "A name has no control characters." : null;
}

// What a thread is doing, from its latest checkpoint, and what can be done with it.

import type { Show } from "../wire/documents";
import { counted, excerpt, grouped, shown, shownNode } from "./words";

export interface Standing {
  readonly tone: "good" | "wait" | "bad" | "run" | "plain";
  readonly words: string;
  /** `true` while a run works on the thread. */
  readonly isRunning: boolean;
  /** `true` if a run could continue it. */
  readonly canResume: boolean;
}

/** Returns the status of a thread in a sentence. */
export function standingOf(head: Pick<Show, "next" | "next_tasks" | "questions" | "lease" | "step">): Standing {
  const { next, next_tasks: tasks, questions = [], lease, step } = head;
  const isRunning = lease !== undefined && !lease.over;
  const open = questions.filter(({ answer }) => answer === undefined);
  const failed = tasks.filter(({ status }) => status === "failed");
  const isBlocked = tasks.length > 0 && tasks.every(({ status }) => status === "waiting" || status === "finished") && open.length > 0;
  const canResume = next.length > 0 && !isRunning && !isBlocked;
  const names = grouped(next.map(shownNode));
  const base = { isRunning, canResume };
  if (isRunning) return { ...base, tone: "run", words: `Running ${names} after step ${step}, by ${excerpt(lease.holder, 60)}.` };
  if (next.length === 0) return { ...base, tone: "good", words: `Finished at step ${step}.` };
  if (open.length > 0) return { ...base, tone: "wait", words: `Waiting for ${counted(open.length, "answer")} after step ${step}.` };
  const [first] = failed;
  if (first !== undefined) {
    const message = first.error === undefined ? "" : `: ${shown(excerpt(first.error.message, 200))}`;
    return { ...base, tone: "bad", words: `${shownNode(first.node)} failed after step ${step}${message}` };
  }
  const expired = lease === undefined ? "" : ` The lease of ${excerpt(lease.holder, 60)} has expired.`;
  return { ...base, tone: "plain", words: `Unfinished after step ${step}: next is ${names}.${expired}` };
}

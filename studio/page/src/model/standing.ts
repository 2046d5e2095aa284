// What a thread is doing, from its latest checkpoint, and what can be done with it.

import type { PlannedTask, Question, Show } from "../wire/documents";
import { counted, excerpt, grouped, shown, shownNode } from "./words";

export type Tone = "good" | "wait" | "bad" | "run" | "plain";

export interface Standing {
  readonly tone: Tone;
  readonly words: string;
  /** `true` while a run works on the thread. */
  readonly isRunning: boolean;
  /** `true` if a run could continue it. */
  readonly canResume: boolean;
}

/** Returns the questions of a checkpoint that have no answer. */
export function openQuestions({ questions = [] }: Pick<Show, "questions">): readonly Question[] {
  return questions.filter(({ answer }) => answer === undefined);
}

/** Returns `true` if a run holds the lease of a thread. */
export function isHeld({ lease }: Pick<Show, "lease">): boolean {
  return lease !== undefined && !lease.over;
}

/** Returns the question of a task, or of a task of its subgraph. */
export function questionOf({ node }: PlannedTask, questions: readonly Question[]): Question | undefined {
  return questions.find((asked) => asked.node === node || asked.path?.[0] === node);
}

/** Returns the node of a question, behind the nodes whose subgraphs lead to it. */
export function askerOf({ path = [], node }: Question): string {
  return [...path, node].map(shownNode).join(" / ");
}

/** Returns the status of a task in words. */
export function taskStanding({ status, attempts = 1 }: PlannedTask, checkpoint: Pick<Show, "head_of" | "lease">): { readonly tone: Tone; readonly words: string } {
  switch (status) {
    case "planned":
      if ((checkpoint.head_of ?? []).length === 0) return { tone: "plain", words: "was planned here" };
      return isHeld(checkpoint) ? { tone: "run", words: "is running" } : { tone: "plain", words: "is next" };
    case "finished":
      return { tone: "good", words: "has finished, and waits for the other tasks of the step" };
    case "failed":
      return { tone: "bad", words: `failed${attempts > 1 ? ` ${attempts} times` : ""}` };
    case "waiting":
      return { tone: "wait", words: "waits for an answer" };
  }
}

/** Returns the open questions of a thread in words, after answers to `sent`. `known` are those that were open then. */
export function questionWords(thread: string, head: Parameters<typeof standingOf>[0], sent: readonly string[] = [], known: readonly string[] = []): string {
  const left = openQuestions(head).filter(({ id }) => !sent.includes(id));
  const open = `${counted(left.length, "open question")} on ${shown(thread)}`;
  if (sent.length === 0) return left.length > 0 ? open : `No question is open on ${shown(thread)}.`;
  if (left.some(({ id }) => known.includes(id))) return `The answer is stored. ${open}`;
  if (left.length > 0) return `Answered. The thread asks again: ${open}`;
  const { tone, words } = standingOf(head);
  return tone === "good" || tone === "bad" ? `The answer is stored. ${words}` : "The answer is stored, and the thread continues.";
}

/** Returns the status of a thread in a sentence. */
export function standingOf(head: Pick<Show, "next" | "next_tasks" | "questions" | "lease" | "step">): Standing {
  const { next, next_tasks: tasks, lease, step } = head;
  const isRunning = isHeld(head);
  const open = openQuestions(head);
  const failed = tasks.filter(({ status }) => status === "failed");
  const isBlocked = tasks.length > 0 && tasks.every(({ status }) => status === "waiting" || status === "finished") && open.length > 0;
  const canResume = next.length > 0 && !isRunning && !isBlocked;
  const names = grouped(next.map(shownNode));
  const base = { isRunning, canResume };
  if (lease !== undefined && isRunning) return { ...base, tone: "run", words: `Running ${names} after step ${step}, by ${excerpt(lease.holder, 60)}.` };
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

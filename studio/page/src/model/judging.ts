// The search for the first bad step between a good and a bad mark, by halves.

import { type Signal, signal } from "@preact/signals";
import type { Client, Failure } from "../wire/client";
import type { Line } from "../wire/documents";
import * as requests from "../wire/requests";
import { counted } from "./words";

/** What the marks say. */
export type Judgement =
  /** A mark is missing. */
  | { readonly is: "unmarked" }
  | { readonly is: "looking" }
  /** Neither mark is in the past of the other. */
  | { readonly is: "apart" }
  /** The bad step comes before the good one. */
  | { readonly is: "reversed" }
  /** The step to judge next, and the number of steps of which one is the first bad one. */
  | { readonly is: "next"; readonly step: Line; readonly left: number }
  | { readonly is: "found"; readonly step: Line }
  | { readonly is: "failed"; readonly failure: Failure };

/** Thrown inside only. */
class Refused extends Error {
  constructor(readonly failure: Failure) {
    super(failure.text);
  }
}

export class Judging {
  readonly current: Signal<Judgement> = signal<Judgement>({ is: "unmarked" });
  private marks = "";

  constructor(private readonly client: Pick<Client, "get">) {}

  /** Looks for the step to judge next; the same marks are not looked up twice. */
  async between(good: string | undefined, bad: string | undefined): Promise<Judgement> {
    const marks = JSON.stringify([good, bad]);
    const { is } = this.current.peek();
    if (marks === this.marks && is !== "failed") return this.current.peek();
    this.marks = marks;
    const former = this.current.peek();
    if (good === undefined || bad === undefined) this.current.value = { is: "unmarked" };
    else {
      // What was found stays until the next step is known, so that the page does not flicker.
      if (former.is !== "next") this.current.value = { is: "looking" };
      const judgement = await this.judge(good, bad);
      if (marks === this.marks) this.current.value = judgement;
    }
    return this.current.peek();
  }

  private async judge(good: string, bad: string): Promise<Judgement> {
    try {
      const [goodEnd, badEnd] = await Promise.all([this.line(good, 0), this.line(bad, 0)]);
      const distance = badEnd.total - goodEnd.total;
      if (distance <= 0) {
        const above = distance === 0 ? null : await this.line(good, -distance);
        return above !== null && above.line.id === badEnd.line.id ? { is: "reversed" } : { is: "apart" };
      }
      const begin = await this.line(bad, distance);
      if (begin.line.id !== goodEnd.line.id) return { is: "apart" };
      if (distance === 1) return { is: "found", step: badEnd.line };
      const middle = await this.line(bad, Math.floor(distance / 2));
      return { is: "next", step: middle.line, left: distance };
    } catch (error) {
      if (error instanceof Refused) return { is: "failed", failure: error.failure };
      throw error;
    }
  }

  /** Reads the checkpoint some steps before another one, and the number of those up to the other one. */
  private async line(checkpoint: string, back: number): Promise<{ readonly line: Line; readonly total: number }> {
    const result = await this.client.get(requests.branch(checkpoint, back, 1));
    if (!result.ok) throw new Refused(result.failure);
    const { checkpoints, total = 0 } = result.value;
    const [line] = checkpoints;
    if (line === undefined) throw new Refused({ kind: "unreadable", text: "A marked step is no longer in the file." });
    return { line, total };
  }
}

/** Returns the number of judgements that are left for a range. */
export function judgementsLeft(left: number): number {
  return Math.ceil(Math.log2(left));
}

/** Returns what the marks say, in words. */
export function judgementWords(judgement: Judgement): string {
  switch (judgement.is) {
    case "unmarked":
      return "Mark a good step with g and a later bad one with b.";
    case "looking":
      return "Looking for the step to judge next …";
    case "apart":
      return "The marked steps are on different branches: the good step must be in the past of the bad one.";
    case "reversed":
      return "The bad step comes before the good one. Mark them the other way round, or remove a mark by pressing its key again.";
    case "next": {
      const { step, left } = judgement;
      return `Judge step ${step.step} next. ${counted(left, "step")} can be the first bad one: ${counted(judgementsLeft(left), "judgement")} left.`;
    }
    case "found":
      return `Step ${judgement.step.step} is the first bad one.`;
    case "failed":
      return judgement.failure.text;
  }
}

// The status of a thread, of a task and of a row: a shape, a colour and a word.

import type { JSX } from "preact";
import { type Tone, isHeld } from "../model/standing";
import type { Lease, Status } from "../wire/documents";

const SHAPES: { readonly [T in Tone]: string } = {
  good: "M3.5 8.500 6.500 11.500 12.500 5",
  wait: "M5.500 6a2.500 2.500 0 1 1 3.500 2.300c-.8.4-1 .8-1 1.700M8 12.500v.100",
  bad: "M4.500 4.500l7 7M11.500 4.500l-7 7",
  run: "M6 4l6 4-6 4z",
  plain: "M4 8h8",
};

export function Icon({ tone }: { readonly tone: Tone }): JSX.Element {
  return (
    <svg class={`icon ${tone}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <circle cx="8" cy="8" r="7.500" />
      <path d={SHAPES[tone]} />
    </svg>
  );
}

/** What a thread is doing: its status, or that it runs. */
export function standing(thread: { readonly status: Status; readonly questions: number; readonly lease?: Lease }): {
  readonly tone: Tone;
  readonly word: string;
} {
  if (thread.status !== "finished" && thread.status !== "waiting" && isHeld(thread)) {
    return { tone: "run", word: "running" };
  }
  return { tone: TONES[thread.status], word: thread.status };
}

const TONES: { readonly [S in Status]: Tone } = { finished: "good", waiting: "wait", failed: "bad", unfinished: "plain" };

export function StatusMark({ tone, word }: { readonly tone: Tone; readonly word: string }): JSX.Element {
  return (
    <span class={`status ${tone}`}>
      <Icon tone={tone} />
      <span class="status-word">{word}</span>
    </span>
  );
}

// What a person has typed and not sent yet. It stays while other panes are shown, and is in no address and no storage.

import { type Signal, signal } from "@preact/signals";
import type { Replay } from "../wire/documents";
import type { Entry } from "./edits";
import type { Draft } from "./form/draft";

/** Values by names. */
export class Kept<T> {
  private readonly signals = new Map<string, Signal<T | null>>();

  of(name: string): Signal<T | null> {
    const known = this.signals.get(name);
    if (known !== undefined) return known;
    const fresh = signal<T | null>(null);
    this.signals.set(name, fresh);
    return fresh;
  }
}

/** An answer that is being written, by its form or as JSON. */
export interface AnswerDraft {
  readonly form: Draft;
  /** The text of the JSON; `null` while the form is used. */
  readonly json: string | null;
}

/** The destination of a fork or an edit. */
export interface DestinationDraft {
  readonly isThread: boolean;
  readonly name: string;
}

export interface NodeDraft {
  readonly node: string;
  readonly case: string;
}

export interface InputDraft {
  /** The name of the thread; `null` for the selected one. */
  readonly thread: string | null;
  readonly graph: string;
  readonly json: string;
}

export class Drafts {
  /** By the ids of questions. */
  readonly answers = new Kept<AnswerDraft>();
  /** By the ids of checkpoints, as all that follow. */
  readonly edits = new Kept<readonly Entry[]>();
  readonly destinations = new Kept<DestinationDraft>();
  readonly nodes = new Kept<NodeDraft>();
  /** The report of the latest replay. */
  readonly replays = new Kept<Replay>();
  /** The sentence about what was stored. */
  readonly stored = new Kept<string>();
  /** By the names of threads. */
  readonly inputs = new Kept<InputDraft>();
}

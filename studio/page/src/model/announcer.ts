// The text for screen readers about what changes by itself: at most one every two seconds.

import { type Signal, signal } from "@preact/signals";
import type { Clock } from "../wire/events";
import { shownNode } from "./words";

const PAUSE_MS = 2_000;

/** The time for which the answer to an action is visible. */
const NOTICE_MS = 4_000;

export class Announcer {
  /** The text of an `aria-live` region. */
  readonly text: Signal<string> = signal("");
  /** The answer to the latest action, while it is visible. */
  readonly notice: Signal<string> = signal("");

  private added = 0;
  private latest = "";
  private waits = false;
  private keep = () => {};

  constructor(private readonly clock: Clock) {}

  /** Says something at once, as the answer to an action. */
  say(text: string): void {
    this.announce(text);
    this.notice.value = text;
    this.keep();
    this.keep = this.clock.after(NOTICE_MS, () => (this.notice.value = ""));
  }

  private announce(text: string): void {
    // The same text twice would not be read again.
    this.text.value = this.text.peek() === text ? `${text}\u00a0` : text;
  }

  /** Counts new checkpoints, and says how many after a while. */
  grew(checkpoints: number, step: number | null, ran: readonly string[]): void {
    this.added += checkpoints;
    this.latest = step === null ? "" : `; the latest is step ${step}${ran.length > 0 ? `, ${ran.map(shownNode).join(", ")}` : ""}`;
    if (!this.waits) this.flush();
  }

  private flush(): void {
    if (this.added === 0) return;
    this.announce(`${this.added === 1 ? "1 new step" : `${this.added} new steps`}${this.latest}`);
    this.added = 0;
    this.waits = true;
    this.clock.after(PAUSE_MS, () => {
      this.waits = false;
      this.flush();
    });
  }
}

// A long list of which only the visible rows are read and drawn.

import { type Signal, signal } from "@preact/signals";
import { type Failure, type Result, isAbort } from "../wire/client";
import { shared } from "./share";

/** Some rows of a list, beginning at the position `from`. */
export interface Page<T> {
  readonly rows: readonly T[];
  readonly from: number;
  readonly total: number;
}

/** The end of the list at which new rows appear; rows are numbered from the other end, so their numbers stay. */
export type Growth = "top" | "bottom";

type Load<T> = (from: number, count: number, signal: AbortSignal) => Promise<Result<Page<T>>>;

interface Slot<T> {
  readonly row: T;
  /** The refresh in which it was read. */
  readonly read: number;
}

/** Rows beyond the visible ones that are read before they are visible. */
const NEAR = 10;
/** Rows beyond those that are read with them. */
const MARGIN = 20;
/** The most rows of one request. */
const LONGEST = 100;
/** The number of rows that are kept. */
const KEPT = 2_000;

export class Rows<T> {
  /** The number of rows of the whole list; `null` until the first answer. */
  readonly total: Signal<number | null> = signal(null);
  readonly failure: Signal<Failure | null> = signal(null);
  /** Changes whenever rows have been read. */
  readonly version: Signal<number> = signal(0);

  private readonly slots = new Map<number, Slot<T>>();
  private wanted: readonly [number, number] = [0, LONGEST / 2];
  private refreshes = 0;
  /** The refresh of the latest answer. */
  private answered = -1;
  private filling: Promise<void> | null = null;
  private readonly abort = new AbortController();

  constructor(
    private readonly load: Load<T>,
    private readonly growth: Growth,
  ) {}

  /** Returns the row at a position from the top, if it has been read. */
  at(position: number): T | null {
    return this.slots.get(this.number(position))?.row ?? null;
  }

  /** Returns the position of a row that has been read. */
  find(matches: (row: T) => boolean): number | null {
    for (const [number, { row }] of this.slots) {
      if (matches(row)) return this.number(number);
    }
    return null;
  }

  /** Returns all rows that have been read, with their positions, from the top. */
  all(): (readonly [number, T])[] {
    const all = [...this.slots].map(([number, { row }]) => [this.number(number), row] as const);
    return all.sort(([a], [b]) => a - b);
  }

  /** Says which rows are visible, from the first to before the last; reads those that are missing. */
  want(first: number, last: number): void {
    this.wanted = [first, last];
    void this.fill();
  }

  /** Adds rows that were read in another way. */
  add(page: Page<T>): void {
    this.store(page, this.refreshes);
  }

  /** Reads the visible rows again, and the others once they become visible. */
  async refresh(): Promise<void> {
    this.refreshes += 1;
    await this.fill();
  }

  close(): void {
    this.abort.abort();
  }

  /** Reads visible rows until none of them is missing or stale. */
  private fill(): Promise<void> {
    this.filling ??= this.run();
    return this.filling;
  }

  private async run(): Promise<void> {
    // Several rows may become visible at once.
    await Promise.resolve();
    try {
      for (let gap = this.gap(); gap !== null && !this.abort.signal.aborted; gap = this.gap()) {
        const [from, count] = gap;
        const refresh = this.refreshes;
        const result = await this.load(from, count, this.abort.signal);
        this.failure.value = result.ok ? null : result.failure;
        if (!result.ok) return;
        this.store(result.value, refresh);
        // Without progress, the list is shorter than it says.
        if (result.value.rows.length === 0) return;
      }
    } catch (error) {
      if (!isAbort(error)) throw error;
    } finally {
      this.filling = null;
    }
  }

  /** Returns the first run of visible rows to read: its position and its length. */
  private gap(): readonly [number, number] | null {
    const total = this.total.peek();
    const [first, last] = [this.wanted[0] - NEAR, this.wanted[1] + NEAR];
    if (total === null) return [Math.max(0, first - MARGIN), LONGEST];
    const isCurrent = (position: number) => this.slots.get(this.number(position))?.read === this.refreshes;
    const end = Math.min(total, last);
    let missing = Math.max(0, first);
    while (missing < end && isCurrent(missing)) missing += 1;
    if (missing >= end) return total === 0 && this.answered !== this.refreshes ? [0, LONGEST] : null;
    const from = Math.max(0, missing === Math.max(0, first) ? missing - MARGIN : missing);
    return [from, Math.min(LONGEST, total + MARGIN - from, last + MARGIN - from)];
  }

  private store({ rows, from, total }: Page<T>, read: number): void {
    const former = this.total.peek();
    // A list that became shorter was replaced, or pruned at its old end: no number is right any more.
    if (former !== null && total < former) this.slots.clear();
    this.answered = read;
    this.total.value = total;
    rows.forEach((row, position) => {
      const number = this.number(from + position);
      const before = this.slots.get(number)?.row;
      this.slots.delete(number);
      this.slots.set(number, { row: shared(before, row), read });
    });
    for (const number of this.slots.keys()) {
      if (this.slots.size <= KEPT) break;
      this.slots.delete(number);
    }
    this.version.value += 1;
  }

  /** Converts a position to a row's number, and back. */
  private number(position: number): number {
    return this.growth === "bottom" ? position : (this.total.peek() ?? 0) - 1 - position;
  }
}

/** Returns the positions of the rows that are visible in a list, from the first to before the last. */
export function visible(scrolled: number, height: number, rowHeight: number, total: number): readonly [number, number] {
  const first = Math.max(0, Math.min(Math.floor(scrolled / rowHeight), total - 1));
  return [first, Math.min(total, Math.ceil((scrolled + height) / rowHeight) + 1)];
}

// The documents that are shown. Documents of the past are kept; all others are read again when the file changes.

import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { type Failure, type Get, type Result, isAbort, queryText } from "../wire/client";
import { shared } from "./share";

/**
 * A document, or its error, or neither until the first answer. A former document stays while it is read again, and also
 * if the program cannot be reached: the connection bar says so.
 */
export interface Held<T> {
  readonly value: T | null;
  readonly failure: Failure | null;
  readonly loading: boolean;
}

export const NOTHING: Held<never> = { value: null, failure: null, loading: false };

interface Entry {
  readonly request: Get<unknown>;
  readonly held: Signal<Held<unknown>>;
  watchers: number;
  /** `true` if the file has changed since the document was read. */
  stale: boolean;
  abort: AbortController | null;
}

/** The number of documents of the past that are kept without being shown. */
const KEPT = 64;

type Fetch = <T>(request: Get<T>, signal: AbortSignal) => Promise<Result<T>>;

export class Documents {
  /** In the order of their last use. */
  private readonly entries = new Map<string, Entry>();

  constructor(private readonly fetch: Fetch) {}

  /** Reads a document, and again whenever the file changes, until it is released. */
  watch<T>(request: Get<T>): { readonly held: ReadonlySignal<Held<T>>; release(): void } {
    const entry = this.entry(request);
    entry.watchers += 1;
    const { value, failure } = entry.held.peek();
    if (entry.abort === null && (value === null || failure !== null || entry.stale)) void this.load(entry);
    let released = false;
    return {
      // The name of an entry contains its route, and a route has one decoder.
      held: entry.held as Signal<Held<T>>,
      release: () => {
        if (released) return;
        released = true;
        entry.watchers -= 1;
        if (entry.watchers === 0) entry.abort?.abort();
        this.forget();
      },
    };
  }

  /** Returns a document if it is here, without reading it. */
  peek<T>(request: Get<T>): Held<T> {
    return (this.entries.get(nameOf(request))?.held.peek() as Held<T> | undefined) ?? NOTHING;
  }

  /** Reads all documents again that are shown and may have changed. Resolves when they are here. */
  async refresh(): Promise<void> {
    const reads: Promise<void>[] = [];
    for (const entry of this.entries.values()) {
      const { failure } = entry.held.peek();
      if (entry.request.lasting && failure === null) continue;
      entry.stale = true;
      if (entry.watchers > 0 && entry.abort === null) reads.push(this.load(entry));
    }
    this.forget();
    await Promise.all(reads);
  }

  private entry(request: Get<unknown>): Entry {
    const name = nameOf(request);
    const entry = this.entries.get(name) ?? {
      request,
      held: signal<Held<unknown>>(NOTHING),
      watchers: 0,
      stale: false,
      abort: null,
    };
    this.entries.delete(name);
    this.entries.set(name, entry);
    return entry;
  }

  private async load(entry: Entry): Promise<void> {
    const abort = new AbortController();
    entry.abort = abort;
    entry.stale = false;
    entry.held.value = { ...entry.held.peek(), loading: true };
    try {
      const result = await this.fetch(entry.request, abort.signal);
      entry.held.value = heldAfter(entry.held.peek().value, result);
    } catch (error) {
      if (!isAbort(error)) throw error;
      entry.stale = true;
      entry.held.value = { ...entry.held.peek(), loading: false };
    } finally {
      entry.abort = null;
    }
    // It was released and watched again, or the file changed, while it was read.
    if (entry.stale && entry.watchers > 0) await this.load(entry);
  }

  /** Forgets documents that are not shown: all that may change, and the oldest ones of the past. */
  private forget(): void {
    let kept = 0;
    for (const [name, entry] of [...this.entries].reverse()) {
      if (entry.watchers > 0) continue;
      kept += 1;
      if (kept > KEPT || (entry.stale && !entry.request.lasting)) this.entries.delete(name);
    }
  }
}

function heldAfter(before: unknown, result: Result<unknown>): Held<unknown> {
  if (result.ok) return { value: shared(before, result.value), failure: null, loading: false };
  if (before !== null && result.failure.kind === "unreachable") return { value: before, failure: null, loading: false };
  return { value: null, failure: result.failure, loading: false };
}

function nameOf({ route, query }: Get<unknown>): string {
  return route + queryText(query);
}

// The store of the page: the view, the documents and the lists that it shows, and the connection.

import { type ReadonlySignal, type Signal, batch, computed, effect, signal } from "@preact/signals";
import type { Client, Failure, Result } from "../wire/client";
import type { DamagedThread, Log, Row, Thread } from "../wire/documents";
import { type Clock, type Watch, watch } from "../wire/events";
import * as requests from "../wire/requests";
import { type Changes, type View, atThread, fragmentOf, tokenOf, viewOf, withParameters } from "./address";
import { Announcer } from "./announcer";
import { Documents } from "./documents";
import { Drafts } from "./drafts";
import { Judging } from "./judging";
import { type Page, Rows } from "./rows";

/** The history of the browser. */
export interface History {
  fragment(): string;
  push(fragment: string): void;
  replace(fragment: string): void;
}

export type Connection =
  | { readonly state: "connecting" | "live" }
  | { readonly state: "lost"; readonly since: Date }
  /** The file is gone, or the program does not answer this page. */
  | { readonly state: "gone" | "refused"; readonly text: string };

/** The first and the longest pause after a refresh. It doubles while the file changes again and again. */
const PAUSES_MS = [100, 350] as const;

/** A longer pause is at most so many times as long as the refresh before it. It leaves the processor to the program that writes. */
const PAUSE_FACTOR = 10;

/** After such a time without a change, the next pause is the first one again. */
const IDLE_MS = 1_000;

/** The number of rows that are read before the height of a list is known. */
const FIRST_ROWS = 40;

export class Studio {
  readonly view: Signal<View>;
  readonly connection: Signal<Connection> = signal<Connection>({ state: "connecting" });
  readonly documents: Documents;
  readonly announcer: Announcer;
  /** The threads that pass the filter. */
  readonly threads: ReadonlySignal<Rows<Thread>>;
  /** The timeline of the selected thread, with all branches. */
  readonly timeline: ReadonlySignal<Rows<Row> | null>;
  readonly help: Signal<boolean> = signal(false);
  readonly drafts = new Drafts();
  readonly judging: Judging;
  /** `false` if keys without Ctrl or Alt are switched off, as some input devices send them by accident. */
  readonly keys: Signal<boolean> = signal(true);
  /** The threads that cannot be read. */
  readonly damaged: Signal<readonly DamagedThread[]> = signal<readonly DamagedThread[]>([]);

  private watching: Watch | null = null;
  private refreshing = false;
  /** The latest pause; 0 if the file did not change for a while. */
  private pause = 0;
  private stopIdle = () => {};
  private changed = false;
  private readonly stops: (() => void)[] = [];

  constructor(
    readonly client: Client,
    private readonly history: History,
    private readonly clock: Clock,
  ) {
    this.view = signal(this.addressed(tokenOf(history.fragment()).rest));
    this.documents = new Documents((request, abort) => client.get(request, abort));
    this.announcer = new Announcer(clock);
    this.judging = new Judging(client);
    const filter = computed(() => {
      const { status, graph, text } = this.view.value.parameters;
      return JSON.stringify({ status, graph, text });
    });
    this.threads = computed(() => {
      const chosen: requests.ThreadFilter = JSON.parse(filter.value);
      return reading(new Rows<Thread>((from, count, abort) => this.threadPage(chosen, from, count, abort), "bottom"));
    });
    const thread = computed(() => this.view.value.thread);
    this.timeline = computed(() => {
      const name = thread.value;
      return name === null ? null : reading(new Rows<Row>((from, count, abort) => this.logPage(name, from, count, abort), "top"));
    });
    this.stops.push(closing(this.threads), closing(this.timeline));
  }

  start(): void {
    const lost = () => {
      if (this.connection.peek().state === "gone") return;
      const { state } = this.connection.peek();
      if (state !== "lost") this.connection.value = { state: "lost", since: new Date() };
    };
    this.watching = watch(
      this.client,
      {
        connected: () => {
          const first = this.connection.peek().state === "connecting";
          this.connection.value = { state: "live" };
          if (!first) this.refresh();
        },
        changed: () => {
          // A file that was moved away may have been put back.
          this.connection.value = { state: "live" };
          this.refresh();
        },
        gone: (text) => {
          this.connection.value = { state: "gone", text };
        },
        lost,
        refused: (text) => {
          this.connection.value = { state: "refused", text };
        },
      },
      this.clock,
    );
  }

  stop(): void {
    this.watching?.stop();
    this.stopIdle();
    this.stops.forEach((stop) => stop());
  }

  /** Tries to reach the program now. */
  reconnect(): void {
    this.watching?.retry();
    this.refresh();
  }

  /** Shows another view. `replace` is for small moves, which Back need not undo one by one. */
  show(view: View, how: "push" | "replace" = "push"): void {
    const fragment = fragmentOf(view);
    if (fragment === fragmentOf(this.view.peek())) return;
    if (how === "push") this.history.push(fragment);
    else this.history.replace(fragment);
    this.view.value = view;
  }

  /** Shows the same with other parameters; `null` removes one. */
  set(changes: Changes, how: "push" | "replace" = "replace"): void {
    this.show(withParameters(this.view.peek(), changes), how);
  }

  /** Follows the browser's history, and links. */
  followHistory(): void {
    const view = this.addressed(this.history.fragment());
    if (fragmentOf(view) !== fragmentOf(this.view.peek())) this.view.value = view;
  }

  /** Reads the view of an address. An address with an unknown pane is replaced by the one of the pane that is shown. */
  private addressed(fragment: string): View {
    const view = viewOf(fragment);
    const [, pane] = /[?&]pane=([^&]*)/.exec(fragment) ?? [];
    if (pane !== undefined && pane !== view.pane) this.history.replace(fragmentOf(view));
    return view;
  }

  select(checkpoint: string | null, how: "push" | "replace" = "push"): void {
    this.show({ ...this.view.peek(), checkpoint }, how);
  }

  openThread(thread: string | null): void {
    this.show(atThread(this.view.peek(), thread));
  }

  /** Follows the latest step of a thread, in these parts of the page. */
  follow(thread: string, parts: Partial<Pick<View, "pane" | "front">> = {}): void {
    const view = this.view.peek();
    this.show({ ...(thread === view.thread ? view : atThread(view, thread)), checkpoint: null, ...parts });
  }

  /** The address of the selected checkpoint, as the API takes it: an id, or the thread for its latest one. */
  readonly selected: ReadonlySignal<string | null> = computed(() => {
    const { thread, checkpoint } = this.view.value;
    return checkpoint ?? thread;
  });

  /** The error of the selected thread, if nothing of it could be read. */
  readonly threadFailure: ReadonlySignal<Failure | null> = computed(() => {
    const rows = this.timeline.value;
    return rows === null || rows.total.value !== null ? null : rows.failure.value;
  });

  /** The row of the selected checkpoint, if it has been read. */
  readonly selectedRow: ReadonlySignal<Row | null> = computed(() => {
    const rows = this.timeline.value;
    // Another row may have come to the same position.
    void rows?.version.value;
    const position = this.selectedPosition.value;
    return position === null ? null : (rows?.at(position) ?? null);
  });

  readonly selectedPosition: ReadonlySignal<number | null> = computed(() => {
    const rows = this.timeline.value;
    const { thread, checkpoint } = this.view.value;
    if (rows === null || thread === null) return null;
    void rows.version.value;
    return rows.find((row) => isSelected(row, thread, checkpoint));
  });

  /** Reads the rows around the selected checkpoint if it is not among those that are here. */
  async findSelected(): Promise<void> {
    const rows = this.timeline.peek();
    const { thread, checkpoint } = this.view.peek();
    if (rows === null || thread === null || this.selectedPosition.peek() !== null) return;
    const id = checkpoint === null || requests.isId(checkpoint) ? checkpoint : await this.idOf(checkpoint);
    const found = await this.client.get(requests.log(thread, 0, FIRST_ROWS, id ?? thread));
    if (!found.ok || rows !== this.timeline.peek()) return;
    rows.add(pageOfLog(found.value, thread, 0));
    const view = this.view.peek();
    if (view.checkpoint === checkpoint && id !== null) this.show({ ...view, checkpoint: id }, "replace");
  }

  /** Returns the id of a checkpoint that a link names in another way, such as `rust@3`. */
  private async idOf(checkpoint: string): Promise<string | null> {
    const shown = await this.client.get(requests.show(checkpoint));
    return shown.ok ? shown.value.id : null;
  }

  private refresh(): void {
    this.changed = true;
    if (!this.refreshing) void this.keepRefreshing();
  }

  private async keepRefreshing(): Promise<void> {
    this.refreshing = true;
    this.stopIdle();
    while (this.changed) {
      this.changed = false;
      const begun = performance.now();
      const before = this.timeline.peek();
      const total = before?.total.peek() ?? null;
      // A browser sends a few requests at once, so the order counts.
      await Promise.all([this.timeline.peek()?.refresh(), this.documents.refresh(), this.threads.peek().refresh()]);
      this.announceGrowth(before, total);
      const [first, longest] = PAUSES_MS;
      this.pause = Math.max(first, Math.min(2 * this.pause, PAUSE_FACTOR * (performance.now() - begun), longest));
      await new Promise<void>((resolve) => this.clock.after(this.pause, resolve));
    }
    this.refreshing = false;
    this.stopIdle = this.clock.after(IDLE_MS, () => (this.pause = 0));
  }

  private announceGrowth(rows: Rows<Row> | null, before: number | null): void {
    const after = rows?.total.peek() ?? null;
    if (rows === null || rows !== this.timeline.peek() || before === null || after === null || after <= before) return;
    const newest = rows.at(0);
    this.announcer.grew(after - before, newest?.step ?? null, newest?.ran ?? []);
  }

  private async threadPage(filter: requests.ThreadFilter, from: number, count: number, abort: AbortSignal): Promise<Result<Page<Thread>>> {
    const result = await this.client.get(requests.threads(from, count, filter), abort);
    if (!result.ok) return result;
    const { threads, total = from + threads.length, damaged = [] } = result.value;
    this.damaged.value = damaged;
    return { ok: true, value: { rows: threads, from, total } };
  }

  private async logPage(thread: string, from: number, count: number, abort: AbortSignal): Promise<Result<Page<Row>>> {
    const result = await this.client.get(requests.log(thread, from, count), abort);
    return result.ok ? { ok: true, value: pageOfLog(result.value, thread, from) } : result;
  }
}

function pageOfLog(log: Log, thread: string, asked: number): Page<Row> {
  const { checkpoints, more, from = asked } = log;
  const [newest] = checkpoints;
  // A subgraph has no branches, and its latest checkpoint is not marked.
  if (log.name !== undefined && from === 0 && newest !== undefined) newest.head_of = [thread];
  return { rows: checkpoints, from, total: log.total ?? from + checkpoints.length + (more ? 1 : 0) };
}

export function isSelected(row: Row, thread: string, checkpoint: string | null): boolean {
  return checkpoint === null ? (row.head_of ?? []).includes(thread) : row.id === checkpoint;
}

/** Begins to read a list before its first drawing. */
function reading<T>(rows: Rows<T>): Rows<T> {
  rows.want(0, FIRST_ROWS);
  return rows;
}

/** Closes each value of a signal when the next one follows. */
function closing(rows: ReadonlySignal<{ close(): void } | null>): () => void {
  return effect(() => {
    const current = rows.value;
    return () => batch(() => current?.close());
  });
}

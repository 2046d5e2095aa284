// The event stream: tells when the file has changed, and whether the program can be reached.

import type { Client } from "./client";

export interface Listener {
  /** The stream is open. It may have been closed before: what is shown must be read again. */
  connected(): void;
  /** The file has changed. */
  changed(): void;
  /** The file was deleted or replaced. */
  gone(text: string): void;
  /** The stream ended or is silent; it is opened again. */
  lost(): void;
  /** The program answered that it does not open the stream; it is asked again. */
  refused(text: string): void;
}

/** The clock, given as an argument so that tests need not wait. */
export interface Clock {
  /** Calls a function after some milliseconds, unless the returned function is called before. */
  after(ms: number, run: () => void): () => void;
}

export const clock: Clock = {
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** The server sends a comment every five seconds; three are missed before the connection counts as lost. */
const SILENCE_MS = 15_000;
const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 4_000;

export interface Watch {
  /** Tries to connect now, without waiting for the next attempt. */
  retry(): void;
  stop(): void;
}

export function watch(client: Client, listener: Listener, { after }: Clock = clock): Watch {
  let stopped = false;
  let delay = FIRST_DELAY_MS;
  let abort = new AbortController();
  let wake: (() => void) | null = null;

  /** Reads the stream up to its end. Returns the reason if the program did not open it. */
  const read = async (): Promise<string | null> => {
    abort = new AbortController();
    const { signal } = abort;
    let cancelSilence = () => {};
    const heard = () => {
      cancelSilence();
      cancelSilence = after(SILENCE_MS, () => abort.abort());
    };
    heard();
    try {
      const { response, failure } = await client.stream("events", signal);
      if (failure !== null) return failure.text;
      if (response.body === null) return null;
      delay = FIRST_DELAY_MS;
      listener.connected();
      const events = new EventParser((event, data) => {
        if (event === "changed") listener.changed();
        if (event === "gone") listener.gone(data);
      });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return null;
        heard();
        events.push(value);
      }
    } catch {
      // The connection failed or was aborted; the caller opens it again.
      return null;
    } finally {
      cancelSilence();
    }
  };

  const keep = async (): Promise<void> => {
    while (!stopped) {
      const reason = await read();
      if (stopped) return;
      if (reason === null) listener.lost();
      else listener.refused(reason);
      await new Promise<void>((resolve) => {
        const cancel = after(delay, resolve);
        wake = () => {
          cancel();
          resolve();
        };
      });
      wake = null;
      delay = Math.min(delay * 2, LONGEST_DELAY_MS);
    }
  };
  void keep();

  return {
    retry: () => wake?.(),
    stop: () => {
      stopped = true;
      abort.abort();
      wake?.();
    },
  };
}

/** Splits a stream of server-sent events, which may arrive in any pieces. */
export class EventParser {
  private rest = "";
  private event = "";
  private data: string[] = [];

  constructor(private readonly emit: (event: string, data: string) => void) {}

  push(piece: string): void {
    const lines = (this.rest + piece).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    for (const line of lines) this.line(line);
  }

  private line(line: string): void {
    if (line === "") {
      if (this.data.length > 0 || this.event) this.emit(this.event || "message", this.data.join("\n"));
      this.event = "";
      this.data = [];
      return;
    }
    const [, field = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "event") this.event = value;
    if (field === "data") this.data.push(value);
  }
}

// What the page knows of a file, and what the command line prints about it.

import assert from "node:assert/strict";
import { effect } from "@preact/signals";
import type { Studio } from "../../src/model/studio";
import { shown } from "../../src/model/words";
import type { Client, Get } from "../../src/wire/client";
import type { Row } from "../../src/wire/documents";
import { type Json, parse } from "../../src/wire/json";
import { run } from "../served";

/** What a verb printed: its document, or the text of its error. */
type Printed = { readonly text: string } | { readonly error: string };

export class Known {
  constructor(
    private readonly program: string,
    readonly file: string,
    readonly client: Client,
  ) {}

  /** Runs a verb of the command line. Its code is 1 if the answer is no. */
  private async printed(verb: string, given: readonly string[]): Promise<Printed> {
    try {
      const { stdout } = await run(this.program, [verb, this.file, ...given], { maxBuffer: 1 << 26 });
      return { text: stdout };
    } catch (error) {
      const { stdout, stderr } = error as { stdout: string; stderr: string };
      return stdout === "" ? { error: stderr.replace(/^error: |\n$/g, "") } : { text: stdout };
    }
  }

  /** Returns the text that a verb prints for people. */
  async text(verb: string, ...given: readonly string[]): Promise<string> {
    const printed = await this.printed(verb, given);
    assert.ok("text" in printed, `${verb} ${given.join(" ")}: ${JSON.stringify(printed)}`);
    return printed.text;
  }

  async json(verb: string, ...given: readonly string[]): Promise<Json> {
    return parse(await this.text(verb, ...given, "--json"));
  }

  /**
   * Returns a document as the page decodes it. Fails if what the page was sent is not what the command line prints.
   * Returns `null` if both refuse it with the same text.
   */
  async agreed<T>(request: Get<T>, ...given: readonly string[]): Promise<T | null> {
    const words = [request.route, ...given].join(" ");
    const [sent, printed] = await Promise.all([this.client.text(request), this.printed(request.route, [...given, "--json"])]);
    if ("error" in printed) {
      assert.ok(!sent.ok, `${words}: only the command line refuses it: ${printed.error}`);
      assert.equal(shown(sent.failure.text), printed.error, words);
      return null;
    }
    assert.ok(sent.ok, `${words}: the page was sent ${JSON.stringify(sent)}`);
    const document = parse(sent.value);
    assert.deepEqual(document, parse(printed.text), words);
    return request.decode(document, "");
  }

  /** Like `agreed`, for what is there. */
  async document<T>(request: Get<T>, ...given: readonly string[]): Promise<T> {
    const document = await this.agreed(request, ...given);
    assert.ok(document !== null, `${request.route} ${given.join(" ")} is refused`);
    return document;
  }
}

/** Resolves once a condition on signals holds. */
export function once(holds: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const stop = effect(() => {
      // The effect must exist before it can be stopped.
      if (holds()) queueMicrotask(() => (stop(), resolve()));
    });
  });
}

/** Scrolls through the timeline of the selected thread, a few rows at a time, and returns all of it. */
export async function scrolled(studio: Studio): Promise<readonly Row[]> {
  const rows = studio.timeline.value;
  assert.ok(rows !== null);
  const isRead = (position: number) => (void rows.version.value, rows.at(position) !== null);
  await once(() => rows.total.value !== null || rows.failure.value !== null);
  assert.equal(rows.failure.value, null);
  const total = rows.total.value ?? 0;
  for (let first = 0; first < total; first += 5) {
    rows.want(first, first + 5);
    await once(() => isRead(Math.min(first + 4, total - 1)));
  }
  return Array.from({ length: total }, (_, position) => rows.at(position)).filter((row) => row !== null);
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "../src/wire/client";
import { type Clock, EventParser, watch } from "../src/wire/events";

test("events arrive in any pieces", () => {
  const stream = ': beat\n\nevent: changed\ndata: {"version": 2}\n\nevent: gone\r\ndata: it was\r\ndata:  deleted\r\n\r\ndata: x\n\n';
  for (let size = 1; size <= stream.length; size += 1) {
    const seen: string[] = [];
    const parser = new EventParser((event, data) => seen.push(`${event}=${data}`));
    for (let at = 0; at < stream.length; at += size) parser.push(stream.slice(at, at + size));
    assert.deepEqual(seen, ['changed={"version": 2}', "gone=it was\n deleted", "message=x"], `pieces of ${size}`);
  }
});

/** A clock whose timers the test runs. */
function manual(): Clock & { waits: number[]; run(ms: number): void } {
  let timers: { ms: number; run: () => void }[] = [];
  return {
    get waits() {
      return timers.map(({ ms }) => ms);
    },
    after(ms, run) {
      const timer = { ms, run };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    run(ms) {
      const due = timers.filter((timer) => timer.ms === ms);
      timers = timers.filter((timer) => timer.ms !== ms);
      due.forEach(({ run }) => run());
    },
  };
}

/** Resolves once a condition holds; the test fails by its time limit otherwise. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

test("a lost connection is said once and opened again, later and later", { timeout: 5_000 }, async () => {
  const time = manual();
  const seen: string[] = [];
  let accepts = false;
  const client = new Client("/api", "secret", async (_input, init) => {
    seen.push(new Headers(init?.headers).get("authorization") ?? "no token");
    if (!accepts) throw new TypeError("refused");
    return new Response(new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode("event: changed\ndata: 1\n\n")) }));
  });
  const listener = {
    connected: () => seen.push("connected"),
    changed: () => seen.push("changed"),
    gone: () => seen.push("gone"),
    lost: () => seen.push("lost"),
  };
  const watching = watch(client, listener, time);
  await until(() => time.waits.includes(250));
  time.run(250);
  await until(() => time.waits.includes(500));
  assert.deepEqual(seen, ["Bearer secret", "lost", "Bearer secret", "lost"]);
  accepts = true;
  time.run(500);
  await until(() => seen.includes("changed"));
  assert.deepEqual(seen.slice(4), ["Bearer secret", "connected", "changed"]);
  watching.stop();
});

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

/** Resolves once a condition holds. */
async function until(holds: () => boolean): Promise<void> {
  for (let turns = 0; !holds(); turns += 1) {
    assert.ok(turns < 10_000, `it never holds: ${String(holds)}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test("a connection that is lost or refused is opened again, later and later", async () => {
  const time = manual();
  const seen: string[] = [];
  let accepts = false;
  let status = 200;
  const client = new Client("/api", "secret", async (_input, init) => {
    seen.push(new Headers(init?.headers).get("authorization") ?? "no token");
    if (!accepts) throw new TypeError("refused");
    if (status !== 200) return new Response("{}", { status });
    return new Response(new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode("event: changed\ndata: 1\n\n")) }));
  });
  const listener = {
    connected: () => seen.push("connected"),
    changed: () => seen.push("changed"),
    gone: () => seen.push("gone"),
    lost: () => seen.push("lost"),
    refused: (text: string) => seen.push(text),
  };
  const watching = watch(client, listener, time);
  await until(() => time.waits.includes(250));
  time.run(250);
  await until(() => time.waits.includes(500));
  assert.deepEqual(seen, ["Bearer secret", "lost", "Bearer secret", "lost"]);
  accepts = true;
  status = 401;
  time.run(500);
  await until(() => time.waits.includes(1_000));
  assert.match(seen.at(-1) ?? "", /does not know the token of this page/);
  status = 200;
  time.run(1_000);
  await until(() => seen.includes("changed"));
  assert.deepEqual(seen.slice(6), ["Bearer secret", "connected", "changed"]);
  watching.stop();
});

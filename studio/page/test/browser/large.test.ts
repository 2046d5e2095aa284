// A thread of 10,000 checkpoints in a graph of 1,000 nodes: few elements, quick moves, a flat heap. The figures are
// printed. The limit of a median is five times the budget: the machine may be busy, and the server a debug build.

import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { largeFile, serverOf, superstep } from "../served";
import { Tab } from "./studio";

const BUDGETS = { "first rows after the first byte": 300, "key press to state": 50, "key press to graph": 100, "event to screen": 150 };

/** The longest pause of the page between two refreshes. */
const PAUSE_MS = 350;

/** Prints a figure, and fails if it is far beyond its budget. */
function measured(t: TestContext, what: keyof typeof BUDGETS, times: readonly number[]): void {
  const sorted = [...times].sort((a, b) => a - b);
  const [middle, p95] = [0.5, 0.95].map((part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0);
  t.diagnostic(`${what}: median ${middle?.toFixed()} ms, p95 ${p95?.toFixed()} ms, budget ${BUDGETS[what]} ms`);
  assert.ok((middle ?? Infinity) <= 5 * BUDGETS[what], `${what} takes ${middle} ms`);
}

/** Runs in the page before its code: notes when the first row of the timeline is drawn. */
function noteFirstRow(): void {
  const look = () => {
    if (document.querySelector("#checkpoints [role=option]") === null) return requestAnimationFrame(look);
    performance.mark("first row");
    return 0;
  };
  requestAnimationFrame(look);
}

/** Runs in the page: presses a key so many times, each time until the step and the pane that shows it are others. */
async function presses(count: number): Promise<number[]> {
  const taken: number[] = [];
  const shown = () => [document.querySelector("#pane")?.textContent, ...document.querySelectorAll("h2")].map((each) => (each instanceof Element ? each.textContent : each)).join();
  for (let press = 0; press < count; press += 1) {
    const [before, from] = [shown(), performance.now()];
    dispatchEvent(new KeyboardEvent("keydown", { key: "j" }));
    while (shown() === before) {
      if (performance.now() - from > 5_000) throw new Error(`press ${press} changes nothing`);
      await new Promise(requestAnimationFrame);
    }
    taken.push(performance.now() - from);
  }
  return taken;
}

/** Runs in the page: the time at which a text is in the timeline. */
async function timeOf(text: string): Promise<number> {
  while (!(document.querySelector("#checkpoints")?.textContent ?? "").includes(text)) await new Promise(requestAnimationFrame);
  return performance.timeOrigin + performance.now();
}

test("10,000 checkpoints and 1,000 nodes", async (t) => {
  const file = join(await largeFile(t), "large.db");
  const server = await serverOf(t, file);
  const open = () => Tab.open(t, server, "#/t/first", { prepare: async (page) => void (await page.addInitScript(noteFirstRow)) });
  const tab = await open();
  await tab.sees("option", /^Step 9999\s*: turn ; latest of first/);
  await tab.sees("heading", "Step 9999 · turn");
  const rows = () => tab.page.getByRole("option").count();

  await t.test("the first rows", async (each) => {
    const times: number[] = [];
    for (let opened = 0; opened < 5; opened += 1) {
      const other = await open();
      await other.sees("option", /^Step 9999/);
      times.push(
        await other.page.evaluate(() => {
          const [navigation] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
          return (performance.getEntriesByName("first row")[0]?.startTime ?? Infinity) - (navigation?.responseStart ?? 0);
        }),
      );
      await other.page.close();
    }
    measured(each, "first rows after the first byte", times);
  });

  await t.test("only what is visible is drawn and read", async () => {
    assert.ok((await rows()) < 80, `${await rows()} rows`);
    const before = tab.asked.filter((request) => request.startsWith("log")).length;
    await tab.press("J");
    await tab.sees("heading", /^Step -1/);
    await tab.go("#/t/first/c/first@4000");
    await tab.sees("heading", "Step 4000 · turn");
    assert.ok((await rows()) < 80, `${await rows()} rows`);
    const asked = tab.asked.filter((request) => request.startsWith("log")).length - before;
    assert.ok(asked <= 6, `${asked} requests for rows`);
  });

  await t.test("a key press to the new state", async (each) => measured(each, "key press to state", await tab.page.evaluate(presses, 60)));

  await t.test("a key press to the graph", async (each) => {
    await tab.go("#/t/first/c/first@4000?pane=graph");
    await tab.sees("img", /^Graph large/);
    measured(each, "key press to graph", await tab.page.evaluate(presses, 40));
  });

  await t.test("what another process writes", async (each) => {
    await tab.go("#/t/first");
    await tab.sees("heading", "Step 9999 · turn");
    const times: number[] = [];
    for (let written = 0; written < 20; written += 1) {
      // The page pauses after a refresh, so that a program that writes all the time is not slowed down.
      await tab.page.evaluate((ms) => new Promise((resolve) => setTimeout(resolve, ms)), PAUSE_MS);
      const seen = tab.page.evaluate(timeOf, `name-${written}`);
      await superstep("name", file, `first@${9999 - (written % 5)}`, `name-${written}`);
      const at = Date.now();
      times.push((await seen) - at);
    }
    measured(each, "event to screen", times);
  });

  await t.test("the heap after all rows were shown", async (each) => {
    const before = await tab.heap();
    await tab.page.evaluate(async () => {
      const list = document.querySelector("#checkpoints");
      for (let at = 0; list !== null && at < list.scrollHeight; at += list.clientHeight) {
        list.scrollTop = at;
        await new Promise(requestAnimationFrame);
      }
    });
    await tab.settled();
    const after = await tab.heap();
    each.diagnostic(`heap: ${before} bytes before, ${after} bytes after`);
    assert.ok(after < 64e6, `${after} bytes`);
  });
  tab.check();
});

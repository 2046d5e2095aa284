// A thread of 10,000 checkpoints: few elements, quick moves.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileOf, serverOf } from "../served";
import { Tab } from "./studio";

const TOTAL = 10_000;

const idOf = (number: number) => `01a21df9-0000-7000-8000-${String(number).padStart(12, "0")}`;

function line(number: number): object {
  return {
    id: idOf(number),
    ...(number > 0 && { parent: idOf(number - 1) }),
    thread: "visit",
    step: number,
    source: "loop",
    at: "2026-11-27T17:06:51.044Z",
    run: idOf(0),
    ran: [`node ${number}`],
    next: ["evaluate"],
    changed: ["answer"],
    lane: 0,
    ...(number === TOTAL - 1 && { head_of: ["visit"] }),
  };
}

/** Serves a timeline of so many checkpoints in the place of that of the file. */
async function lengthen(tab: Tab): Promise<void> {
  const numberOf = (checkpoint: string | null) => (checkpoint?.startsWith("01a21df9-0000") === true ? Number(checkpoint.slice(-12)) : TOTAL - 1);
  await tab.page.route(/\/api\/log\?/, async (route) => {
    const query = new URL(route.request().url()).searchParams;
    const around = query.get("around");
    const from = around === null ? Number(query.get("from")) : Math.max(0, TOTAL - 1 - numberOf(around) - 20);
    const numbers = Array.from({ length: Number(query.get("count")) }, (_, at) => TOTAL - 1 - from - at).filter((number) => number >= 0);
    await route.fulfill({ json: { thread: "visit", checkpoints: numbers.map(line), more: true, total: TOTAL, from } });
  });
  await tab.page.route(/\/api\/show\?/, async (route) => {
    const number = numberOf(new URL(route.request().url()).searchParams.get("checkpoint"));
    const state = { answer: `answer ${number}`, facts: Array.from({ length: 50 }, (_, at) => ({ id: `${at}`, text: `fact ${at}` })) };
    await route.fulfill({ json: { ...line(number), graph: "replies", state, tasks: [], next_tasks: [] } });
  });
}

test("10,000 checkpoints", async (t) => {
  const file = await fileOf(t, "visit");
  const tab = await Tab.open(t, await serverOf(t, file), "#/");
  await lengthen(tab);
  await tab.go("#/t/visit");
  await tab.sees("option", /^Step 9999\s*: node 9999 ; latest of visit/);
  await tab.sees("heading", "Step 9999 · node 9999");
  const rows = () => tab.page.getByRole("option").count();

  await t.test("only what is visible is drawn and read", async () => {
    assert.ok((await rows()) < 80, `${await rows()} rows`);
    const before = tab.asked.filter((request) => request.startsWith("log")).length;
    await tab.press("J");
    await tab.sees("heading", "Step 0 · node 0");
    await tab.go(`#/t/visit/c/${idOf(4_000)}`);
    await tab.sees("heading", "Step 4000 · node 4000");
    assert.ok((await rows()) < 80, `${await rows()} rows`);
    const asked = tab.asked.filter((request) => request.startsWith("log")).length - before;
    assert.ok(asked <= 6, `${asked} requests for rows`);
  });

  await t.test("a key press to the new state drawn", async () => {
    const times = await tab.page.evaluate(async () => {
      const taken: number[] = [];
      for (let press = 0; press < 60; press += 1) {
        const state = () => document.querySelector("#pane [role=tree]")?.textContent ?? "";
        const before = state();
        const from = performance.now();
        dispatchEvent(new KeyboardEvent("keydown", { key: "j" }));
        while (state() === before) await new Promise(requestAnimationFrame);
        taken.push(performance.now() - from);
      }
      return taken.sort((a, b) => a - b);
    });
    const [middle, p95] = [times[30] ?? 0, times[57] ?? 0];
    t.diagnostic(`key press to state: median ${middle.toFixed()} ms, p95 ${p95.toFixed()} ms`);
    assert.ok(p95 <= 100, `p95 is ${p95} ms`);
  });
  tab.check();
});

// All of the page by keyboard alone.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PANES } from "../../src/model/address";
import { actions } from "../../src/model/keys";
import { fileOf, serverOf, superstep } from "../served";
import { Tab, typeMend, typeMonday } from "./studio";

test("each key has a button that Tab reaches", async (t) => {
  const file = await fileOf(t, "visit", "article");
  const tab = await Tab.open(t, await serverOf(t, file), "#/");
  const buttons = new Set<string>();
  const views = ["#/", "#/t/visit?path=answer", ...PANES.map((pane) => `#/t/visit?pane=${pane}`)];
  for (const view of views) {
    await tab.go(view);
    await tab.settled();
    const keys = await tab.page.locator("[aria-keyshortcuts]").evaluateAll((all) => all.flatMap((each) => (each instanceof HTMLElement && each.tabIndex >= 0 ? (each.getAttribute("aria-keyshortcuts") ?? []) : [])));
    keys.forEach((key) => buttons.add(key));
  }
  await tab.press("?");
  await tab.sees("button", "Close");
  const without = actions().filter(([name, { key }]) => name !== "close" && !buttons.has(key));
  assert.deepEqual(without.map(([name]) => name), []);
});

test("a step to a neighbour takes one request at most", async (t) => {
  const file = await fileOf(t, "visit", "monday");
  const tab = await Tab.open(t, await serverOf(t, file), "#/t/visit");
  await tab.sees("img", /^Time strip/);
  for (const key of ["s", "d", "w", "y", ".", "t"]) {
    await tab.press(key);
    await tab.settled();
    for (const [move, step] of [["j", 20], ["j", 19], ["k", 20], ["k", 21]] as const) {
      const before = tab.asked.length;
      await tab.press(move);
      await tab.sees("heading", new RegExp(`^Step ${step} · `));
      await tab.settled();
      const asked = tab.asked.slice(before);
      assert.ok(asked.length <= 1, `${move} in the pane of ${key} asks for ${asked.join(", ")}`);
    }
    await tab.press("K");
  }
  tab.check();
});

test("the story of the wrong answer, as docs/debugging.md tells it", async (t) => {
  const file = await fileOf(t, "visit");
  const tab = await Tab.open(t, await serverOf(t, file), "#/");

  await t.test("which threads are in the file", async () => {
    await tab.sees("link", "visit");
    await tab.tabTo("visit");
    await tab.press("Enter");
    await tab.sees("heading", "Step 21 · evaluate");
  });
  await t.test("the facts were not wrong", async () => {
    await tab.sees("treeitem", /^hours : \{condition: "except Mondays"/);
    await tab.sees("treeitem", /^answer : The museum is open every day\./);
  });
  await t.test("where it went wrong, by a condition", async () => {
    await tab.press("x", "x");
    await tab.focused("Path in the state");
    await tab.type("answer");
    await tab.press("Tab");
    await tab.type("!~ except Mondays");
    await tab.press("Enter");
    await tab.reads(/23 of 23 states/);
    await tab.tabTo(/step 8/);
    await tab.press("Enter");
    await tab.sees("heading", "Step 8 · write");
    await tab.press("d");
    await tab.reads("except Mondays");
  });
  await t.test("where it went wrong, by judgement", async () => {
    await tab.press("K");
    await tab.sees("heading", "Step 21 · evaluate");
    await tab.press("b", "J");
    await tab.sees("heading", /^Step -1 · /);
    await tab.press("x", "g");
    for (let judgements = 0, judged = ""; ; judgements += 1) {
      const said = await tab.next(/Judge step (\d+) next|Step \d+ is the first bad one/, judged);
      if (!said.startsWith("Judge")) break;
      assert.ok(judgements < 5, "23 steps take 5 judgements");
      const step = Number(/\d+/.exec(said));
      await tab.sees("heading", new RegExp(`^Step ${step} · `));
      await tab.press(step >= 8 ? "b" : "g");
      judged = said;
    }
    await tab.sees("heading", "Step 8 · write");
  });
  await t.test("why it ran, and who wrote it", async () => {
    await tab.press("y");
    await tab.reads(/write by the route evaluate → Shorten/);
    await tab.press("o", "o");
    await tab.tabTo("Path of the value");
    await tab.press("Control+a");
    await tab.type("answer");
    await tab.press("Enter");
    await tab.sees("link", "step 8");
    await tab.press("Escape");
  });
  await t.test("a fork before the mistake", async () => {
    await tab.press("j", "j");
    await tab.sees("heading", "Step 6 · write");
    await tab.press("f");
    await tab.sees("radio", "On a new thread");
    await typeMonday(tab);
    await tab.shell(`superstep fork ${file} visit@6 --name monday`);
    await tab.press("Escape");
    await tab.sees("link", "monday");
  });
  await t.test("an edit of the fork", async () => {
    await tab.press("[");
    await tab.sees("heading", "Step 6 · write");
    await tab.press("e");
    await typeMend(tab);
    await tab.shell(`superstep edit ${file} monday --set 'keep=["except Mondays"]'`);
    // The form stays on its step.
    await tab.sees("option", /^Step 7\s*: edited ; latest of monday/);
    await tab.press("Escape", "K");
    await tab.sees("heading", "Step 7 · Edit");
  });
  tab.check();
  assert.equal(await superstep("show", file, "monday", "keep"), '[\n  "except Mondays"\n]\n');
});

test("where one column is shown, its key brings it to the front", async (t) => {
  const file = await fileOf(t, "visit");
  const tab = await Tab.open(t, await serverOf(t, file), "#/t/visit", { viewport: { width: 480, height: 800 } });
  await tab.sees("listbox", "Checkpoints of visit, newest first");
  await tab.press("3");
  await tab.sees("heading", "Step 21 · evaluate");
  await tab.press("1");
  await tab.sees("link", "visit");
  await tab.press("2");
  await tab.sees("listbox", "Checkpoints of visit, newest first");
  await tab.press("i");
  await tab.reads("No question is open.");
  tab.check();
});

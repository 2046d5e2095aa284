// The studio of a program, which lends its graphs: everything that writes or runs.

import assert from "node:assert/strict";
import { rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { EXAMPLES, fileOf, programOf, run, superstep } from "../served";
import { SCHEMES, accessible } from "./accessible";
import { Tab, typeMend, typeMonday } from "./studio";

/** Starts the example `opening_hours` on the thread `visit`; `--mended` gives it the evaluator without the bug. */
async function museum(t: TestContext, ...options: readonly string[]) {
  const file = await fileOf(t, "visit");
  return { file, server: await programOf(t, "opening_hours", dirname(file), ...options) };
}

/** Starts the example `review`, which asks for a verdict on the thread `article`. */
async function article(t: TestContext) {
  const made = await fileOf(t, "article");
  const file = join(dirname(made), "superstep-review.db");
  await rename(made, file);
  return { file, server: await programOf(t, "review", dirname(file)) };
}

/**
 * A thread as `superstep export` writes it. Ids, which contain times, are replaced by numbers. The digest of all is left
 * out, and so is the metadata, in which a server stores the ids of its runs.
 */
async function exported(file: string, thread: string): Promise<unknown> {
  const document = JSON.parse(await superstep("export", file, thread), (key, value) => (key === "digest" || key === "metadata" ? undefined : value));
  const ids: string[] = [];
  const text = JSON.stringify(document).replace(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g, (id) => {
    if (!ids.includes(id)) ids.push(id);
    return `id ${ids.indexOf(id)}`;
  });
  return JSON.parse(text);
}

/** Runs a verb of the debugger of the example `opening_hours` on a file. */
async function opening(file: string, ...given: readonly string[]): Promise<void> {
  await run(join(EXAMPLES, "opening_hours"), given, { cwd: dirname(file), env: { ...process.env, TMPDIR: dirname(file) } });
}

test("the run is repaired by keyboard alone, as docs/debugging.md does it with commands", async (t) => {
  const { file, server } = await museum(t);
  const tab = await Tab.open(t, server, "#/t/visit/c/visit@6");
  await tab.sees("heading", "Step 6 · write");
  await tab.press("f");
  await typeMonday(tab);
  await tab.tabTo(/^Begin thread monday/);
  await tab.press("Enter");
  await tab.sees("heading", "Step 6 · write");
  await tab.reads(/monday: Unfinished after step 6: next is evaluate\./);

  await tab.press("e");
  await typeMend(tab);
  await tab.press("Control+Enter");
  await tab.sees("heading", "Step 7 · Edit");

  await tab.tabTo("Resume");
  await tab.press("Enter");
  await tab.sees("option", /^Step 20\s*: evaluate ; latest of monday/);
  await tab.reads(/monday: Finished at step 20\./);
  tab.check();

  const other = await fileOf(t, "visit");
  await superstep("fork", other, "visit@6", "--name", "monday");
  await superstep("edit", other, "monday", "--set", 'keep=["except Mondays"]');
  await opening(other, "debug", "resume", "monday");
  assert.match(await superstep("show", file, "monday", "answer"), /except Mondays/);
  for (const thread of ["monday", "visit"]) assert.deepEqual(await exported(file, thread), await exported(other, thread));
});

test("a value of another kind is stored only after a second confirmation", async (t) => {
  const { file, server } = await museum(t);
  const tab = await Tab.open(t, server, "#/t/visit/c/visit@6?pane=edit&path=score");
  await tab.page.getByRole("textbox", { name: "JSON" }).fill('"high"');
  await tab.reads(/^score is a number and would become a text, which its program may not be able to read$/);
  const confirm = tab.page.getByRole("checkbox", { name: "Store a value of another kind all the same" });
  await confirm.check();
  await tab.reads("score was a number and becomes a text: the program may not be able to read it.");
  await tab.page.getByRole("textbox", { name: "JSON" }).press("Control+Enter");
  await tab.sees("option", /^Step 7\s*: edited ; latest of visit ; changed score/);
  assert.equal(await superstep("show", file, "visit", "score"), '"high"\n');
  tab.check();
});

test("a replay agrees with the code that ran, and differs from the mended one", async (t) => {
  const replayed = async (...options: readonly string[]) => {
    const { server } = await museum(t, ...options);
    const tab = await Tab.open(t, server, "#/t/visit?pane=replay");
    await tab.page.getByRole("button", { name: /^Replay up to step 21/ }).click();
    return tab;
  };
  const same = await replayed();
  await same.reads("Equal: 22 supersteps came out as recorded.");
  const mended = await replayed("--mended");
  await mended.reads("Different: 7 of 22 supersteps came out otherwise.");
  await mended.reads(/Step 9, node evaluate/);
  mended.check();
});

test("a rerun begins a branch at the selected step", async (t) => {
  const { file, server } = await museum(t, "--mended");
  const tab = await Tab.open(t, server, "#/t/visit/c/visit@8?pane=run");
  await tab.page.getByRole("button", { name: "Rerun from step 8" }).click();
  await tab.sees("option", /^Step 27\s*: evaluate ; latest of visit/);
  await tab.reads(/visit: Finished at step 27\./);
  tab.check();

  const other = await fileOf(t, "visit");
  await opening(other, "--mended", "debug", "rerun", "visit@8");
  assert.match(await superstep("show", file, "visit", "answer"), /except Mondays/);
  assert.deepEqual(await exported(file, "visit"), await exported(other, "visit"));
});

test("a new thread, an input that the graph refuses, and a name", async (t) => {
  const { file, server } = await museum(t);
  const tab = await Tab.open(t, server, "#/?pane=run");
  await tab.page.getByRole("textbox", { name: "Thread" }).fill("tuesday");
  const input = tab.page.getByRole("textbox", { name: "Input (JSON)" });
  await input.fill('{"question": 7}');
  const send = tab.page.getByRole("button", { name: "Run the new thread" });
  await send.click();
  await tab.sees("alert", "");
  await input.fill('{"question": "When?"}');
  await send.click();
  await tab.sees("option", /: evaluate ; latest of tuesday/);
  await tab.go("#/t/tuesday/c/tuesday@2?pane=export");
  await tab.page.getByRole("textbox", { name: "Name" }).fill("draft-1");
  await tab.page.getByRole("button", { name: "Store the name" }).click();
  await tab.sees("option", /^Step 2\s*: .*named draft-1 /);
  assert.match(await superstep("name", file, "tuesday"), /draft-1/);
  tab.check();
});

test("an answer by its form; a second one is told who was faster", async (t) => {
  const { file, server } = await article(t);
  const [first, second] = [await Tab.open(t, server, "#/"), await Tab.open(t, server, "#/t/article?pane=answer")];
  await second.page.getByRole("radio", { name: "Accept" }).check();

  await first.sees("link", "Typed graphs: draft 1");
  await first.tabTo("Typed graphs: draft 1");
  await first.press("Enter", "a");
  await first.sees("radio", "Revise");
  await first.page.getByRole("button", { name: "Answer", exact: true }).last().click();
  await first.sees("alert", "");
  await first.page.getByRole("radio", { name: "Revise" }).check();
  await first.page.getByRole("button", { name: "Answer", exact: true }).last().click();
  await first.reads("Typed graphs: draft 2");
  await first.reads("Answered. The thread asks again: 1 open question on article");

  await second.reads(/This question was answered elsewhere first/);
  await second.reads("Typed graphs: draft 2");
  await second.page.getByRole("radio", { name: "Accept" }).last().check();
  await second.page.getByRole("button", { name: "Answer", exact: true }).last().click();
  await second.reads(/^The answer is stored\. Finished at step \d+\.$/);
  assert.deepEqual(JSON.parse(await superstep("threads", file, "--json")).threads.map(({ status }: { status: string }) => status), ["finished"]);
  [first, second].forEach((tab) => tab.check());
});

test("an answer that its schema refuses is told at its field", async (t) => {
  const { server } = await article(t);
  const tab = await Tab.open(t, server, "#/t/article?pane=answer");
  await tab.page.getByRole("button", { name: "Write JSON instead" }).click();
  const typed = tab.page.getByRole("textbox", { name: /JSON/ });
  const send = tab.page.getByRole("button", { name: "Answer", exact: true }).last();
  for (const text of ["{", '"Perhaps"']) {
    await typed.fill(text);
    await send.click();
    await tab.until(async () => (await typed.getAttribute("aria-invalid")) === "true", `an error at ${text}`);
  }
  tab.check();
});

const REPORT = {
  title: "Report",
  type: "object",
  required: ["title", "rounds", "final", "tone", "tags", "author"],
  properties: {
    title: { type: "string" },
    rounds: { type: "integer", minimum: 0, maximum: 9 },
    final: { type: "boolean" },
    tone: { enum: ["dry", "warm"] },
    tags: { type: "array", items: { type: "string" } },
    author: { type: "object", required: ["name"], properties: { name: { type: "string" } } },
  },
};

test("a form has a field of each kind, and a refusal is told at its field", async (t) => {
  const { server } = await article(t);
  const tab = await Tab.open(t, server, "#/");
  let sent: unknown = null;
  await tab.page.route(/\/api\/interrupts/, async (route) => {
    const response = await route.fetch();
    const { interrupts, total } = await response.json();
    await route.fulfill({ response, json: { interrupts: interrupts.map((each: object) => ({ ...each, schema: REPORT })), total } });
  });
  await tab.page.route(/\/api\/answer/, async (route) => {
    const { answers } = route.request().postDataJSON();
    const [id = ""] = Object.keys(answers);
    sent = answers[id];
    await route.fulfill({ status: 422, json: { detail: "the name is too short", path: `answers.${id}.author.name` } });
  });
  await tab.page.reload();
  await tab.go("#/t/article?pane=answer");
  const { page } = tab;
  await page.getByRole("textbox", { name: "title" }).fill("Graphs");
  const rounds = page.getByRole("textbox", { name: "rounds" });
  await rounds.fill("99");
  await page.getByRole("radio", { name: "Yes" }).check();
  await page.getByRole("radio", { name: "warm" }).check();
  await page.getByRole("button", { name: "Add an item" }).click();
  await page.getByRole("group", { name: "tags" }).getByRole("textbox").fill("typed");
  const name = page.getByRole("textbox", { name: "name" });
  await name.fill("A");

  const send = page.getByRole("button", { name: "Answer", exact: true }).last();
  await send.click();
  await tab.until(async () => (await rounds.getAttribute("aria-invalid")) === "true", "an error at rounds");
  assert.equal(sent, null, "it is not sent before it fits");
  await rounds.fill("3");
  await send.click();
  await tab.reads("the name is too short");
  assert.deepEqual(sent, { title: "Graphs", rounds: 3, final: true, tone: "warm", tags: ["typed"], author: { name: "A" } });
  await tab.until(async () => (await name.getAttribute("aria-invalid")) === "true", "the error at name");
  assert.equal(await name.inputValue(), "A");
  tab.check();
});

for (const colorScheme of SCHEMES) {
  test(`axe-core has no finding in a program's screens, ${colorScheme}`, async (t) => {
    const { server } = await museum(t);
    const views = ["edit&path=score", "fork", "run", "replay", "export"].map((pane) => `#/t/visit/c/visit@6?pane=${pane}`);
    await accessible(t, server, [...views, "#/?pane=run"], colorScheme);
    await accessible(t, (await article(t)).server, ["#/t/article?pane=answer", "#/t/article?pane=run"], colorScheme);
  });
}

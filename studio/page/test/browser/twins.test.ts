// The studio of a server: questions whose answers have fields of each kind, and a run that takes long.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { afterwards, superstep, twinsOf } from "../served";
import { Tab } from "./studio";

async function twins(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), "studio-"));
  afterwards(t, () => rm(folder, { recursive: true, force: true }));
  return { file: join(folder, "twins.db"), server: await twinsOf(t, folder) };
}

/** Begins a thread in the page. */
async function begin(tab: Tab, thread: string, graph: string, input: object): Promise<void> {
  await tab.go("#/?pane=run");
  await tab.page.getByRole("textbox", { name: "Thread" }).fill(thread);
  await tab.page.getByRole("combobox", { name: "Graph" }).last().selectOption(graph);
  await tab.page.getByRole("textbox", { name: "Input (JSON)" }).fill(JSON.stringify(input));
  await tab.page.getByRole("button", { name: `Run the new thread ${thread}` }).click();
}

test("an answer with a field of each kind, one of which is refused first", async (t) => {
  const { file, server } = await twins(t);
  const tab = await Tab.open(t, server, "#/");
  await begin(tab, "monday", "report", {});
  await tab.reads(/monday: Waiting for 1 answer/);
  await tab.go("#/t/monday?pane=answer");
  const { page } = tab;
  await page.getByRole("textbox", { name: "title" }).fill("Graphs");
  const rounds = page.getByRole("textbox", { name: "rounds" });
  await rounds.fill("99");
  await page.getByRole("group", { name: "approved" }).getByRole("radio", { name: "Yes" }).check();
  await page.getByRole("radio", { name: "warm" }).check();
  await page.getByRole("group", { name: "tags" }).getByRole("button", { name: "Add an item" }).click();
  await page.getByRole("group", { name: "tags" }).getByRole("textbox").fill("typed");
  await page.getByRole("group", { name: "author" }).getByRole("textbox", { name: "name" }).fill("Ada");
  await page.getByRole("textbox", { name: /more/ }).fill('{"pages": [12345678901234567890]}');
  const send = page.getByRole("button", { name: "Answer", exact: true }).last();
  await send.click();
  await tab.until(async () => (await rounds.getAttribute("aria-invalid")) === "true", "an error at rounds");
  assert.equal(tab.asked.filter((request) => request === "answer").length, 0, "it is not sent before it fits");
  await rounds.fill("3");
  await send.click();
  await tab.sees("option", /: file ; latest of monday/);
  const { reports } = JSON.parse((await superstep("show", file, "monday", "--json")).replace("12345678901234567890", '"12345678901234567890"')).state;
  assert.deepEqual(reports, [{ title: "Graphs", rounds: 3, approved: true, tone: "warm", tags: ["typed"], author: { name: "Ada", mail: null }, more: { pages: ["12345678901234567890"] } }]);
  tab.check();
});

test("a program that answers first is told, and its answer counts", async (t) => {
  const { file, server } = await twins(t);
  const tab = await Tab.open(t, server, "#/");
  await begin(tab, "monday", "report", {});
  await tab.reads(/monday: Waiting for 1 answer/);
  await tab.go("#/t/monday?pane=answer");
  await tab.page.getByRole("textbox", { name: "title" }).fill("Mine");
  const report = { title: "Theirs", rounds: 1, approved: false, tone: "dry", tags: [], author: { name: "Bob", mail: null }, more: {} };
  const answered = await fetch(`${server.origin}/threads/monday/runs/wait`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ assistant_id: "report", command: { resume: report } }),
  });
  assert.equal(answered.status, 200, await answered.text());
  await tab.reads(/This question was answered elsewhere first/);
  await tab.reads(/Theirs/);
  assert.equal(await tab.page.getByRole("button", { name: "Answer", exact: true }).count(), 1, "only the button of the pane is left");
  assert.deepEqual(JSON.parse(await superstep("show", file, "monday", "reports")), [report]);
  tab.check();
});

test("a run that takes long is followed, cancelled and seen as unfinished", async (t) => {
  const { file, server } = await twins(t);
  const tab = await Tab.open(t, server, "#/");
  await begin(tab, "slow", "agent", { sleep: 3600 });
  await tab.sees("option", /: talk ; latest of slow/);
  await tab.reads(/slow: Running/);
  await tab.page.getByRole("button", { name: "Cancel the run" }).click();
  await tab.reads(/slow: Unfinished after step 2: next is finish\./);
  await tab.page.getByText("Nothing runs on this thread.").waitFor();
  assert.ok(await tab.page.getByRole("button", { name: "Resume" }).isEnabled());
  const { threads } = JSON.parse(await superstep("threads", file, "--json"));
  assert.deepEqual(threads.map(({ thread, status, lease }: { [name: string]: unknown }) => [thread, status, lease]), [["slow", "unfinished", undefined]]);
  tab.check();
});

test("a run that fails is told with its error", async (t) => {
  const { server } = await twins(t);
  const tab = await Tab.open(t, server, "#/");
  await begin(tab, "wrong", "agent", { fail: true });
  await tab.reads(/wrong: boom failed after step 2: boom: deliberate failure/);
  await tab.go("#/t/wrong?pane=tasks");
  await tab.reads(/boom: deliberate failure/);
  tab.check();
});

// The page while the file changes, the connection breaks, or the file goes away.

import assert from "node:assert/strict";
import { copyFile, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { once } from "node:events";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { type Server, afterwards, fileOf, serverOf, superstep } from "../served";
import { SCREENS } from "./screens";
import { Tab, flood } from "./studio";

test("what another process writes is shown, and the focus stays", async (t) => {
  const file = await fileOf(t, "visit");
  const tab = await Tab.open(t, await serverOf(t, file), "#/t/visit?pane=edit&path=score");
  await tab.sees("textbox", "JSON");
  await tab.press("e");
  await tab.focused("JSON");
  await tab.press("End");
  await tab.type("1");
  for (let step = 0; step < 10; step += 1) {
    await superstep("name", file, `visit@${step + 10}`, `name-${step}`);
    await tab.sees("option", new RegExp(`^Step ${step + 10}\\s*: .*named name-${step} `));
    assert.equal(await tab.focus(), "JSON");
  }
  await tab.type("2");
  assert.equal(await tab.page.getByRole("textbox", { name: "JSON" }).inputValue(), "1012");
  await superstep("edit", file, "visit", "--set", "score=0");
  await tab.sees("option", /^Step 22\s*: edited ; latest of visit/);
  await tab.page.getByRole("status").filter({ hasText: "the latest is step 22" }).waitFor({ state: "attached" });
  // The form is still that of step 21, which a new branch would follow now.
  await tab.sees("heading", "Step 21 · evaluate");
  await tab.reads(/on a new branch/);
  assert.equal(await tab.focus(), "JSON");
  assert.equal(await tab.page.getByRole("textbox", { name: "JSON" }).inputValue(), "1012");
  tab.check();
});

/** Runs in the page: makes it believe that the file changed so many times. */
async function events(count: number): Promise<void> {
  for (let sent = 0; sent < count; sent += 1) {
    dispatchEvent(new Event("flood"));
    await new Promise(requestAnimationFrame);
  }
}

test("the focus is kept over 1,000 events, and the heap is flat", async (t) => {
  const file = await fileOf(t, "visit");
  const tab = await Tab.open(t, await serverOf(t, file), "#/", { prepare: async (page) => void (await page.addInitScript(flood)) });
  await tab.go("#/t/visit/c/visit@6?pane=bisect");
  await tab.press("x");
  await tab.focused("Path in the state");
  await tab.type("answer");
  const asked = tab.asked.length;
  await tab.page.evaluate(events, 200);
  const before = await tab.heap();
  await tab.page.evaluate(events, 800);
  await tab.settled();
  const after = await tab.heap();
  t.diagnostic(`heap: ${before} bytes after 200 events, ${after} after 1,000`);
  assert.ok(after < 64e6 && after - before < 1e6, `the heap grew from ${before} to ${after} bytes`);
  assert.equal(await tab.focus(), "Path in the state");
  assert.equal(await tab.page.getByRole("textbox", { name: "Path in the state" }).inputValue(), "answer");
  await tab.sees("heading", "Step 6 · write");
  assert.ok(tab.asked.length - asked < 1_000, `${tab.asked.length - asked} requests for 1,000 events`);
  tab.check();
});

test("a connection that breaks is told, and comes back at the same place", async (t) => {
  const file = await fileOf(t, "visit");
  const tab = await Tab.open(t, await serverOf(t, file), "#/t/visit/c/visit@6?pane=diff", { prepare: (page) => page.clock.install() });
  await tab.sees("heading", "Step 6 · write");
  await tab.page.getByText("live", { exact: true }).waitFor();
  await tab.page.context().setOffline(true);
  // The heartbeats stop.
  await tab.page.clock.fastForward(15_000);
  const bar = await tab.sees("alert", "");
  assert.match(await bar.innerText(), /^The program has not answered since [\d:]+\. You see what was read until then\./);
  await superstep("name", file, "visit@6", "meanwhile");
  await tab.press("d", "s");
  await tab.sees("heading", "Step 6 · write");
  // It tries by itself, too, and may be faster than the key.
  await tab.page.getByRole("button", { name: "Try now" }).focus();
  await tab.page.context().setOffline(false);
  await tab.press("Enter");
  await tab.sees("option", /^Step 6\s*: .*named meanwhile /);
  await bar.waitFor({ state: "detached" });
  await tab.sees("heading", "Step 6 · write");
  assert.match(tab.page.url(), /pane=|\/c\//);
  tab.check();
});

/** Passes connections on to a server, until it breaks them all. */
async function proxyOf(t: TestContext, server: Server) {
  const sockets = new Set<Socket>();
  const listening = createServer((socket) => {
    const other = connect(Number(new URL(server.origin).port), "127.0.0.1");
    for (const [from, to] of [[socket, other], [other, socket]] as const) {
      sockets.add(from);
      from.on("error", () => to.destroy());
      from.on("close", () => to.destroy());
      from.pipe(to);
    }
  });
  const listen = async (port: number) => {
    listening.listen(port, "127.0.0.1");
    await once(listening, "listening");
  };
  const cut = async () => {
    const closed = new Promise((resolve) => listening.close(resolve));
    sockets.forEach((socket) => socket.destroy());
    await closed;
  };
  await listen(0);
  afterwards(t, async () => void (listening.listening && (await cut())));
  const { port } = listening.address() as AddressInfo;
  const [origin, address] = [server.origin, server.address].map((url) => url.replace(/:\d+/, `:${port}`));
  return { server: { ...server, origin: origin ?? "", address: address ?? "" }, cut, mend: () => listen(port) };
}

test("after a broken connection nothing is lost or repeated, and the page is at the same place", async (t) => {
  const file = await fileOf(t, "visit");
  const { server, cut, mend } = await proxyOf(t, await serverOf(t, file));
  const tab = await Tab.open(t, server, "#/t/visit/c/visit@6?pane=bisect", { viewport: { width: 1440, height: 500 } });
  await tab.sees("heading", "Step 6 · write");
  await tab.press("x");
  await tab.focused("Path in the state");
  await tab.type("answer");
  const list = tab.page.getByRole("listbox").locator("..");
  /** The steps that are in view, each with its distance from the top. */
  const places = () =>
    list.evaluate((element) => {
      const top = element.getBoundingClientRect().top;
      const rows = [...element.querySelectorAll("[role=option]")].map((row) => [/Step (-?\d+)/.exec(row.textContent ?? "")?.[1], Math.round(row.getBoundingClientRect().top - top)] as const);
      return rows.filter(([, at]) => at >= 0 && at < element.clientHeight);
    });
  await tab.settled();
  const before = await places();
  assert.ok(before.length > 3, JSON.stringify(before));
  await cut();
  const bar = await tab.sees("alert", "");
  assert.match(await bar.innerText(), /^The program has not answered since /);
  for (const score of [1, 2, 3]) await superstep("edit", file, "visit", "--set", `score=${score}`);
  await tab.type(".x");
  await mend();
  await bar.waitFor({ state: "detached" });
  await tab.reads(/26 checkpoints/);
  await tab.settled();
  assert.deepEqual(await places(), before);
  assert.equal(await tab.focus(), "Path in the state");
  assert.equal(await tab.page.getByRole("textbox", { name: "Path in the state" }).inputValue(), "answer.x");
  await tab.sees("heading", "Step 6 · write");
  await list.evaluate((element) => element.scrollTo(0, 0));
  await tab.sees("option", /^Step 24\s*: edited ; latest of visit/);
  const steps = (await places()).map(([step]) => Number(step));
  assert.deepEqual(steps, steps.map((_, at) => 24 - at), "each step is there once");
  tab.check();
});

test("a program that was started again does not know the token", async (t) => {
  const file = await fileOf(t, "visit");
  const first = await serverOf(t, file);
  const tab = await Tab.open(t, first, "#/t/visit");
  await tab.sees("heading", "Step 21 · evaluate");
  await first.stop();
  await tab.sees("alert", "");
  const second = await serverOf(t, file, "--port", new URL(first.origin).port);
  await tab.reads(/does not know the token of this page\. Open the address that it printed/);
  await tab.go("#token=wrong");
  await tab.reads(/does not know the token of this page/);
  await tab.go(second.address.slice(second.address.indexOf("#")));
  await tab.page.getByText("live", { exact: true }).waitFor();
  await tab.sees("heading", "Step 21 · evaluate");
  const bare = await Tab.open(t, first, "");
  await bare.reads("This page has no token. Open the address that the program printed when it started.");
});

test("a file that is deleted or replaced", async (t) => {
  const file = await fileOf(t, "visit");
  const tab = await Tab.open(t, await serverOf(t, file), "#/t/visit");
  await tab.page.getByText("live", { exact: true }).waitFor();
  await tab.sees("heading", "Step 21 · evaluate");
  await copyFile(file, `${file}.copy`);
  await rm(file);
  await tab.reads(/museum\.db was deleted or moved away while it was open/);
  await tab.sees("heading", "Step 21 · evaluate");
  await rename(`${file}.copy`, file);
  await tab.reads(/another file was put in the place of the one that was open/);
  tab.check();
});

test("a link to what is not in the file", async (t) => {
  const file = await fileOf(t, "visit");
  const tab = await Tab.open(t, await serverOf(t, file), "#/t/visit");
  for (const pane of ["state", "graph", "fork", "edit", "answer"]) {
    await tab.go(`#/t/visit/c/visit@99?pane=${pane}`);
    await tab.reads(/visit has no step 99|there is no .*99/);
  }
  await (await tab.sees("link", "Go to the latest step")).click();
  await tab.sees("heading", "Step 21 · evaluate");
  await tab.go("#/t/visit?pane=nothing");
  await tab.until(async () => tab.page.url().endsWith("#/t/visit"), "the address of the pane that is shown");
  await tab.go("#/t/nobody");
  await tab.reads(/there is no thread or checkpoint nobody/);
  assert.equal(await tab.page.getByText(/there is no thread or checkpoint nobody/).count(), 1);
  await (await tab.sees("link", "Go to the list of threads")).click();
  await tab.sees("link", "visit");
  tab.check();
});

test("a damaged thread is named, and the others are shown", async (t) => {
  const file = await fileOf(t, "visit", "article");
  const bytes = await readFile(file, "latin1");
  await writeFile(file, bytes.replaceAll("Typed graphs: draft 1", "Typed graphs: draXt 1"), "latin1");
  const tab = await Tab.open(t, await serverOf(t, file), "#/");
  await tab.sees("region", "Damaged threads");
  await tab.reads(/is damaged: question \w+ is damaged: its checksum does not match/);
  await tab.go("#/t/article");
  await tab.reads(/is damaged: its checksum does not match/);
  await tab.go("#/t/visit");
  await tab.sees("heading", "Step 21 · evaluate");
  tab.check();
});

test("an encrypted file is shown with its key, and needs it", async (t) => {
  const file = await fileOf(t, "visit");
  const keys = `${file}.keys`;
  await writeFile(keys, `first ${"0a".repeat(32)}\n`);
  await superstep("rekey", file, "--key-file", keys);
  await assert.rejects(superstep("studio", file, "--no-open"), /is encrypted with the key first: open it with its keys/);
  const tab = await Tab.open(t, await serverOf(t, file, "--key-file", keys), "#/t/visit?pane=bisect&path=answer&is=!~%20except%20Mondays");
  await tab.sees("link", /step 8/);
  tab.check();
});

test("a file without threads", async (t) => {
  const file = await fileOf(t, "article");
  await superstep("delete", file, "article");
  const tab = await Tab.open(t, await serverOf(t, file), "#/");
  await tab.reads("There is no thread in this file yet.");
  tab.check();
});

test("reading does not change a byte of the file or its folder", async (t) => {
  const file = await fileOf(t, "visit", "article");
  const contents = async () => {
    const names = (await readdir(dirname(file))).sort();
    return [names.join(), await readFile(file, "base64")];
  };
  const before = await contents();
  const server = await serverOf(t, file);
  const tab = await Tab.open(t, server, "#/");
  for (const { view } of SCREENS) {
    await tab.go(view);
    await tab.settled();
  }
  await tab.page.close();
  await server.stop();
  assert.deepEqual(await contents(), before);
});

test("a bisection that checked a part of the states offers to check all", async (t) => {
  const file = await fileOf(t, "visit");
  const tab = await Tab.open(t, await serverOf(t, file), "#/t/visit");
  await tab.page.route(/\/api\/bisect\?(?!.*linear)/, (route) =>
    route.fulfill({ json: { found: "never", flips_back: false, evaluated: 64, checkpoints: 2_000 } }),
  );
  await tab.go("#/t/visit?pane=bisect&path=answer&is=missing");
  await tab.reads("It holds in none of the 64 states checked.");
  await tab.press("x");
  await tab.focused("The condition is");
  await tab.press("Escape");
  await (await tab.sees("button", "Check every state")).click();
  await tab.reads(/23 of 23 states checked, up to step 21 of visit/);
  const all = tab.page.getByRole("checkbox", { name: /^Check every state/ });
  assert.ok(await all.isChecked());
  await all.uncheck();
  await tab.reads("It holds in none of the 64 states checked.");
  tab.check();
});

test("a bad pattern of a search is shown with the place of its error", async (t) => {
  const file = await fileOf(t, "visit");
  const tab = await Tab.open(t, await serverOf(t, file), "#/?pane=search&find=hist(");
  const lines = tab.page.locator("pre");
  await lines.waitFor();
  assert.match(await lines.innerText(), /^ +hist\(\n +\^\n/);
  await tab.press("u");
  await tab.page.locator(".said").waitFor();
});

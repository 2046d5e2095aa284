// The values of secret fields, which are in the file and in questions, keys of effects and errors, are nowhere in the page.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { PANES } from "../../src/model/address";
import { randomFiles, serverOf, superstep } from "../served";
import { Tab } from "./studio";

/** With this text begins each secret of the random files. */
const CANARY = "canary-5f0e";

/** Every text of the page: what it shows and has in its elements, its address, and what it keeps. */
function textsOf(page: Page): Promise<string> {
  return page.evaluate(() => {
    const typed = [...document.querySelectorAll("input, textarea, select")].map((field) => ("value" in field ? String(field.value) : ""));
    return [document.documentElement.outerHTML, ...typed, location.href, JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage }), document.cookie].join("\n");
  });
}

for (const seed of [2, 12]) {
  test(`a secret is in no text, request, response, address and storage of the page: seed ${seed}`, async (t) => {
    const file = join(await randomFiles(t, 1, seed), `${seed}.db`);
    assert.match(await readFile(file, "latin1"), new RegExp(CANARY), "the file has a secret");
    const sent: string[] = [];
    const read: Promise<void>[] = [];
    const tab = await Tab.open(t, await serverOf(t, file), "#/", {
      prepare: async (page) => {
        page.on("request", (request) => void sent.push(request.url(), JSON.stringify(request.headers()), request.postData() ?? ""));
        page.on("response", (response) => {
          if (!response.url().endsWith("/events")) read.push(response.text().then((text) => void sent.push(text), () => {}));
        });
      },
    });
    const { threads } = JSON.parse(await superstep("threads", file, "--json"));
    const rows = await Promise.all(threads.map(({ thread }: { thread: string }) => superstep("log", file, thread, "-n", "0", "--json")));
    const checkpoints: string[] = rows.flatMap((text) => JSON.parse(text).checkpoints.map(({ id }: { id: string }) => id));
    assert.ok(checkpoints.length > 10);
    let marked = checkpoints[0] ?? "";
    for (const [at, checkpoint] of checkpoints.entries()) {
      // Each pane at some of the steps; the state with its path at each.
      for (const pane of ["state", PANES[at % PANES.length], PANES[(at + 7) % PANES.length]]) {
        await tab.go(`#/t/${encodeURIComponent(threads[0].thread)}/c/${checkpoint}?pane=${pane}&path=token&marked=${marked}&side=difference`);
        await tab.settled();
        assert.ok(!(await textsOf(tab.page)).includes(CANARY), `${checkpoint} ${pane}`);
      }
      marked = checkpoint;
    }
    // Searches that would find it.
    for (const view of ["#/?pane=search&find=c[a]nary", "#/?text=c%61n", `#/t/${encodeURIComponent(threads[0].thread)}?pane=bisect&path=token&is=~%20c[a]n`]) {
      await tab.go(view);
      await tab.settled();
      assert.ok(!(await textsOf(tab.page)).includes(CANARY), view);
    }
    await tab.go(`#/t/${encodeURIComponent(threads[0].thread)}?pane=export`);
    const [saved] = await Promise.all([tab.page.waitForEvent("download"), tab.sees("button", "Save the file").then((button) => button.click())]);
    assert.ok(!(await readFile(await saved.path(), "latin1")).includes(CANARY), "the saved file");
    await Promise.all(read);
    assert.ok(sent.length > 100 && sent.some((text) => text.includes("<secret>")));
    assert.deepEqual(sent.filter((text) => text.includes(CANARY)).map((text) => text.slice(0, 200)), []);
    tab.check();
  });
}

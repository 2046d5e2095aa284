// The files that the bundled examples leave: every pane reads every thread.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PANES } from "../../src/model/address";
import { filesOf, serverOf, superstep } from "../served";
import { SCHEMES, accessible } from "./accessible";
import { Tab } from "./studio";

/** The examples that keep a file, with their arguments. */
const RUNS: readonly (readonly [name: string, ...given: string[]])[] = [
  ["opening_hours"],
  ["review"],
  ["time_travel"],
  ["reducers"],
  ["dynamic"],
  ["flow"],
  ["analyst"],
  ["photo_critic", "--db", "critique.db"],
  ["agent_loop", "What does a fork copy?"],
  ["agentic", "What does a fork copy?"],
];

for (const run of RUNS) {
  test(`the file of ${run[0]}`, async (t) => {
    const files = await filesOf(t, ...run);
    assert.ok(files.length > 0, "it leaves no checkpoint file");
    for (const file of files) {
      const { threads } = JSON.parse(await superstep("threads", file, "--json"));
      const tab = await Tab.open(t, await serverOf(t, file), "#/");
      for (const thread of threads.map((each: { name?: string; thread: string }) => each.name ?? each.thread)) {
        const { checkpoints } = JSON.parse(await superstep("log", file, thread, "-n", "0", "--json"));
        const middle = checkpoints[Math.floor(checkpoints.length / 2)].id;
        for (const checkpoint of ["", `/c/${middle}`]) {
          for (const pane of PANES) {
            await tab.go(`#/t/${encodeURIComponent(thread)}${checkpoint}?pane=${pane}&path=.&marked=${middle}`);
            await tab.settled();
            const shown = await tab.page.locator("main").innerText();
            assert.doesNotMatch(shown, /This page cannot read/, `${thread}${checkpoint} ${pane}`);
          }
        }
      }
      tab.check();
    }
  });
}

for (const colorScheme of SCHEMES) {
  test(`axe-core has no finding in a conversation with its calls, ${colorScheme}`, async (t) => {
    const [file = ""] = await filesOf(t, "agent_loop", "What does a fork copy?");
    const { threads } = JSON.parse(await superstep("threads", file, "--json"));
    const views = ["messages", "calls", "tasks", "graph", "state"].map((pane) => `#/t/${threads[0].thread}?pane=${pane}`);
    await accessible(t, await serverOf(t, file), views, colorScheme);
  });
}

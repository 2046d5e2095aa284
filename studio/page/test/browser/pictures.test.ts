// Writes pictures of the screens, for people to look at: `PICTURES=FOLDER npm run browser -- pictures`.

import { dirname, join, resolve } from "node:path";
import { type TestContext, test } from "node:test";
import { type Server, fileOf, filesOf, programOf, serverOf, superstep } from "../served";
import { SCHEMES } from "./accessible";
import { SCREENS } from "./screens";
import { Tab, typeMend } from "./studio";

/** The folder, below the one in which npm was started. */
const folder = process.env["PICTURES"] === undefined ? null : resolve(process.env["INIT_CWD"] ?? "", process.env["PICTURES"]);

/** A phone, a tablet, a laptop, and a large screen. */
const SIZES = [
  [360, 800],
  [768, 1024],
  [1440, 900],
  [2560, 1440],
] as const;

/** Writes each view in each size and theme, as `NAME-WIDTH-THEME.png`. */
async function pictures(t: TestContext, to: string, server: Server, views: readonly (readonly [name: string, view: string])[]): Promise<void> {
  for (const colorScheme of SCHEMES) {
    const tab = await Tab.open(t, server, "#/", { colorScheme });
    for (const [name, view] of views) {
      const front = /[?&]pane=|\/c\//.test(view) ? "&front=detail" : "";
      for (const [width, height] of SIZES) {
        await tab.page.setViewportSize({ width, height });
        await tab.go(view + front);
        await tab.settled();
        await tab.page.screenshot({ path: join(to, `${name}-${width}-${colorScheme}.png`), timeout: 60_000 });
      }
    }
  }
}

if (folder !== null) {
  test("pictures of a file", async (t) => {
    const file = await fileOf(t, "visit", "monday", "article");
    const views = SCREENS.map(({ question, view }, at) => [`${String(at).padStart(2, "0")}-${question.replace(/\W+/g, "-")}`, view] as const);
    await pictures(t, folder, await serverOf(t, file), views);
  });

  test("pictures of a conversation", async (t) => {
    const [file = ""] = await filesOf(t, "agent_loop", "What does a fork copy?");
    const { threads } = JSON.parse(await superstep("threads", file, "--json"));
    const views = ["messages", "calls", "tasks", "state"].map((pane) => [`agent-${pane}`, `#/t/${threads[0].thread}?pane=${pane}`] as const);
    await pictures(t, folder, await serverOf(t, file), views);
  });

  test("the pictures of docs/studio.md", async (t) => {
    const viewport = { width: 1280, height: 720 };
    const file = await fileOf(t, "visit", "monday");
    const picture = (tab: Tab, name: string) => tab.page.screenshot({ path: join(folder, `guide-${name}.png`) });
    const light = await Tab.open(t, await serverOf(t, file), "#/t/visit/c/visit@8?pane=diff", { viewport });
    await light.settled();
    await picture(light, "difference");
    const dark = await Tab.open(t, await serverOf(t, file), "#/t/visit/c/visit@8?pane=graph", { viewport, colorScheme: "dark" });
    await dark.settled();
    await picture(dark, "graph");
    const program = await Tab.open(t, await programOf(t, "opening_hours", dirname(file)), "#/t/visit/c/visit@6", { viewport });
    await program.sees("heading", "Step 6 · write");
    await program.press("e");
    await typeMend(program);
    await program.sees("button", "Store it on a branch at step 6");
    await picture(program, "edit");
  });

  test("pictures of a program", async (t) => {
    const file = await fileOf(t, "visit");
    const views = ["edit&path=score", "fork", "run", "replay"].map((pane) => [`program-${pane.split("&")[0]}`, `#/t/visit/c/visit@6?pane=${pane}`] as const);
    await pictures(t, folder, await programOf(t, "opening_hours", dirname(file)), views);
  });
}

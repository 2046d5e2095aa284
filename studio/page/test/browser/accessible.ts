// Looks at screens with axe-core, in both themes and several widths.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { TestContext } from "node:test";
import type axe from "axe-core";
import type { Server } from "../served";
import { Tab } from "./studio";

declare global {
  interface Window {
    readonly axe: typeof axe;
  }
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core"), "utf8");

export const SCHEMES = ["light", "dark"] as const;

/** A phone, a window of 1440 px at 200 %, and at 100 %. */
const WIDTHS = [360, 720, 1440];

/** The findings of axe-core, each with the elements that it is about. */
async function findings(tab: Tab): Promise<readonly string[]> {
  const { violations } = await tab.page.evaluate(() => window.axe.run());
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`));
}

/** Fails if a view has a finding, or is wider than the window; the same with the list of keys. */
export async function accessible(t: TestContext, server: Server, views: readonly string[], colorScheme: "light" | "dark"): Promise<void> {
  const tab = await Tab.open(t, server, "#/", { colorScheme, bypassCSP: true });
  await tab.page.evaluate(AXE);
  for (const view of views) {
    const front = /[?&]pane=|\/c\//.test(view) ? "&front=detail" : "";
    for (const width of WIDTHS) {
      await t.test(`${view} ${width} px`, async () => {
        await tab.page.setViewportSize({ width, height: 800 });
        await tab.go(view + front);
        await tab.settled();
        assert.deepEqual(await findings(tab), []);
        const { drawn, broken } = await tab.page.evaluate(() => ({
          drawn: document.documentElement.scrollWidth,
          broken: [...document.querySelectorAll("button")].filter(({ offsetHeight }) => offsetHeight > 80).map(({ innerText }) => innerText),
        }));
        assert.ok(drawn <= width, `the page is ${drawn} px wide`);
        assert.deepEqual(broken, [], "buttons with a letter a line");
      });
    }
  }
  await tab.press("Escape", "?");
  await tab.sees("dialog", "Keys");
  assert.deepEqual(await findings(tab), []);
}

// Every question of a person has its screen, and every screen is accessible.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import type axe from "axe-core";
import { SCREENS, type Screen } from "./screens";
import { Tab, fileOf, serverOf } from "./studio";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core"), "utf8");

declare global {
  interface Window {
    readonly axe: typeof axe;
  }
}

async function shows(tab: Tab, { view, sees, reads = [] }: Screen): Promise<void> {
  await tab.go(view);
  for (const [role, name] of sees) await tab.sees(role, name);
  for (const text of reads) await tab.reads(text);
}

test("each question has its screen", async (t) => {
  const file = await fileOf(t, "visit", "monday", "article");
  const tab = await Tab.open(t, await serverOf(t, file), "#/");
  for (const screen of SCREENS) await t.test(screen.question, () => shows(tab, screen));
  tab.check();
});

/** The findings of axe-core, each with the elements that it is about. */
async function findings(tab: Tab): Promise<readonly string[]> {
  const { violations } = await tab.page.evaluate(() => window.axe.run());
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`));
}

const WIDTHS = [360, 720, 1440];

for (const colorScheme of ["light", "dark"] as const) {
  test(`axe-core has no finding in any screen, ${colorScheme}`, async (t) => {
    const file = await fileOf(t, "visit", "monday", "article");
    const tab = await Tab.open(t, await serverOf(t, file), "#/", { colorScheme, bypassCSP: true });
    await tab.page.evaluate(AXE);
    for (const { question, view } of SCREENS) {
      const front = /[?&]pane=|\/c\//.test(view) ? "&front=detail" : "";
      for (const width of WIDTHS) {
        await t.test(`${question} ${width} px`, async () => {
          await tab.page.setViewportSize({ width, height: 800 });
          await tab.go(view + front);
          await tab.settled();
          assert.deepEqual(await findings(tab), []);
          const wide = await tab.page.evaluate(() => document.documentElement.scrollWidth);
          assert.ok(wide <= width, `the page is ${wide} px wide`);
        });
      }
    }
    await t.test("all keys", async () => {
      await tab.press("?");
      await tab.sees("dialog", "Keys");
      assert.deepEqual(await findings(tab), []);
    });
  });
}

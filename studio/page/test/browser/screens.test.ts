// Every question of a person has its screen, and every screen is accessible.

import { test } from "node:test";
import { fileOf, serverOf } from "../served";
import { SCHEMES, accessible } from "./accessible";
import { SCREENS, type Screen } from "./screens";
import { Tab } from "./studio";

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

for (const colorScheme of SCHEMES) {
  test(`axe-core has no finding in any screen, ${colorScheme}`, async (t) => {
    const file = await fileOf(t, "visit", "monday", "article");
    await accessible(t, await serverOf(t, file), SCREENS.map(({ view }) => view), colorScheme);
  });
}

// Texts of a file are texts: whatever they are, no script runs, nothing is requested, and the layout holds.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileOf, serverOf, superstep } from "../served";
import { SCREENS } from "./screens";
import { Tab } from "./studio";

const SEEDS = [
  "<script>window.hacked=1</script>",
  "<img src=x onerror=window.hacked=1>",
  "<svg/onload=window.hacked=1>",
  "</title></style></script><script>window.hacked=1</script>",
  "<iframe srcdoc='<script>parent.hacked=1</script>'>",
  '"><a href="javascript:window.hacked=1">x</a>',
  "javascript:window.hacked=1",
  "https://example.com/a.png",
  "data:image/svg+xml,<svg onload='window.hacked=1'/>",
  "data:text/html,<script>window.hacked=1</script>",
  "{{constructor.constructor('window.hacked=1')()}}",
  "${window.hacked=1}",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "<secret>",
  "&lt;b&gt;&#x3c;script>",
  "%3Cscript%3E",
  "../../studio/api/session",
  "#token=stolen",
  "?token=stolen&pane=edit",
  "a/b\\c",
  "'; DROP TABLE threads; --",
  "x] [id=\"y\"].z",
  "\u202ereversed\u202d",
  "a\u200b\u200d\ufeffb",
  "e\u0301\u0302\u0303\u0304\u0305".repeat(20),
  "😀👩‍👩‍👧‍👦🏳️‍🌈",
  "שלום עולם",
  "日本語".repeat(60),
  "line\nbreak\ttab\u0000nul\u001b[31mred",
  "\u2028\u2029",
  " leading and trailing ",
  "-1",
  "1e999",
  "null",
  "word".repeat(500),
  "{\"a\": [1, {\"b\": 2}]}",
  "*bold* `code` [link](javascript:window.hacked=1)",
];

/** Each seed as it is, and in four surroundings: 200 strings. */
const STRINGS = SEEDS.flatMap((seed) => [seed, `"${seed}`, `a ${seed} z`, `</textarea>${seed}`, `${seed}\u202e${seed}`]);

/** Fails if a text became more than a text. */
async function isHarmless(tab: Tab): Promise<void> {
  const found = await tab.page.evaluate(() => ({
    hacked: "hacked" in window || "hacked" in {},
    elements: [...document.querySelectorAll("#studio :is(script, iframe, object, embed, base, form[action], img:not([src^='data:image/']))")].map((each) => each.outerHTML),
    links: [...document.querySelectorAll("#studio a")].map((each) => each.getAttribute("href") ?? "").filter((href) => !href.startsWith("#")),
    isTooWide: document.documentElement.scrollWidth > innerWidth,
  }));
  assert.deepEqual(found, { hacked: false, elements: [], links: [], isTooWide: false });
  tab.check();
}

test("200 hostile strings as values, keys and ids of a state, names of threads and of steps", async (t) => {
  assert.equal(new Set(STRINGS).size, 200);
  const file = await fileOf(t, "visit");
  const facts = STRINGS.map((text) => ({ id: text, text, condition: null, [text]: text }));
  await superstep("edit", file, "visit", "--set", `facts=${JSON.stringify(facts)}`, "--set", `answer=${JSON.stringify("long line ".repeat(6_000))}`);
  const isName = (text: string) => /\p{L}/u.test(text) && !/\p{Cc}|\u2028|\u2029/u.test(text);
  const names = SEEDS.filter(isName);
  for (const name of names) {
    await superstep("fork", file, "visit@6", "--name", name).catch((error: Error) => assert.match(error.message, /error: /));
  }
  const tab = await Tab.open(t, await serverOf(t, file), "#/");
  await tab.settled();
  await isHarmless(tab);
  for (const pane of ["state", "diff", "blame", "why", "edit", "export", "run", "tasks"]) {
    await tab.go(`#/t/visit?pane=${pane}&front=detail&path=facts`);
    await tab.settled();
    await isHarmless(tab);
  }
  await tab.go(`#/?pane=search&find=hacked`);
  await tab.settled();
  await isHarmless(tab);
  for (const name of names) {
    await tab.go(`#/t/${encodeURIComponent(name)}`);
    await tab.settled();
    await isHarmless(tab);
  }
});

/** The names and texts of the exported threads that are replaced. */
const REPLACED = ["evaluate", "write", "look_up", "Typed graphs: draft 1", "score", "facts", "answer", "except Mondays", "When can I visit the museum?", "Publish", "Shorten", "replies"];

test("200 hostile strings as nodes, fields, cases, questions, errors and whatever else the program sends", async (t) => {
  const file = await fileOf(t, "visit", "article");
  const tab = await Tab.open(t, await serverOf(t, file), "#/");
  let replaced = new Map<string, string>();
  await tab.page.route(/\/studio\/api\/(?!events)/, async (route) => {
    const response = await route.fetch();
    const text = [...replaced].reduce((body, [from, to]) => body.replaceAll(`"${from}"`, JSON.stringify(to)), await response.text());
    await route.fulfill({ response, body: text });
  });
  const views = SCREENS.map(({ view }) => view).filter((view) => /t\/(visit|article)/.test(view));
  for (let at = 0; at < STRINGS.length; at += REPLACED.length) {
    replaced = new Map(REPLACED.map((name, offset) => [name, STRINGS[(at + offset) % STRINGS.length] ?? ""]));
    await tab.page.reload();
    // Each string is in each screen once in a while.
    for (const view of views.filter((each, position) => (position + at / REPLACED.length) % 4 === 0 || each.endsWith("/visit"))) {
      await tab.go(view);
      await tab.settled();
      await isHarmless(tab);
    }
  }
});

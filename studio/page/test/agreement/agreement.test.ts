// The page agrees with the command line: its model, without a browser, on files of random runs.
//
// `AGREEMENT_FILES` is the number of files, and `AGREEMENT_SEED` the first seed.

import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { aligned, figures, firstDivergence } from "../../src/model/alignment";
import { differences } from "../../src/model/difference";
import { Judging } from "../../src/model/judging";
import { authorWords, chainOf } from "../../src/model/lineage";
import { Studio } from "../../src/model/studio";
import { type Side, type TreeRow, keyOf, treeRows } from "../../src/model/tree";
import { shown, shownNode } from "../../src/model/words";
import { Client } from "../../src/wire/client";
import { type Author, type Difference, type Line, type Row, type Show, log } from "../../src/wire/documents";
import { clock } from "../../src/wire/events";
import { type Json, isObject, print } from "../../src/wire/json";
import * as requests from "../../src/wire/requests";
import { Dice } from "../dice";
import { program, randomFiles, serverOf } from "../served";
import { Known, scrolled } from "./known";

const COUNT = Number(process.env["AGREEMENT_FILES"] ?? 25);
const FIRST = Number(process.env["AGREEMENT_SEED"] ?? 0);

test(`the page agrees with the command line on ${COUNT} random files`, { concurrency: 2 }, async (t) => {
  const folder = await randomFiles(t, COUNT, FIRST);
  const totals = { checkpoints: 0, documents: 0 };
  await Promise.all(
    Array.from({ length: COUNT }, (_, at) =>
      t.test(`seed ${FIRST + at}`, async (each) => {
        const found = await agrees(each, join(folder, `${FIRST + at}.db`), new Dice(FIRST + at));
        totals.checkpoints += found.checkpoints;
        totals.documents += found.documents;
      }),
    ),
  );
  t.diagnostic(`${COUNT} files, ${totals.checkpoints} checkpoints, ${totals.documents} documents`);
  assert.ok(totals.checkpoints > COUNT * 5, "the files are not empty");
});

async function agrees(t: TestContext, file: string, dice: Dice): Promise<{ checkpoints: number; documents: number }> {
  const server = await serverOf(t, file);
  let documents = 0;
  const token = new URL(server.address).hash.slice("#token=".length);
  const client = new Client(`${server.origin}/studio/api`, token, (input, init) => ((documents += 1), fetch(input, init)));
  const known = new Known(program, file, client);
  const { threads } = await known.document(requests.threads(0, 100), "--tokens", "-n", "100");
  let checkpoints = 0;
  for (const { name, thread } of threads) {
    const rows = await timeline(known, name ?? thread);
    checkpoints += rows.length;
    const states = await stateAndDifferences(known, rows, dice);
    await authors(known, rows, dice);
    await reasons(known, rows, dice);
    await bisections(known, rows, states, dice);
    await comparisons(known, rows, threads.map((other) => other.head), states, dice);
  }
  return { checkpoints, documents };
}

async function timeline(known: Known, thread: string): Promise<readonly Row[]> {
  const fragment = `#/t/${encodeURIComponent(thread)}`;
  const studio = new Studio(known.client, { fragment: () => fragment, push: () => {}, replace: () => {} }, clock);
  const rows = await scrolled(studio);
  studio.stop();
  const { checkpoints } = log(await known.json("log", thread, "--graph", "-n", "0"), "");
  assert.deepEqual(rows, checkpoints, `the timeline of ${thread}`);
  return rows;
}

type States = ReadonlyMap<string, Show>;

/** The states as trees and the differences, which the page computes from two states. */
async function stateAndDifferences(known: Known, rows: readonly Row[], dice: Dice): Promise<States> {
  const states = new Map<string, Show>();
  for (const { id } of rows) {
    const shown = await known.client.get(requests.show(id));
    assert.ok(shown.ok, JSON.stringify(shown));
    states.set(id, shown.value);
  }
  for (const { id, parent } of some(rows, 8, dice)) {
    const { state, changed } = await known.document(requests.show(id), id);
    const { state: found } = await known.document(requests.diff(id), id);
    const before = parent === undefined ? null : (states.get(parent)?.state ?? null);
    assert.deepEqual(rebuilt(tree(state, before, "after", changed), state, "after"), state, `the state of ${id}`);
    if (before === null) continue;
    assert.deepEqual(open(differences(before, state)), open(found), `the difference of ${id}`);
    assert.deepEqual(rebuilt(tree(state, before, "before", changed), before, "before"), before, `the state before ${id}`);
    const marked = tree(state, before, "after", changed).filter(({ mark }) => mark === "added" || mark === "removed" || mark === "changed");
    // A secret that was written again as it was is marked, too, and so is a text that looks like one.
    const isKnown = ({ path }: { readonly path: string }) => !(isObject(state) && state[path] === "<secret>" && changed.includes(path));
    const marks = marked.filter(isKnown).map(({ mark, path }) => `${mark} ${path}`);
    const edits = found.filter((each) => each.edit !== "reordered" && isKnown(each)).map(({ edit, path }) => `${edit} ${path}`);
    assert.deepEqual(marks.sort(), edits.sort(), `the marks of ${id}`);
  }
  return states;
}

/** The page cannot tell two values of a secret apart: it takes them from the fields that the step changed. */
function open(found: readonly Difference[]): readonly Difference[] {
  return found.filter(({ path }) => path !== "token");
}

/** Returns all rows of a tree: each part is open. */
function tree(after: Json, before: Json | null, side: Side, changed: readonly string[]): readonly TreeRow[] {
  const opened = new Map<string, boolean>();
  for (;;) {
    const rows = treeRows({ after, before, side, changed, opened, selected: null });
    const closed = rows.filter(({ hasRows, isOpen }) => hasRows && !isOpen);
    if (closed.length === 0) return rows;
    for (const { path, mark } of closed) opened.set(keyOf(path, mark), true);
  }
}

/** Returns the value of which these are the rows. What the step removed is a part of the state before it. */
function rebuilt(rows: readonly TreeRow[], whole: Json, side: Side): Json {
  let at = 0;
  const value = (like: Json, level: number): Json => {
    if (!Array.isArray(like) && !isObject(like)) return like;
    const parts: [string, Json][] = [];
    for (let row = rows[at]; row !== undefined && row.level === level; row = rows[at]) {
      at += 1;
      const part = value(row.value, level + 1);
      if (side === "before" || row.mark !== "removed") parts.push([row.label, part]);
    }
    return Array.isArray(like) ? parts.map(([, part]) => part) : Object.fromEntries(parts);
  };
  return value(whole, 1);
}

/** The author of a value in the words of the command line, which names each task of a node. */
function names(author: Author): string {
  return author.tasks.length > 1 ? author.tasks.map(([, node]) => shownNode(node)).join(", ") : authorWords(author);
}

/** Who wrote each part, in the words of the command line. */
async function authors(known: Known, rows: readonly Row[], dice: Dice): Promise<void> {
  for (const { id } of some(rows, 3, dice)) {
    const { parts } = await known.document(requests.blame(id, "."), id, ".");
    const lines = (await known.text("blame", id, ".")).split("\n").slice(1).values();
    for (const { path, author, overwrote } of parts) {
      const line = lines.next().value ?? "";
      assert.match(line, new RegExp(`^ *${author.step}  `), line);
      assert.ok(line.includes(`  ${author.checkpoint.slice(-8)}  ${names(author)}  `) && line.includes(shown(path)), `${names(author)} in ${line}`);
      if (overwrote === undefined) continue;
      const second = lines.next().value ?? "";
      assert.ok(second.includes(` overwrote what ${names(overwrote.author)} wrote at step ${overwrote.author.step}`), `${names(overwrote.author)} in ${second}`);
    }
  }
}

/** Why each node ran, in the words of the command line, and where the links of its chain lead. */
async function reasons(known: Known, rows: readonly Row[], dice: Dice): Promise<void> {
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const row of some(rows, 5, dice)) {
    for (const node of new Set([...row.ran, ...row.next])) {
      const document = await known.agreed(requests.why(row.id, node), row.id, node);
      if (document === null) continue;
      const { links, origin } = chainOf(document, row);
      const words = links.flatMap(({ step, tasks }) => [`step ${step}`, ...tasks.map(({ node, by }) => `  ${shownNode(node)} by ${by.join(", and by ")}`)]);
      const printed = (await known.text("why", row.id, node)).replace(/\n$/, "").split("\n");
      assert.deepEqual(words, printed.map((line) => line.replace(/^(step -?\d+), planned on .*$/, "$1")), `why ${node} at ${row.id}`);
      for (const { checkpoint, isPlanned, step, tasks } of links) {
        const to = byId.get(checkpoint);
        assert.ok(to !== undefined, `${checkpoint} is in the timeline`);
        const known = isPlanned ? to.next : to.ran;
        assert.ok(isPlanned || to.step === step, `${row.id} ${node}: the link of step ${step} leads to step ${to.step}`);
        assert.ok(tasks.every(({ node }) => known.includes(node)), `${row.id} ${node}: step ${step} of ${tasks.map(({ node }) => node).join()} leads to ${checkpoint}: ${print([...known])}`);
      }
      assert.equal(origin?.checkpoint, document.steps.at(-1)?.planned_on);
    }
  }
}

/** The first step where a condition holds, and the search by marks that a person would set by it. */
async function bisections(known: Known, rows: readonly Row[], states: States, dice: Dice): Promise<void> {
  for (const { id } of some(rows, 3, dice)) {
    const limit = dice.below(8);
    const conditions: readonly (readonly [path: string, is: string])[] = [["rounds", `> ${limit}`], ["log", `>= ${limit}`], ["data", "exists"], ["data.a", "= 1"], ["items[id=\"i1\"]", "missing"], ["rounds", "~ x"]];
    for (const [path, is] of conditions) {
      const given = [id, "--path", path, "--is", is];
      await known.agreed(requests.bisect(id, path, is), ...given);
      await known.agreed(requests.bisect(id, path, is, true), ...given, "--linear");
    }
    const found = await known.agreed(requests.bisect(id, "rounds", `> ${limit}`, true), id, "--path", "rounds", "--is", `> ${limit}`, "--linear");
    const past = pastOf(rows, id);
    const isBad = (line: Line) => roundsOf(states.get(line.id)) > limit;
    const [oldest, newest] = [past.at(-1), past[0]];
    if (oldest === undefined || newest === undefined || isBad(oldest) || !isBad(newest)) continue;
    const judged = await judgedBy(isBad, oldest.id, newest.id, new Judging(known.client));
    const at = past.findIndex((line) => line.id === judged.id);
    const [here, before] = [past[at], past[at + 1]];
    assert.ok(here !== undefined && before !== undefined && isBad(here) && !isBad(before), `the judged step ${judged.id}`);
    const turns = past.filter((line, position) => isBad(line) !== isBad(past[position + 1] ?? line)).length;
    if (turns === 1) assert.equal(judged.id, found?.checkpoint?.id);
  }
}

/** Judges steps by a condition until the first bad one is found. */
async function judgedBy(isBad: (line: Line) => boolean, good: string, bad: string, judging: Judging): Promise<Line> {
  for (;;) {
    const judgement = await judging.between(good, bad);
    if (judgement.is === "found") return judgement.step;
    assert.equal(judgement.is, "next");
    assert.ok(judgement.is === "next");
    if (isBad(judgement.step)) bad = judgement.step.id;
    else good = judgement.step.id;
  }
}

function roundsOf(shown: Show | undefined): number {
  const state = shown?.state ?? null;
  return isObject(state) ? Number(state["rounds"] ?? 0) : 0;
}

/** Returns a checkpoint and those before it, newest first. */
function pastOf(rows: readonly Row[], id: string): readonly Row[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const past: Row[] = [];
  for (let row = byId.get(id); row !== undefined; row = row.parent === undefined ? undefined : byId.get(row.parent)) past.push(row);
  return past;
}

/** Two branches: their steps beside each other, their figures and the differences of their states. */
async function comparisons(known: Known, rows: readonly Row[], heads: readonly string[], states: States, dice: Dice): Promise<void> {
  const others = [...heads, ...some(rows, 2, dice).map(({ id }) => id)];
  for (const { id } of some(rows, 2, dice)) {
    for (const other of others) {
      const document = await known.document(requests.compare(id, other), id, other);
      const { a, b, state } = document;
      const steps = aligned(a.own, b.own);
      const side = (of: "a" | "b") => steps.flatMap((row) => row[of] ?? []);
      assert.deepEqual([side("a"), side("b")], [a.own, b.own], "each step is there once, in order");
      const deed = ({ source, ran, changed, next }: Line) => [source, ...[ran, changed, next].map((names) => [...names].sort())];
      for (const { a, b, isSame } of steps) assert.equal(isSame, a !== null && b !== null && print(deed(a) as Json) === print(deed(b) as Json));
      assert.equal(firstDivergence(steps) ?? steps.length, steps.filter(({ isSame }, at) => isSame && steps.slice(0, at).every((row) => row.isSame)).length);
      const byName = new Map(figures(document).map((figure) => [figure.name, [figure.a, figure.b]]));
      assert.deepEqual(byName.get("Steps"), [a.own.length, b.own.length]);
      assert.deepEqual(byName.get("Tokens out") ?? [0, 0], [a.used?.output_tokens ?? 0, b.used?.output_tokens ?? 0]);
      const [left, right] = [states.get(id)?.state, states.get(other)?.state];
      if (left === undefined || right === undefined) continue;
      assert.deepEqual(open(differences(left, right)), open(state), `the difference of ${id} and ${other}`);
    }
  }
}

/** Returns so many rows, or all if there are fewer. */
function some(rows: readonly Row[], count: number, dice: Dice): readonly Row[] {
  const left = [...rows];
  return Array.from({ length: Math.min(count, left.length) }, () => left.splice(dice.below(left.length), 1)).flat();
}

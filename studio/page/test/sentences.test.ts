import assert from "node:assert/strict";
import { test } from "node:test";
import { nextOf, nodesFor } from "../src/model/cases";
import { type Plan, nameProblem, planWords } from "../src/model/storing";
import { differenceWords, placeWords, unverifiedWords, verdictOf } from "../src/model/replaying";
import { excerptOf, grouped, placeOf } from "../src/model/search";
import { questionWords, standingOf } from "../src/model/standing";
import * as shapes from "../src/wire/documents";
import type { Json } from "../src/wire/json";

const PLAN: Plan = { verb: "fork", file: "museum.db", thread: "visit", row: { step: 6, next: ["evaluate"] }, isHead: false, name: null, open: 0, as: null };

test("what will be stored", () => {
  assert.deepEqual(planWords(PLAN), [
    "A copy of step 6 becomes the latest checkpoint of visit, on a new branch. The steps after step 6 stay on theirs.",
    "Next is evaluate, without unfinished work: it runs, and asks, again.",
  ]);
  assert.match(planWords({ ...PLAN, name: "monday" })[0] ?? "", /^A new thread monday begins at step 6 of visit, with its past\. visit does not change\.$/);
  const edit: Plan = { ...PLAN, verb: "edit", isHead: true, open: 2 };
  assert.deepEqual(planWords(edit), ["The edited state becomes step 7 of visit, on top of step 6.", "Next is still evaluate, with its results, effects and answers."]);
  assert.match(planWords({ ...edit, name: "other" }).join(" "), /without unfinished work/);
  assert.match(planWords({ ...PLAN, open: 2 }).join(" "), /2 open questions of the former latest step can no longer be answered/);
  assert.doesNotMatch(planWords({ ...PLAN, open: 2, name: "other" }).join(" "), /answered\./);
  assert.match(planWords({ ...edit, as: "review" }).join(" "), /The nodes that follow review are next/);
});

test("a thread's name has a letter and no control characters", () => {
  assert.equal(nameProblem("monday"), null);
  assert.equal(nameProblem("Ä"), null);
  for (const name of ["", " ", "12", "a\nb", "a\u0000"]) assert.ok(nameProblem(name), JSON.stringify(name));
});

const head = (more: { [name: string]: Json }) =>
  shapes.show({ id: "c", thread: "t", step: 4, source: "loop", at: "", run: "", ran: [], next: [], changed: [], graph: "g", state: {}, tasks: [], next_tasks: [], ...more }, "");

test("what a thread is doing", () => {
  const task = (status: string): Json => ({ node: "review", id: "1", status, error: { kind: "panic", message: "boom" } });
  const lease = (over: boolean): Json => ({ holder: "worker", until: "", over, fence: 1 });
  const question = { id: "q", node: "review", question: "?" };
  assert.deepEqual(standingOf(head({})), { tone: "good", words: "Finished at step 4.", isRunning: false, canResume: false });
  const failed = standingOf(head({ next: ["review"], next_tasks: [task("failed")] }));
  assert.deepEqual([failed.tone, failed.words, failed.canResume], ["bad", "review failed after step 4: boom", true]);
  const waiting = standingOf(head({ next: ["review"], next_tasks: [task("waiting")], questions: [question] }));
  assert.deepEqual([waiting.tone, waiting.words, waiting.canResume], ["wait", "Waiting for 1 answer after step 4.", false]);
  assert.equal(standingOf(head({ next: ["review"], next_tasks: [task("waiting"), task("planned")], questions: [question] })).canResume, true);
  const running = standingOf(head({ next: ["review"], next_tasks: [task("planned")], lease: lease(false) }));
  assert.deepEqual([running.tone, running.isRunning, running.canResume], ["run", true, false]);
  assert.match(standingOf(head({ next: ["review"], next_tasks: [task("planned")], lease: lease(true) })).words, /The lease of worker has expired/);
});

test("what became of a thread after an answer", () => {
  const asks = (...ids: string[]) => head({ next: ["review"], next_tasks: [{ node: "review", id: "1", status: "waiting" }], questions: ids.map((id) => ({ id, node: "review", question: "?" })) });
  assert.equal(questionWords("t", head({})), "No question is open on t.");
  assert.equal(questionWords("t", asks("a")), "1 open question on t");
  assert.equal(questionWords("t", asks("a"), ["a"], ["a"]), "The answer is stored, and the thread continues.");
  assert.equal(questionWords("t", asks("b"), ["a"], ["a", "b"]), "The answer is stored. 1 open question on t");
  assert.equal(questionWords("t", asks("b"), ["a"], ["a"]), "Answered. The thread asks again: 1 open question on t");
  assert.equal(questionWords("t", head({}), ["a"], ["a"]), "The answer is stored. Finished at step 4.");
});

const replay = (more: { [name: string]: Json }) => shapes.replay({ thread: "t", checkpoint: "c", supersteps: 0, divergent: 0, first: null, unverified: [], other_topology: false, ...more }, "");

test("the result of a replay", () => {
  assert.deepEqual(verdictOf(replay({})), { tone: "plain", words: "There is nothing to replay: no superstep led to this step." });
  assert.equal(verdictOf(replay({ supersteps: 22 })).words, "Equal: 22 supersteps came out as recorded.");
  const difference = { kind: "value", path: "tasks[0].writes[0].write.op.set", field: "score", recorded: 3, replayed: 0 };
  const other = replay({ supersteps: 15, divergent: 7, first: { thread: "t", path: ["inner"], checkpoint: "c", step: 9, node: "evaluate", difference } });
  assert.equal(verdictOf(other).words, "Different: 7 of 22 supersteps came out otherwise.");
  assert.ok(other.first !== null && other.first !== undefined);
  assert.equal(placeWords({ ...other.first, node: other.first.node ?? null }), "Step 9 of inner, node evaluate");
  assert.equal(differenceWords(other.first.difference), "Field score came out otherwise, at tasks[0].writes[0].write.op.set.");
});

test("each kind of difference has its sentence", () => {
  const words = (difference: Json) => differenceWords(shapes.replayDifference(difference, ""));
  assert.equal(words({ kind: "effect_not_recorded", effect: "search", key: "a", recorded_key: "b" }), 'The code reached effect search with key "a", which is recorded as effect search with key "b". It did not run.');
  assert.equal(words({ kind: "effect_not_recorded", effect: "search", key: "", recorded_key: null }), "The code reached effect search, which is not recorded. It did not run.");
  assert.equal(words({ kind: "effect_not_reached", effect: "search", key: "" }), "Effect search is recorded, and the code did not reach it.");
  assert.equal(words({ kind: "question", key: "0", question: "Publish?" }), 'The code asked "Publish?", and no answer to it is recorded.');
  assert.equal(words({ kind: "failed", error: { kind: "panic", message: "boom", causes: ["why"] } }), "It failed: boom: why");
  assert.equal(words({ kind: "not_runnable", reason: "no node x" }), "The superstep cannot be run: no node x");
  assert.match(words({ kind: "schema" }), /another schema/);
  assert.throws(() => words({ kind: "other" }));
  assert.equal(unverifiedWords({ error: { effect: "search" } }), "effect search failed, with an error that cannot be made again");
  assert.equal(unverifiedWords("cached"), "its outcome came from the cache");
  assert.equal(unverifiedWords({}), "for an unknown reason");
});

test("matches are grouped by thread, and shown around what matches", () => {
  const match = (thread: string, more: { [name: string]: Json } = {}): Json => ({ thread, checkpoint: "c", step: 1, place: "state", path: "a", part: "value", text: "x", match: "x", ...more });
  const { matches } = shapes.grep({ matches: [match("a"), match("b"), match("a"), match("id", { name: "a/sub#1" })] }, "");
  const effects = shapes.grep({ matches: [match("a", { place: "effect", name: "look_up" })] }, "").matches;
  assert.deepEqual(grouped(effects).map(({ thread }) => thread), ["a"], "the name of the effect");
  assert.deepEqual(grouped(matches).map(({ thread, matches: all }) => [thread, all.length]), [["a", 2], ["b", 1], ["a/sub#1", 1]]);
  const long = excerptOf({ text: `${"a ".repeat(100)}NEEDLE${" b".repeat(500)}`, match: "NEEDLE" });
  assert.ok(long.before.startsWith("…") && long.before.length < 70 && long.after.endsWith("…"));
  assert.equal(long.before.length + long.match.length + long.after.length < 250, true);
  const whole = "one\ntwo \u202e three";
  const { before, match: found, after } = excerptOf({ text: whole, match: "two" });
  assert.equal(before + found + after, "one two \\u{202e} three");
  const huge = excerptOf({ text: "x".repeat(10_000), match: "x".repeat(10_000) });
  assert.ok(huge.match.length < 250 && huge.after === "");
  const emoji = excerptOf({ text: "😀".repeat(400), match: "😀".repeat(3) });
  assert.doesNotMatch(emoji.before + emoji.match + emoji.after, /[\ud800-\udbff](?![\udc00-\udfff])/);
});

test("each match leads to the pane that shows it", () => {
  const decoded = (more: { [name: string]: Json }) => {
    const [match] = shapes.grep({ matches: [{ thread: "t", checkpoint: "c", step: 1, part: "value", text: "x", match: "x", ...more }] }, "").matches;
    assert.ok(match !== undefined);
    return placeOf(match);
  };
  assert.deepEqual(decoded({ place: "state", path: "a.b" }), { words: "a.b", pane: "state", path: "a.b" });
  assert.deepEqual(decoded({ place: "answer", node: "review" }), { words: "answer to review", pane: "tasks" });
});

test("nodes that can be played, those that are next first, with their cases", () => {
  const node = (name: string, cases: string[], onError = false): Json => ({ name, defer: false, edges: [], decisions: cases.length === 0 ? [] : [{ cases: cases.map((each): Json => ({ case: each, to: [], each: [] })), may_reach: [], on_error: onError }] });
  const graph = {
    name: "g",
    joins: [],
    nodes: [node("__start__", []), node("__end__", []), node("write", []), node("review", ["Accept", "Reject"]), node("retry", ["Give up"], true)],
  };
  const stored = JSON.parse(JSON.stringify(graph));
  assert.deepEqual(nodesFor(stored, ["review"]), [
    { node: "review", cases: ["Accept", "Reject"] },
    { node: "write", cases: [] },
    { node: "retry", cases: [] },
  ]);
  assert.equal(nextOf([]), "No node is next.");
  assert.equal(nextOf(["a", "a", "__end__"]), "Next is a ×2, END.");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { authorWords, chainOf, viaWords } from "../src/model/lineage";
import { promptOf, earlierCalls } from "../src/model/usage";
import type { Row, Why } from "../src/wire/documents";
import { ROW } from "./row";

const why: Why = {
  steps: [
    { step: 2, planned_on: "one", tasks: [{ task: 0, node: "write", by: [{ via: "edge", task: 0, node: "look_up" }] }] },
    { step: 1, planned_on: "zero", tasks: [{ task: 0, node: "look_up", by: [{ via: "edge", task: 0, node: "__start__" }] }] },
    { step: 0, planned_on: "input", tasks: [{ task: 0, node: "__start__", by: [{ via: "input" }] }] },
  ],
};

test("each link of a chain leads to the checkpoint that it made", () => {
  const { links, origin } = chainOf(why, { id: "two", next: [] });
  assert.deepEqual(
    links.map(({ step, checkpoint, isPlanned }) => [step, checkpoint, isPlanned]),
    [
      [2, "two", false],
      [1, "one", false],
      [0, "zero", false],
    ],
  );
  assert.deepEqual(origin, { checkpoint: "input", is: "input" });
});

test("a task that is next leads to the checkpoint on which it is planned", () => {
  const [link] = chainOf(why, { id: "one", next: ["write"] }).links;
  assert.deepEqual([link?.checkpoint, link?.isPlanned], ["one", true]);
});

test("a task that an edit kept is next at the edit, and was planned before it", () => {
  const { links } = chainOf(why, { id: "edit", next: ["write"] });
  assert.deepEqual(
    links.map(({ checkpoint, isPlanned }) => [checkpoint, isPlanned]),
    [
      ["edit", true],
      ["one", false],
      ["zero", false],
    ],
  );
});

test("a chain whose beginning was pruned says so", () => {
  const cut = { steps: why.steps.slice(0, 1) };
  assert.equal(chainOf(cut, { id: "two", next: [] }).origin?.is, "pruned");
  assert.deepEqual(chainOf({ steps: [] }, null), { links: [], origin: null });
});

test("the same cause of several tasks is said once", () => {
  const by = [
    { via: "join", task: 0, node: "pack" },
    { via: "join", task: 1, node: "pack" },
    { via: "join", task: 2, node: "write" },
  ] as const;
  const [link] = chainOf({ steps: [{ step: 3, planned_on: "two", tasks: [{ task: 0, node: "close", by: [...by] }] }] }, { id: "three", next: [] }).links;
  assert.deepEqual(link?.tasks[0]?.by, ["a join that pack completed", "a join that write completed"]);
});

test("causes and authors have the words of the command line", () => {
  assert.equal(viaWords({ via: "decision", task: 0, node: "evaluate", case: "Shorten" }), "the route evaluate → Shorten");
  assert.equal(viaWords({ via: "decision", task: 0, node: "evaluate" }), "a branch of evaluate");
  assert.equal(viaWords({ via: "each", task: 0, node: "plan", case: "Pack", index: 2 }), "item 2 of plan → Pack");
  assert.equal(viaWords({ via: "deferred", nodes: ["a", "b"] }), "its turn after a, b");
  const author = { checkpoint: "c", step: 1, source: "loop" } as const;
  assert.equal(authorWords({ ...author, tasks: [[0, "write"]] }), "write");
  assert.equal(authorWords({ ...author, tasks: [[0, "pack"]], item: { city: "Oslo" } }), 'pack {city: "Oslo"}');
  assert.equal(authorWords({ ...author, tasks: [[0, "pack"], [1, "pack"], [2, "write"]] }), "pack ×2, write");
  assert.equal(authorWords({ ...author, source: "input", tasks: [[0, "__start__"]] }), "input");
  assert.equal(authorWords({ ...author, source: "update", tasks: [] }), "edit");
});

test("the prompt of a call is the recorded one, or the state before the call", () => {
  const call = { thread: "t", name: "model", input_tokens: 1, output_tokens: 1, response: null };
  assert.deepEqual(promptOf({ ...call, request: {} }, "parent"), { is: "recorded" });
  assert.deepEqual(promptOf({ ...call, planned_on: "inner", subgraph: "t/s#1" }, "parent"), { is: "state", checkpoint: "inner" });
  assert.deepEqual(promptOf(call, "parent"), { is: "state", checkpoint: "parent" });
  assert.deepEqual(promptOf({ ...call, subgraph: "t/s#1" }, "parent"), { is: "unknown" });
});

test("the call before is on the same branch", () => {
  const used = { model_calls: 1, input_tokens: 1, output_tokens: 1, elapsed_ms: 1 };
  const row = (id: string, parent?: string, calls = false): Row => ({
    ...ROW,
    id,
    ...(parent !== undefined && { parent }),
    ...(calls && { used }),
  });
  const rows = [row("e", "c"), row("d", "b", true), row("c", "b"), row("b", "a"), row("a", undefined, true)];
  assert.equal(earlierCalls(rows[0] ?? null, rows)?.id, "a");
  assert.equal(earlierCalls(rows[0] ?? null, rows.slice(0, 2)), null);
  assert.equal(earlierCalls(null, rows), null);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { shared } from "../src/model/share";
import { Numeral } from "../src/wire/json";

test("equal parts keep their identity", () => {
  const before = { nodes: [{ name: "a", at: [1, 2] }, { name: "b" }], runs: [1], gone: true };
  const after = { nodes: [{ name: "a", at: [1, 2] }, { name: "b" }], runs: [2] };
  const both = shared(before, after);
  assert.deepEqual(both, after);
  assert.equal(both.nodes, before.nodes);
  assert.equal(shared(before, structuredClone(before)), before);
});

test("different values are never taken for equal", () => {
  const pairs: [unknown, unknown][] = [
    [[1, 2], [1]],
    [{ a: 1 }, { b: 1 }],
    [{ a: undefined }, {}],
    [[], {}],
    [{ 0: "x" }, ["x"]],
    [null, {}],
    [new Numeral("1.0"), new Numeral("1.00")],
    [{ a: { b: 1 } }, { a: { b: "1" } }],
  ];
  for (const [before, after] of pairs) assert.deepEqual(shared(before, after), after);
});

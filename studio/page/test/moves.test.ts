import assert from "node:assert/strict";
import { test } from "node:test";
import { moved } from "../src/model/moves";
import type { Row } from "../src/wire/documents";
import { ROW } from "./row";

const row = (id: string, parent: string | null, lane: number): Row => ({
  ...ROW,
  id,
  ...(parent !== null && { parent }),
  lane,
});

// e is a branch of b; d and c are the branch of the first lane.
const ROWS = [row("e", "b", 0), row("d", "c", 1), row("c", "b", 1), row("b", "a", 0), row("a", "z", 0)].map(
  (each, at) => [at, each] as const,
);

test("steps follow the branch, not the rows", () => {
  assert.equal(moved(ROWS, 1, "older"), "c");
  assert.equal(moved(ROWS, 0, "older"), "b");
  assert.equal(moved(ROWS, 3, "newer"), "e");
  assert.equal(moved(ROWS, 2, "newer"), "d");
  assert.equal(moved(ROWS, 0, "newer"), null);
  assert.equal(moved(ROWS, 4, "older"), "z", "a parent need not have been read");
});

test("branches are to the left and to the right", () => {
  assert.equal(moved(ROWS, 0, "branchRight"), "d");
  assert.equal(moved(ROWS, 2, "branchLeft"), "b");
  assert.equal(moved(ROWS, 0, "branchLeft"), null);
});

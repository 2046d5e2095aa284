import assert from "node:assert/strict";
import { test } from "node:test";
import { averageOf, executionTo, pairName } from "../src/model/execution";
import { arrows } from "../src/model/topology";
import type { Row } from "../src/wire/documents";
import { graph } from "../src/wire/graph";
import { parse } from "../src/wire/json";
import { ROW } from "./row";

const DOCUMENT = `{"name": "essay", "nodes": [
  {"name": "__start__", "defer": false, "edges": ["plan"], "decisions": []},
  {"name": "__end__", "defer": false, "edges": [], "decisions": []},
  {"name": "plan", "defer": false, "edges": [], "decisions": [
    {"cases": [{"case": "Write", "to": ["write"], "each": ["look"]}, {"case": "Stop", "to": [], "each": []}], "may_reach": ["look"], "on_error": false},
    {"cases": [{"case": "Lost", "to": ["write"], "each": []}], "may_reach": [], "on_error": true}]},
  {"name": "look", "defer": false, "edges": ["elsewhere"], "decisions": [], "subgraph": {"name": "inner", "nodes": [
    {"name": "__start__", "defer": false, "edges": [], "decisions": []}], "joins": []}},
  {"name": "write", "defer": true, "edges": [], "decisions": []}],
  "joins": [{"sources": ["look", "plan"], "target": "write"}],
  "drawing": {"width": 1, "height": 1, "nodes": [
    {"layer": 0, "x": 0, "y": 0, "width": 1, "height": 1, "inner": {"width": 1, "height": 1, "nodes": [], "edges": []}}],
    "edges": [{"from": 0, "to": 2, "back": false, "points": [[0, 0], [1, 1]]}]},
  "runs": [{"path": ["look", "__start__"], "runs": 2}]}`;

test("edges come in the order of the drawing, with their conditions", () => {
  const read = graph(parse(DOCUMENT), "");
  const names = arrows(read).map(({ from, to, condition, label }) => `${read.nodes[from]?.name} ${condition} ${label} ${read.nodes[to]?.name}`);
  assert.deepEqual(names, [
    "__start__ always  plan",
    "plan case Write write",
    "plan each each Write look",
    "plan case Stop __end__",
    "plan perhaps  look",
    "plan error on error: Lost write",
    "look join  write",
    "plan join  write",
  ]);
  assert.equal(read.nodes[3]?.subgraph?.name, "inner");
  assert.deepEqual(read.drawing.nodes[0]?.inner?.edges, []);
});

const row = (id: string, parent: string | null, ran: string[], next: string[]): Row => ({
  ...ROW,
  id,
  ...(parent !== null && { parent }),
  ran,
  next,
  took_ms: 10,
});

test("the executed path follows the branch of the selected step", () => {
  const rows = [
    row("e", "b", ["other"], []),
    row("d", "c", ["write"], []),
    row("c", "b", ["look", "look"], ["write"]),
    row("b", "a", ["plan"], ["look", "look"]),
    row("a", null, ["__start__"], ["plan"]),
  ];
  const execution = executionTo(rows[1] ?? null, rows);
  const { nodes, pairs, latestPairs } = execution;
  assert.deepEqual([...nodes].map(([name, { runs, took_ms }]) => `${name} ${runs} ${took_ms}`), ["write 1 10", "look 2 10", "plan 1 10", "__start__ 1 10"]);
  assert.deepEqual([...pairs].sort(), [pairName("__start__", "plan"), pairName("look", "write"), pairName("plan", "look"), pairName("write", "__end__")].sort());
  assert.deepEqual([...latestPairs], [pairName("look", "write"), pairName("write", "__end__")]);
  assert.equal(averageOf(execution, "look"), 10);
  assert.equal(averageOf(execution, "other"), null);
  assert.equal(executionTo(null, rows).nodes.size, 0);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { Mismatch, list, number, object, tagged, text } from "../src/wire/decode";
import * as shapes from "../src/wire/documents";
import { parse } from "../src/wire/json";

const LINE = {
  id: "01a21df9-5c24-747d-b24d-519318f0cc40",
  thread: "visit",
  step: 8,
  source: "loop",
  at: "2026-11-27T17:06:51.044Z",
  run: "01a21df9-5c0c-74a2-a852-bb89ce75fdf8",
  ran: ["write"],
  next: ["evaluate"],
  changed: ["answer"],
};

test("a mismatch names its place", () => {
  const decode = object({ rows: list(object({ step: number })) });
  const wrong = { rows: [{ step: 1 }, { step: "two" }] };
  assert.throws(() => decode(wrong, ""), new Mismatch("rows[1].step", "a number"));
  assert.throws(() => decode({ rows: [{}] }, ""), new Mismatch("rows[0].step", "there"));
  assert.throws(() => decode([], ""), new Mismatch("", "an object"));
});

test("members of the prototype are not members of a document", () => {
  assert.throws(() => object({ toString: text })({}, ""), Mismatch);
  assert.throws(() => tagged("via", { edge: object({}) })({ via: "constructor" }, ""), Mismatch);
});

test("a row has a line, its lane and the work on top of it", () => {
  const row = shapes.row({ ...LINE, lane: 1, passing: [0], questions: [{ id: "q", node: "ask", question: "why?" }], more: 1 }, "");
  assert.equal(row.step, 8);
  assert.deepEqual(row.passing, [0]);
  assert.equal(row.questions?.[0]?.node, "ask");
  assert.equal(row.parent, undefined);
  assert.ok(!("more" in row), "unknown members are left out");
});

test("differences are told apart by their edit", () => {
  const document = `{"from": null, "to": "b", "effects": [], "state": [
    {"path": "answer", "edit": "changed", "from": "a", "to": "b"},
    {"path": "facts[0]", "edit": "added", "value": {"id": "x"}, "at": 0},
    {"path": "facts", "edit": "reordered", "ids": ["x", 1]}]}`;
  const { state } = shapes.diff(parse(document), "");
  const texts = state.map((difference) => {
    switch (difference.edit) {
      case "changed":
        return `${difference.path}: ${String(difference.from)} → ${String(difference.to)}`;
      case "added":
        return `${difference.path} at ${difference.at}`;
      case "removed":
        return difference.path;
      case "reordered":
        return difference.ids.join();
    }
  });
  assert.deepEqual(texts, ["answer: a → b", "facts[0] at 0", "x,1"]);
});

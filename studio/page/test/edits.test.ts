import assert from "node:assert/strict";
import { test } from "node:test";
import { equal } from "../src/model/difference";
import { type Entry, converted, editOf, entryAt } from "../src/model/edits";
import { type Json, parse, print } from "../src/wire/json";

const STATE: Json = parse('{"draft": "old", "rounds": 2, "facts": [{"id": "a", "text": "x"}, {"id": "b", "text": "y"}], "big": 12345678901234567890, "none": null, "token": "<secret>"}');

const entry = (path: string, typed: string, as: Entry["as"] = "json"): Entry => ({ path, typed, as });

function stateOf(...entries: Entry[]): string {
  const { state, problems } = editOf(STATE, entries);
  assert.deepEqual([...problems], []);
  return print(state);
}

test("values replace, become members, and are appended", () => {
  assert.match(stateOf(entry("draft", "by hand", "text")), /"draft":"by hand"/);
  assert.match(stateOf(entry('facts[id="b"].text', '"z"')), /\{"id":"b","text":"z"\}/);
  assert.match(stateOf(entry("facts[0].done", "true")), /\{"id":"a","text":"x","done":true\}/);
  assert.match(stateOf(entry("facts[2]", "{}")), /"text":"y"\},\{\}\]/);
  assert.match(stateOf(entry("/facts/2", "1")), /"text":"y"\},1\]/);
  assert.match(stateOf(entry("rounds", "3"), entry("rounds", "4")), /"rounds":4/, "in order");
  assert.match(stateOf(entry("facts", "[]"), entry("facts[0]", "7")), /"facts":\[7\]/, "later ones see the earlier");
});

test("the rest of the state stays as it is written", () => {
  assert.match(stateOf(entry("rounds", "3")), /"big":12345678901234567890/);
});

test("a path that leads nowhere, and a text that is not JSON, are errors at their entry", () => {
  const problem = (given: Entry) => editOf(STATE, [given]).problems.get(0);
  assert.equal(problem(entry("draft.x", "1")), "draft.x leads nowhere: draft is a text.");
  assert.equal(problem(entry("facts[5]", "1")), "facts[5] leads nowhere: facts is a list of 2.");
  assert.equal(problem(entry('facts[id="c"]', "1")), 'facts[id="c"] leads nowhere: facts is a list of 2, and none has the id "c".');
  assert.equal(problem(entry("none.a", "1")), "none.a leads nowhere: none is null.");
  assert.equal(problem(entry("new.a", "1")), 'new.a leads nowhere: . is an object without "new".');
  for (const path of ["", " ", ".", "[0]", "a..b", "a["]) assert.ok(problem(entry(path, "1")), path);
  for (const typed of ["", "by hand", "{", "[1,]", "01"]) assert.ok(problem(entry("draft", typed)), typed);
  const two = editOf(STATE, [entry("nope.x", "1"), entry("rounds", "5")]);
  assert.deepEqual([two.assignments.length, [...two.problems.keys()]], [1, [0]]);
});

test("another kind of JSON is noticed for fields, and not for null or a secret", () => {
  const kinds = (path: string, typed: string) => editOf(STATE, [entry(path, typed)]).kinds;
  assert.deepEqual(kinds("rounds", '"two"'), ["rounds was a number and becomes a text"]);
  assert.deepEqual(kinds("rounds", "null"), []);
  assert.deepEqual(kinds("none", "1"), []);
  assert.deepEqual(kinds("token", "1"), []);
  assert.deepEqual(kinds("facts[0].text", "1"), []);
});

test("an entry begins with the present value, and stores it unchanged", () => {
  for (const path of ["draft", "rounds", "facts", 'facts[id="a"].text', "big", "none"]) {
    assert.ok(equal(editOf(STATE, [entryAt(STATE, path)]).state, STATE), path);
    assert.ok(equal(editOf(STATE, [converted(entryAt(STATE, path))]).state, STATE) || entryAt(STATE, path).as === "json", path);
    assert.equal(converted(converted(entryAt(STATE, "draft"))).typed, "old");
  }
  assert.deepEqual(entryAt(STATE, "token"), { path: "token", typed: "", as: "json" });
  assert.equal(editOf(STATE, [entryAt(STATE, "token")]).assignments.length, 0, "a secret is not replaced by nothing");
  assert.equal(entryAt(STATE, "draft").as, "text");
});

test("keys that name something in JavaScript are keys", () => {
  const { state, problems } = editOf(parse('{"a": {}}'), [entry("a.__proto__", "1"), entry("a.constructor", "2")]);
  assert.equal(problems.size, 0);
  assert.equal(print(state), '{"a":{"__proto__":1,"constructor":2}}');
});

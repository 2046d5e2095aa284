import assert from "node:assert/strict";
import { test } from "node:test";
import { parsePath, printPath, valueAt } from "../src/model/path";
import { parse } from "../src/wire/json";

const value = parse('{"facts": [{"text": "a"}, {"text": "b"}], "a.b": {"": 1}, "notes": [{"id": 7, "x": 1}, {"id": "7"}, {"id": 12345678901234567890, "x": 2}]}');

const at = (text: string) => {
  const path = parsePath(text);
  return path === null ? "no path" : valueAt(value, path);
};

test("a path leads into objects and lists, as on the command line", () => {
  assert.deepEqual(at("."), value);
  assert.equal(at("facts[1].text"), "b");
  assert.equal(at("/facts/1/text"), "b");
  assert.equal(at('["a.b"][""]'), 1);
  assert.equal(at("/a.b/"), 1);
  assert.equal(at("notes[id=7].x"), 1);
  assert.equal(at('notes[id="7"].x'), undefined);
  assert.deepEqual(at('notes[id="7"]'), { id: "7" });
  assert.equal(at("notes[id=12345678901234567890].x"), 2);
  assert.equal(at("facts[2]"), undefined);
  assert.equal(at("facts.text"), undefined);
  assert.equal(at("nothing"), undefined);
  assert.equal(at("constructor"), undefined);
});

test("what is no path is none", () => {
  for (const text of ["a..b", "a[x]", "ä[1", '["a', "a]", "", "a b", "a[id=]"]) assert.equal(parsePath(text), null, text);
});

test("a path reads as it is written", () => {
  for (const text of ['notes[id="a \\" ] b"].done', "a[0][12].b", '["a key"].b', '["__proto__"]', '["/a"]', "ä.ß", '[""]', '["\\n"]', "[id=1.5]"]) {
    const path = parsePath(text);
    assert.ok(path !== null, text);
    assert.equal(printPath(path), text === '["__proto__"]' ? "__proto__" : text);
  }
  assert.deepEqual(parsePath("a[id=b c]"), [{ key: "a" }, { item: '"b c"' }]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { Numeral, isObject, kindOf, parse, print } from "../src/wire/json";

test("numbers that JavaScript would change are kept", () => {
  for (const source of ["12345678901234567890", "1.0", "1.50", "1e3", "-0", "0.1", "7", "-12.25", "1E+400"]) {
    assert.equal(print(parse(source)), source);
    assert.equal(print(parse(`{"a":[${source}]}`)), `{"a":[${source}]}`);
  }
  assert.equal(parse("7"), 7);
  assert.ok(parse("1.0") instanceof Numeral);
});

test("documents with an exact number are read like all others", () => {
  const document = String.raw`{"big": 12345678901234567890, "texts": ["a\"b\\", "", "\u202e 1.0 "], "e": {}, "l": [ ], "t": true, "f": false, "n": null}`;
  const value = parse(document);
  assert.ok(isObject(value));
  assert.deepEqual({ ...value, big: 0 }, { ...JSON.parse(document), big: 0 });
  assert.equal(print(value, "indented"), JSON.stringify(JSON.parse(document), null, 2).replace("12345678901234567000", "12345678901234567890"));
});

test("a text may look like the mark of a number", () => {
  const document = String.raw`{"#": ["#1.0", "\u0023", "##", "#"], "#1.0": 1.50}`;
  const value = parse(document);
  assert.ok(isObject(value));
  assert.deepEqual(value["#"], ["#1.0", "#", "##", "#"]);
  assert.ok(value["#1.0"] instanceof Numeral);
});

test("the key __proto__ is a key", () => {
  for (const more of ["", ', "exact": 1.0']) {
    const value = parse(`{"__proto__": {"polluted": true}${more}}`);
    assert.ok(isObject(value));
    assert.equal(Object.hasOwn(value, "__proto__"), true);
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
    assert.ok(print(value).startsWith('{"__proto__":{"polluted":true}'));
  }
});

test("each value has one kind", () => {
  const kinds = [null, true, 1, new Numeral("1.0"), "", [], {}].map((value) => kindOf(value));
  assert.deepEqual(kinds, ["null", "boolean", "number", "number", "text", "list", "object"]);
});

test("text that is not JSON is an error", () => {
  for (const bad of ["", "{", "[1,]", "1.0.0", "nul"]) assert.throws(() => parse(bad), SyntaxError);
});

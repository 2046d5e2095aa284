import assert from "node:assert/strict";
import { test } from "node:test";
import { differences, equal, items } from "../src/model/difference";
import { parsePath, printPath, valueAt } from "../src/model/path";
import type { Difference } from "../src/wire/documents";
import { type Json, isObject, parse, print } from "../src/wire/json";

/** The lines of the tests of the command line's `diff`. */
function lines(before: string, after: string): string[] {
  return differences(parse(before), parse(after)).map((found) => {
    switch (found.edit) {
      case "added":
        return `+ ${found.path} ${print(found.value)}`;
      case "removed":
        return `- ${found.path} ${print(found.value)}`;
      case "changed":
        return `~ ${found.path} ${print(found.from)} ${print(found.to)}`;
      case "reordered":
        return `% ${found.path} ${print(found.ids)}`;
    }
  });
}

test("members are added, removed and changed", () => {
  const found = lines('{"a": 1, "b": {"c": true, "d": null}, "e": 0}', '{"a": 1, "b": {"c": false}, "e": "0", "f": []}');
  assert.deepEqual(found, ["~ b.c true false", "- b.d null", '~ e 0 "0"', "+ f []"]);
});

test("an item in the middle does not shift the rest", () => {
  assert.deepEqual(lines("[1, 2, 3]", "[1, 9, 2, 3]"), ["+ [1] 9"]);
  assert.deepEqual(lines("[1, 2, 3, 4]", "[1, 4]"), ["- [2] 3", "- [1] 2"]);
  assert.deepEqual(lines('[{"t": 1, "u": 1}, 2]', '[{"t": 1, "u": 2}, 2]'), ["~ [0].u 1 2"]);
});

test("items with ids are told apart by them", () => {
  const before = '[{"id": 1, "x": 1}, {"id": 2, "x": 2}, {"id": 3, "x": 3}]';
  const after = '[{"id": 3, "x": 3}, {"id": "n", "x": 0}, {"id": 1, "x": 5}]';
  assert.deepEqual(lines(before, after), ['- [id=2] {"id":2,"x":2}', "% . [3,1]", '+ [id="n"] {"id":"n","x":0}', "~ [id=1].x 1 5"]);
  assert.deepEqual(lines('[{"id": 1}, {"id": 1, "x": 0}]', '[{"id": 1, "x": 0}]'), ['- [0] {"id":1}']);
});

test("numbers differ as they are written", () => {
  assert.deepEqual(lines("[12345678901234567890, 1.0]", "[12345678901234567891, 1]"), ["~ [0] 12345678901234567890 12345678901234567891", "~ [1] 1.0 1"]);
  assert.ok(equal(parse("1.0"), parse("1.0")));
});

test("a removed item stands where it was", () => {
  const list = (text: string): Json[] => parse(text) as Json[];
  const order = (before: string, after: string) => items(list(before), list(after)).map(({ segment }) => printPath([segment]));
  assert.deepEqual(order('[{"id":1},{"id":2},{"id":3}]', '[{"id":3},{"id":4}]'), ["[id=1]", "[id=2]", "[id=3]", "[id=4]"]);
  assert.deepEqual(order("[1, 2, 3]", "[1, 3, 4]"), ["[0]", "[1]", "[1]", "[2]"]);
});

test("a long list in which every item changed is compared by position", () => {
  const list = (from: number) => Array.from({ length: 2_000 }, (_, at) => from + at);
  assert.equal(differences(list(0), list(10_000)).length, 2_000);
});

/** Applies differences, as the command line's `edit` does. */
function apply(value: Json, found: readonly Difference[]): Json {
  for (const difference of found) {
    const path = parsePath(difference.path) ?? [];
    const around = valueAt(value, path.slice(0, -1)) ?? null;
    const last = path.at(-1);
    const place = () => (Array.isArray(around) ? around.indexOf(valueAt(around, path.slice(-1)) ?? null) : -1);
    const put = (to: Json) => {
      if (last === undefined) value = to;
      else if (Array.isArray(around)) around[place()] = to;
      else if (isObject(around) && "key" in last) around[last.key] = to;
    };
    if (difference.edit === "changed") put(difference.to);
    if (difference.edit === "added") {
      if (Array.isArray(around)) around.splice(difference.at ?? 0, 0, difference.value);
      else put(difference.value);
    }
    if (difference.edit === "removed") {
      if (Array.isArray(around) && last !== undefined && "index" in last) around.splice(last.index, 1);
      else if (Array.isArray(around)) around.splice(place(), 1);
      else if (isObject(around) && last !== undefined && "key" in last) delete around[last.key];
    }
    if (difference.edit === "reordered") {
      const list = valueAt(value, path);
      if (!Array.isArray(list)) throw new Error("a list is expected");
      const rank = (item: Json) => difference.ids.findIndex((id) => isObject(item) && equal(item["id"] ?? null, id));
      list.sort((a, b) => rank(a) - rank(b));
    }
  }
  return value;
}

/** A generator of random values whose lists often have ids; the same values in each run of the test. */
function generator(seed: number): (depth: number) => Json {
  const next = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  const value = (depth: number): Json => {
    const kind = next(depth > 0 ? 7 : 4);
    if (kind === 0) return null;
    if (kind === 1) return next(2) === 0;
    if (kind === 2) return next(4);
    if (kind === 3) return "ab".repeat(next(3));
    const some = Array.from({ length: next(6) }, () => value(depth - 1));
    if (kind === 4) return some;
    if (kind === 5) return some.map((inner) => ({ id: next(6), value: inner }));
    return Object.fromEntries(some.map((inner) => ["abc"[next(3)] ?? "a", inner]));
  };
  return value;
}

test("the differences make the second value of the first", () => {
  const value = generator(1);
  for (let round = 0; round < 3_000; round += 1) {
    const [before, after] = [value(4), value(4)];
    const made = apply(parse(print(before)), differences(before, after));
    assert.equal(print(sorted(made)), print(sorted(after)), `${print(before)} → ${print(after)}`);
    assert.deepEqual(differences(after, after), []);
  }
});

/** The value with the members of its objects in one order. */
function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, sorted(member)]),
  );
}

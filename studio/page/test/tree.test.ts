import assert from "node:assert/strict";
import { test } from "node:test";
import { type TreeInput, findRow, parentOf, treeRows } from "../src/model/tree";
import { parse } from "../src/wire/json";

const before = parse('{"answer": "old", "facts": [{"id": "a", "text": "one"}, {"id": "b", "text": "two"}], "score": 1, "token": "<secret>"}');
const after = parse('{"answer": "new", "facts": [{"id": "c", "text": "three"}, {"id": "b", "text": "2"}], "log": [1, 2], "score": 1, "token": "<secret>"}');

function rows(given: Partial<TreeInput> = {}) {
  return treeRows({ before, after, side: "after", changed: [], opened: new Map(), selected: null, ...given });
}

const SIGNS = { added: "+", removed: "-", changed: "~", moved: "%", inside: "." } as const;
const lines = (given?: Partial<TreeInput>) => rows(given).map(({ level, label, mark }) => `${"  ".repeat(level - 1)}${mark === null ? "" : SIGNS[mark]}${label}`);

test("a tree marks what a step changed, and opens what contains it", () => {
  assert.deepEqual(lines(), ["~answer", ".facts", '  -a', '  +c', '  .b', "    id", "    ~text", "+log", "  0", "  1", "score", "token"]);
});

test("the state before, and the difference alone", () => {
  assert.deepEqual(lines({ side: "before" }), ["~answer", ".facts", '  -a', '  .b', "    id", "    ~text", "score", "token"]);
  assert.deepEqual(lines({ side: "difference" }), ["~answer", ".facts", '  -a', '  +c', '  .b', "    ~text", "+log", "  0", "  1"]);
  const [answer] = rows({ side: "before" });
  assert.deepEqual([answer?.value, answer?.other], ["old", "new"]);
});

test("a value that became null, or had been null, is told from one that is missing", () => {
  const values = (side: TreeInput["side"]) => treeRows({ before: parse('{"a": 1, "b": null}'), after: parse('{"a": null, "b": 2}'), side, changed: [], opened: new Map(), selected: null }).map(({ value }) => value);
  assert.deepEqual([values("before"), values("after")], [[1, null], [null, 2]]);
});

test("what was removed from a list or an object is shown also if nothing is left", () => {
  const given = { before: parse('{"list": [{"id": 1}], "map": {"a": 1}}'), after: parse('{"list": [], "map": {}}') };
  assert.deepEqual(lines(given), [".list", "  -1", ".map", "  -a"]);
  assert.deepEqual(lines({ ...given, side: "difference" }), [".list", "  -1", ".map", "  -a"]);
  assert.deepEqual(lines({ before: given.after, after: given.before, side: "before" }), [".list", ".map"]);
});

test("a secret that changed looks the same, and is marked", () => {
  assert.equal(lines({ changed: ["token", "score"] }).at(-1), "~token");
  assert.equal(lines({ changed: ["token", "score"] }).at(-2), "score");
});

test("without a step before, nothing is marked", () => {
  assert.deepEqual(lines({ before: null, changed: ["token"] }).at(-1), "token");
  assert.deepEqual(lines({ before: null }), ["answer", "facts", "  c", "  b", "log", "  0", "  1", "score", "token"]);
});

test("rows are opened and closed, and a link opens the way to its value", () => {
  assert.deepEqual(lines({ before: null, opened: new Map([["facts", false]]) }), ["answer", "facts", "log", "  0", "  1", "score", "token"]);
  for (const path of ["facts[1].text", 'facts[id="b"].text', "/facts/1/text"]) {
    const found = rows({ before: null, selected: path });
    const at = findRow(found, path, after);
    assert.equal(found[at ?? -1]?.path, 'facts[id="b"].text');
    assert.equal(found[parentOf(found, at ?? 0) ?? -1]?.path, 'facts[id="b"]');
  }
  assert.equal(findRow(rows(), "nothing.here", after), null);
});

test("a removed part is found by its path, but another part with the same path comes first", () => {
  const input = { before: parse("[1, 2]"), after: parse("[2, 3]"), opened: new Map() } as const;
  const found = treeRows({ ...input, side: "after", changed: [], selected: "[0]" });
  assert.deepEqual(
    found.map(({ path, mark }) => [path, mark]),
    [
      ["[0]", "removed"],
      ["[0]", null],
      ["[1]", "added"],
    ],
  );
  assert.equal(findRow(found, "[0]", input.after), 1);
  assert.equal(findRow(rows(), 'facts[id="a"]', after), 2);
});

test("items that changed places are marked", () => {
  const list = (ids: number[]) => ids.map((id) => ({ id }));
  const found = treeRows({ before: { a: list([1, 2, 3]) }, after: { a: list([1, 3, 2]) }, side: "after", changed: [], opened: new Map(), selected: null });
  assert.deepEqual(
    found.map(({ label, mark }) => [label, mark]),
    [
      ["a", "inside"],
      ["1", null],
      ["3", "moved"],
      ["2", "moved"],
    ],
  );
  assert.deepEqual(
    found.map(({ position, siblings }) => `${position}/${siblings}`),
    ["1/1", "1/3", "2/3", "3/3"],
  );
});

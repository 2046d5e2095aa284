import assert from "node:assert/strict";
import { test } from "node:test";
import { PANES } from "../src/model/address";
import { BINDINGS, actionOf, actions } from "../src/model/keys";

const press = (key: string) => ({ key, ctrlKey: false, metaKey: false, altKey: false });

test("each key has one action, and each pane a key", () => {
  const keys = actions().map(([, { key }]) => key);
  assert.equal(new Set(keys).size, keys.length);
  for (const pane of PANES) assert.ok(pane in BINDINGS, pane);
});

test("the keys of the documentation are there", () => {
  const documented = "j k h l [ ] d e f a r c m g b / . ?".split(" ");
  const missing = documented.filter((key) => actionOf(press(key), true) === null);
  assert.deepEqual(missing, []);
});

test("text fields and shortcuts of the browser keep their keys", () => {
  assert.equal(actionOf(press("j"), false), null);
  assert.equal(actionOf(press("Escape"), false), "close");
  assert.equal(actionOf({ ...press("f"), ctrlKey: true }, true), null);
});

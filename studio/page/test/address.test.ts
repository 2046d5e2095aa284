import assert from "node:assert/strict";
import { test } from "node:test";
import { COLUMNS, FIRST_VIEW, PANES, type View, atThread, fragmentOf, tokenOf, viewOf, withParameters } from "../src/model/address";

const HOSTILE = ["rust", "a/b#1", "100%", "facts[0].text", "?pane=diff&x", "ü 日本", "<script>", "%41", "'\"", "a=b", "t/c", "\u202e", "+ +"];

test("a view comes back from its address", () => {
  for (const [at, thread] of HOSTILE.entries()) {
    const other = HOSTILE[(at + 5) % HOSTILE.length] ?? "";
    const view: View = {
      thread,
      checkpoint: at % 3 === 0 ? null : other,
      pane: PANES[at % PANES.length] ?? "state",
      hidden: COLUMNS.filter((_, column) => (at >> column) % 2 === 1),
      front: COLUMNS[at % 3] ?? "threads",
      parameters: { path: other, find: thread, ...(at % 2 === 0 && { status: "failed" }) },
    };
    const fragment = fragmentOf(view);
    assert.deepEqual(viewOf(fragment), view, fragment);
    assert.equal(fragmentOf(viewOf(fragment)), fragment);
    assert.equal(new URL(fragment, "http://127.0.0.1/studio").hash.includes(" "), false);
  }
});

test("addresses can be read", () => {
  const view = withParameters({ ...FIRST_VIEW, thread: "rust", front: "timeline", checkpoint: "0b0b", pane: "diff" }, { path: "facts[0]" });
  assert.equal(fragmentOf(view), "#/t/rust/c/0b0b?path=facts[0]&pane=diff");
  assert.equal(fragmentOf(FIRST_VIEW), "#/");
});

test("an address that is not understood shows what it can", () => {
  for (const fragment of ["", "#", "#/", "#/x/y", "#/t/", "#/?pane=none&front=no&hide=all"]) assert.deepEqual(viewOf(fragment), FIRST_VIEW);
  assert.equal(viewOf("#/t/%E0%A4%A/c/1").thread, "%E0%A4%A");
});

test("another thread keeps the filters and the pane, and not the place within the thread", () => {
  const view = viewOf("#/t/a/c/1?status=failed&path=x&good=1&marked=2&pane=diff");
  assert.equal(fragmentOf(atThread(view, "b")), "#/t/b?status=failed&marked=2&pane=diff");
});

test("half of a character does not break an address", () => {
  assert.equal(fragmentOf({ ...FIRST_VIEW, thread: "a\ud800", front: "timeline" }), "#/t/a%EF%BF%BD");
});

test("the token is taken out of the first address", () => {
  assert.deepEqual(tokenOf("#token=a%2Bb"), { token: "a+b", rest: "" });
  assert.deepEqual(tokenOf("#token=ab&/t/rust"), { token: "ab", rest: "#/t/rust" });
  assert.deepEqual(tokenOf("#/t/token=x"), { token: null, rest: "#/t/token=x" });
});

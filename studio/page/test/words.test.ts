import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, bytes, compact, duration, excerpt, shown, shownJson, time } from "../src/model/words";

test("invisible characters are escaped as on the command line", () => {
  assert.equal(shown("Reads a file.\u202e\u{e0041}"), String.raw`Reads a file.\u{202e}\u{e0041}`);
  assert.equal(shown("two\r\n\tlines"), "two\r\n\tlines");
  assert.equal(shown("a\rb\u0000\u200b"), String.raw`a\u{d}b\u{0}\u{200b}`);
  assert.equal(shown("❤\ufe0f e\u0301"), "❤\ufe0f e\u0301");
  const json = JSON.stringify("\u202e\u{e0041}");
  assert.equal(shownJson(json), String.raw`"\u202e\udb40\udc41"`);
  assert.equal(JSON.parse(shownJson(json)), "\u202e\u{e0041}");
});

test("durations are those of the command line", () => {
  const all = [7, 999, 1_000, 59_940, 61_000, 3_600_000 + 125_000].map(duration);
  assert.deepEqual(all, ["7 ms", "999 ms", "1.0 s", "59.9 s", "1 min 1 s", "1 h 2 min"]);
});

test("counts and sizes are short", () => {
  assert.deepEqual([0, 999, 1_000, 9_960, 34_400, 999_600].map(compact), ["0", "999", "1.0k", "10k", "34k", "1.0M"]);
  assert.deepEqual([0, 999, 6_137, 99_900, 4_200_000, 3e9].map(bytes), ["0 B", "999 B", "6.1 kB", "100 kB", "4.2 MB", "3.0 GB"]);
});

test("texts are cut to a line", () => {
  assert.equal(excerpt("a\n  b\tc", 10), "a b c");
  assert.equal(excerpt("abcdef", 4), "abc…");
});

test("times of today have no date", () => {
  const now = new Date(2026, 10, 27, 18, 0, 0);
  assert.equal(time(new Date(2026, 10, 27, 9, 5, 7).toISOString(), now), "09:05:07");
  assert.equal(time(new Date(2026, 10, 26, 9, 5, 7).toISOString(), now), "2026-11-26 09:05:07");
  assert.equal(time("soon", now), "soon");
  assert.equal(ago(new Date(2026, 10, 27, 17, 57, 30).toISOString(), now), "2 min ago");
  assert.equal(ago(now.toISOString(), now), "now");
});

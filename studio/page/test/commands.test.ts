import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { answerCommand, editCommand, forkCommand, quoted, resumeCommand } from "../src/model/commands";
import { parse } from "../src/wire/json";

const HOSTILE = ["", "a b", "it's", "$(rm -rf /)", "`id`", "a;b|c&d>e", "*", "~", "~x", "#x", "!x", "\\", "a\\'b", "\u202e", "a\nb", "-x", "--name=x", "ü 日本 😀", "\u{e0041}", '"', "$HOME", "a=b", "a=~", "x:~/y", "t~2", "%41"];

test("a shell reads each word back", () => {
  const told = spawnSync("bash", ["-c", `LC_ALL=C.UTF-8; printf '%s\\0' ${HOSTILE.map(quoted).join(" ")}`], { encoding: "utf8", env: { LC_ALL: "C.UTF-8" } });
  assert.deepEqual(told.stdout.split("\0").slice(0, -1), HOSTILE);
});

test("commands show nothing invisible", () => {
  for (const word of HOSTILE) assert.ok(!/[\u202e\n\u{e0041}]/u.test(quoted(word)), word);
});

test("the commands of the story", () => {
  assert.equal(forkCommand("museum.db", "visit@6", "monday"), "superstep fork museum.db visit@6 --name monday");
  assert.equal(
    editCommand("museum.db", "monday", [{ path: "keep", value: ["except Mondays"] }], { name: null }),
    `superstep edit museum.db monday --set 'keep=["except Mondays"]'`,
  );
  assert.equal(resumeCommand("monday"), "PROGRAM debug resume monday");
});

test("values keep their digits, and options their values", () => {
  const set = [{ path: "a.b", value: parse("12345678901234567890") }];
  const options = { name: "-x", as: "review", case: "Accept", force: true };
  assert.equal(editCommand("f.db", "t~2", set, options), "superstep edit f.db t~2 --set a.b=12345678901234567890 --as review --case Accept --name=-x --force");
  assert.equal(forkCommand("f.db", "-t", "x"), "superstep fork f.db --name x -- -t");
  assert.equal(answerCommand("t", [{ id: null, value: "it's" }]), `PROGRAM debug answer t '"it'\\''s"'`);
  assert.equal(answerCommand("t", [{ id: "ab12", value: true }]), "PROGRAM debug answer t ab12=true");
});

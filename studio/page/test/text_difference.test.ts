import assert from "node:assert/strict";
import { test } from "node:test";
import { type Folded, type Piece, folded, textDifference } from "../src/model/text_difference";

const SIGNS = { same: "", removed: "-", added: "+", gap: "…" } as const;

const line = (pieces: readonly (Piece | Folded)[]) => pieces.map(({ kind, text }) => (kind === "same" ? text : `{${SIGNS[kind]}${text}}`)).join("");

const side = (pieces: readonly Piece[], without: Piece["kind"]) =>
  pieces
    .filter(({ kind }) => kind !== without)
    .map(({ text }) => text)
    .join("");

test("texts are compared by words", () => {
  const before = "The museum is open every day except Mondays, from 10 to 18.";
  const after = "The museum is open every day, from 10 to 18.";
  assert.equal(line(textDifference(before, after)), "The museum is open every day{- except Mondays}, from 10 to 18.");
  assert.equal(line(textDifference("it's 12 euros", "it's 13 euros")), "it's {-12}{+13} euros");
  assert.equal(line(textDifference("", "new")), "{+new}");
  assert.equal(line(textDifference("old", "")), "{-old}");
  assert.equal(line(textDifference("same", "same")), "same");
  assert.equal(line(textDifference("", "")), "");
});

test("a phrase is replaced as a whole", () => {
  assert.equal(line(textDifference("a red car stops", "a blue bus stops")), "a {-red car}{+blue bus} stops");
});

test("scripts without spaces are compared by characters", () => {
  assert.equal(line(textDifference("日本語です", "日本人です")), "日本{-語}{+人}です");
});

test("texts with little in common are compared by lines, or replaced", () => {
  const words = (from: number) => Array.from({ length: 3_000 }, (_, at) => `w${from + at}`).join(" ");
  const pieces = textDifference(`same line\n${words(0)}`, `same line\n${words(5_000)}`);
  assert.deepEqual(
    pieces.map(({ kind }) => kind),
    ["same", "removed", "added"],
  );
  const lines = (from: number) => Array.from({ length: 3_000 }, (_, at) => `l${from + at}`).join("\n");
  assert.equal(textDifference(lines(0), lines(5_000)).length, 2);
});

test("both texts can be read from the pieces", () => {
  let seed = 7;
  const next = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  const text = () => Array.from({ length: next(30) }, () => ["a", "b", "c", " ", " ", "\n", ",", "é", "😀"][next(9)] ?? "").join("");
  for (let round = 0; round < 3_000; round += 1) {
    const [before, after] = [text(), text()];
    const pieces = textDifference(before, after);
    assert.equal(side(pieces, "added"), before);
    assert.equal(side(pieces, "removed"), after);
    const shown = folded(pieces)
      .filter(({ kind }) => kind !== "removed")
      .map((piece) => piece.text);
    assert.equal(shown.join(""), after);
  }
});

test("long texts without a change are folded, between words", () => {
  const long = "word ".repeat(200);
  const pieces = folded(textDifference(`${long}old end`, `${long}new end`));
  assert.deepEqual(
    pieces.map(({ kind }) => kind),
    ["gap", "same", "removed", "added", "same"],
  );
  assert.match(pieces[1]?.text ?? "", /^ word( word)*/);
  assert.ok((pieces[1]?.text.length ?? 999) < 160);
});

test("a change is found among a million letters", () => {
  const long = "some words of a long text, and more. ".repeat(30_000);
  const pieces = folded(textDifference(`${long}x ${long}`, `${long}y ${long}`));
  assert.equal(line(pieces.filter(({ kind }) => kind !== "same" && kind !== "gap")), "{-x}{+y}");
});

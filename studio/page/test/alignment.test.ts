import assert from "node:assert/strict";
import { test } from "node:test";
import { aligned, figures, firstDivergence } from "../src/model/alignment";
import type { Line } from "../src/wire/documents";
import { Dice } from "./dice";
import { ROW } from "./row";

let lines = 0;

const step = (ran: string, more: Partial<Line> = {}): Line => {
  lines += 1;
  return { ...ROW, id: `${lines}`, step: lines, ran: [ran], changed: [ran], ...more };
};

const drawn = (a: readonly Line[], b: readonly Line[]) => aligned(a, b).map((row) => `${row.a?.ran[0] ?? "-"}${row.isSame ? "=" : "|"}${row.b?.ran[0] ?? "-"}`);

test("steps that did the same stand beside each other", () => {
  const [write, score] = [() => step("write"), () => step("score")];
  assert.deepEqual(drawn([write(), score(), write()], [write(), score(), write()]), ["write=write", "score=score", "write=write"]);
  assert.deepEqual(drawn([write(), score()], [step("EDIT"), write(), score()]), ["-|EDIT", "write=write", "score=score"]);
  assert.deepEqual(drawn([write(), step("a"), score()], [write(), step("b"), score()]), ["write=write", "a|b", "score=score"]);
  assert.deepEqual(drawn([], [write()]), ["-|write"]);
  assert.deepEqual(drawn([step("x", { next: ["y"] })], [step("x")]), ["x|x"], "another way is another deed");
  assert.deepEqual(drawn([step("x", { changed: ["b", "a"] })], [step("x", { changed: ["a", "b"] })]), ["x=x"]);
});

test("every step is in one row, in its order, and the first divergence is the first row that differs", () => {
  for (let seed = 0; seed < 500; seed += 1) {
    const dice = new Dice(seed);
    const side = () => Array.from({ length: dice.below(12) }, () => step(dice.of(["a", "b", "c"])));
    const [a, b] = [side(), side()];
    const rows = aligned(a, b);
    assert.deepEqual(rows.flatMap((row) => row.a ?? []), a, `seed ${seed}`);
    assert.deepEqual(rows.flatMap((row) => row.b ?? []), b, `seed ${seed}`);
    for (const row of rows) {
      assert.ok(row.a !== null || row.b !== null);
      if (row.isSame) assert.equal(row.a?.ran[0], row.b?.ran[0]);
    }
    const at = firstDivergence(rows);
    const same = a.map(({ ran }) => ran[0]).join() === b.map(({ ran }) => ran[0]).join();
    assert.equal(at === null, same, `seed ${seed}`);
    if (at !== null) assert.ok(rows.slice(0, at).every(({ isSame }) => isSame));
  }
});

test("figures of both sides", () => {
  const used = { model_calls: 2, input_tokens: 100, output_tokens: 20, elapsed_ms: 900, cost: 0.5 };
  const a = { thread: "a", own: [step("x", { took_ms: 5 }), step("y", { took_ms: 7 })], used };
  const b = { thread: "b", own: [step("x")] };
  const told = figures({ a, b }).map((figure) => `${figure.name} ${figure.a} ${figure.b}`);
  assert.deepEqual(told, ["Steps 2 1", "Time of the steps 12 0", "Model calls 2 0", "Tokens in 100 0", "of them cached 0 0", "Tokens out 20 0", "Time of the calls 900 0", "Cost 0.5 0"]);
  assert.equal(figures({ a: b, b }).length, 2);
});

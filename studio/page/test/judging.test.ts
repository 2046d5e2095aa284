import assert from "node:assert/strict";
import { test } from "node:test";
import { type Judgement, Judging, judgementWords, judgementsLeft } from "../src/model/judging";
import type { Get, Result } from "../src/wire/client";
import type { Json } from "../src/wire/json";

/** A file with a branch of so many steps, and another branch of one step at step 3; it counts the requests. */
function fileOf(steps: number): { readonly judging: Judging; readonly asked: string[] } {
  const asked: string[] = [];
  const pastOf = (checkpoint: string): string[] => {
    const [name = "", at = "0"] = checkpoint.split("-");
    const main = Array.from({ length: Math.min(Number(at), steps) + 1 }, (_, step) => `main-${step}`);
    return name === "main" ? main : [...main.slice(0, 4), checkpoint];
  };
  const get = async <T>({ query, decode }: Get<T>): Promise<Result<T>> => {
    const [thread, from] = [String(query["thread"]), Number(query["from"])];
    asked.push(`${thread}~${from}`);
    if (thread === "gone") return { ok: false, failure: { kind: "refused", status: 404, text: "there is no checkpoint gone" } };
    const past = pastOf(thread).reverse();
    const rows: Json = past.slice(from, from + 1).map((id) => ({ id, thread: "t", step: Number(id.split("-")[1]), source: "loop", at: "", run: "", ran: [], next: [], changed: [] }));
    return { ok: true, value: decode({ thread: "t", checkpoints: rows, more: false, total: past.length, from }, "") };
  };
  return { judging: new Judging({ get }), asked };
}

test("each first bad step is found by halves", async () => {
  for (const steps of [1, 2, 3, 10, 31, 64]) {
    for (let first = 1; first <= steps; first += 1) {
      const { judging } = fileOf(steps);
      let [good, bad] = [0, steps];
      let judgements = 0;
      for (;;) {
        const judgement: Judgement = await judging.between(`main-${good}`, `main-${bad}`);
        if (judgement.is === "found") {
          assert.equal(judgement.step.step, first);
          break;
        }
        assert.ok(judgement.is === "next" && judgement.step.step > good && judgement.step.step < bad, judgement.is);
        assert.equal(judgement.left, bad - good);
        if (judgement.step.step >= first) bad = judgement.step.step;
        else good = judgement.step.step;
        judgements += 1;
      }
      assert.ok(judgements <= judgementsLeft(steps), `${judgements} judgements of ${steps} steps`);
    }
  }
});

test("marks that cannot be right are said", async () => {
  const { judging } = fileOf(9);
  const is = async (good?: string, bad?: string) => (await judging.between(good, bad)).is;
  assert.equal(await is(undefined, "main-3"), "unmarked");
  assert.equal(await is("main-5", "main-2"), "reversed");
  assert.equal(await is("other-4", "main-9"), "apart");
  assert.equal(await is("main-9", "other-4"), "apart");
  assert.equal(await is("other-4", "main-4"), "apart", "as far from the root, on another branch");
  assert.equal(await is("main-2", "gone"), "failed");
  assert.equal(judgementWords(judging.current.value), "there is no checkpoint gone");
});

test("the same marks are looked up once", async () => {
  const { judging, asked } = fileOf(9);
  await judging.between("main-0", "main-9");
  const count = asked.length;
  await judging.between("main-0", "main-9");
  assert.equal(asked.length, count);
  assert.ok(count <= 4, asked.join());
});

test("an answer that comes late does not replace the latest", async () => {
  const { judging } = fileOf(9);
  const first = judging.between("main-0", "main-9");
  await judging.between("main-4", "main-9");
  await first;
  const { value } = judging.current;
  assert.ok(value.is === "next" && value.step.step === 7);
});

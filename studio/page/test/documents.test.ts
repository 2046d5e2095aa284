import assert from "node:assert/strict";
import { test } from "node:test";
import { Documents } from "../src/model/documents";
import type { Get, Result } from "../src/wire/client";
import { number } from "../src/wire/decode";

const request = (route: string, lasting = false): Get<number> => ({ route, query: {}, decode: number, lasting });

/** Answers requests by counting them. */
function counting(): { documents: Documents; asked: string[]; answers: { fail: boolean } } {
  const asked: string[] = [];
  const answers = { fail: false };
  const fetch = async <T>(get: Get<T>): Promise<Result<T>> => {
    asked.push(get.route);
    if (answers.fail) return { ok: false, failure: { kind: "unreachable", text: "gone" } };
    return { ok: true, value: get.decode(asked.length, "") };
  };
  return { documents: new Documents(fetch), asked, answers };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("a document is read once for all who show it, and again when the file changes", async () => {
  const { documents, asked } = counting();
  const first = documents.watch(request("log"));
  const second = documents.watch(request("log"));
  const past = documents.watch(request("diff", true));
  await settled();
  assert.deepEqual(asked, ["log", "diff"]);
  assert.equal(first.held.value.value, 1);
  await documents.refresh();
  assert.deepEqual(asked, ["log", "diff", "log"]);
  assert.equal(second.held.value.value, 3);
  assert.equal(past.held.value.value, 2);
});

test("what is not shown is not read again, and not shown old", async () => {
  const { documents, asked } = counting();
  documents.watch(request("show")).release();
  await settled();
  await documents.refresh();
  assert.deepEqual(asked, ["show"]);
  const again = documents.watch(request("show"));
  assert.equal(again.held.value.value, null);
  await settled();
  assert.equal(again.held.value.value, 2);
});

test("a lost connection leaves what is shown", async () => {
  const { documents, answers } = counting();
  const shown = documents.watch(request("log"));
  await settled();
  answers.fail = true;
  await documents.refresh();
  assert.deepEqual(shown.held.value, { value: 1, failure: null, loading: false });
  const other = documents.watch(request("show"));
  await settled();
  assert.equal(other.held.value.failure?.text, "gone");
  answers.fail = false;
  await documents.refresh();
  assert.deepEqual(shown.held.value, { value: 4, failure: null, loading: false });
  assert.deepEqual(other.held.value, { value: 5, failure: null, loading: false });
});

test("documents of the past do not pile up", async () => {
  const { documents, asked } = counting();
  for (let at = 0; at < 200; at += 1) {
    documents.watch(request(`diff${at}`, true)).release();
    await settled();
  }
  const before = asked.length;
  documents.watch(request("diff199", true));
  documents.watch(request("diff0", true));
  await settled();
  assert.deepEqual(asked.slice(before), ["diff0"]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { Rows, visible } from "../src/model/rows";

/** A list whose newest row is on top, as the server has it. */
function served(length: number) {
  const list = Array.from({ length }, (_, at) => at);
  const requests: string[] = [];
  const rows = new Rows<number>(async (from, count) => {
    requests.push(`${from}+${count}`);
    const top = [...list].reverse();
    return { ok: true, value: { rows: top.slice(from, from + count), from, total: list.length } };
  }, "top");
  return { list, requests, rows };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("only visible rows are read, with some around them", async () => {
  const { rows, requests } = served(10_000);
  rows.want(0, 20);
  await settled();
  rows.want(5_000, 5_030);
  await settled();
  assert.equal(rows.total.value, 10_000);
  assert.equal(rows.at(0), 9_999);
  assert.equal(rows.at(5_010), 4_989);
  assert.equal(rows.at(3_000), null);
  assert.deepEqual(requests, ["0+100", "4970+90"]);
  rows.want(5_020, 5_040);
  await settled();
  assert.equal(requests.length, 2);
  // Before the last row that was read is visible, more are read.
  rows.want(5_030, 5_055);
  await settled();
  assert.deepEqual(requests.slice(2), ["5060+25"]);
});

test("rows keep their place when new ones come on top", async () => {
  const { list, rows, requests } = served(1_000);
  rows.want(400, 420);
  await settled();
  list.push(1_000, 1_001);
  await rows.refresh();
  assert.equal(rows.total.value, 1_002);
  assert.equal(rows.at(402), 599);
  assert.equal(rows.find((row) => row === 599), 402);
  assert.deepEqual(rows.at(410), 591);
  // The rows on top are read when they become visible.
  rows.want(0, 10);
  await settled();
  assert.equal(rows.at(0), 1_001);
  assert.ok(requests.length <= 4, requests.join());
});

test("a list that became shorter is read again", async () => {
  const { list, rows } = served(50);
  rows.want(0, 10);
  await settled();
  list.splice(0, 30);
  await rows.refresh();
  assert.equal(rows.total.value, 20);
  assert.equal(rows.at(0), 49);
  assert.equal(rows.at(19), 30);
  list.splice(0);
  await rows.refresh();
  assert.equal(rows.total.value, 0);
  list.push(7);
  await rows.refresh();
  assert.equal(rows.at(0), 7);
});

test("rows that are far away are forgotten", async () => {
  const { rows } = served(10_000);
  for (let first = 0; first < 10_000; first += 50) {
    rows.want(first, first + 50);
    await settled();
  }
  assert.ok(rows.all().length <= 2_000);
  assert.equal(rows.at(9_999), 0);
});

test("visible rows", () => {
  assert.deepEqual(visible(0, 100, 40, 1_000), [0, 4]);
  assert.deepEqual(visible(85, 100, 40, 1_000), [2, 6]);
  assert.deepEqual(visible(1e9, 100, 40, 10), [9, 10]);
  assert.deepEqual(visible(0, 100, 40, 0), [0, 0]);
});

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { type Surroundings, act, selectAt } from "../src/model/actions";
import { Studio } from "../src/model/studio";
import { Client } from "../src/wire/client";
import type { Clock } from "../src/wire/events";

const id = (number: number) => `01a21df9-0000-7000-8000-${String(number).padStart(12, "0")}`;

const started: Studio[] = [];

// A studio that is not stopped keeps Node running, also after a test that fails.
afterEach(() => started.splice(0).forEach((studio) => studio.stop()));

/** A server with one thread, whose file changes when the test says so. */
function served(length: number, fragment: string, waited: number[] = []) {
  const file = { length };
  const asked: string[] = [];
  let changed = () => {};
  const row = (number: number) => ({
    id: id(number),
    ...(number > 0 && { parent: id(number - 1) }),
    thread: "visit",
    step: number - 1,
    source: "loop",
    at: "2026-11-27T17:06:51.044Z",
    run: id(0),
    ran: [`node ${number}`],
    next: [],
    changed: [],
    lane: 0,
    ...(number === file.length - 1 && { head_of: ["visit"] }),
  });
  const answer = (url: URL): object => {
    const query = Object.fromEntries(url.searchParams);
    if (url.pathname.endsWith("/threads")) return { threads: [], total: 0 };
    if (url.pathname.endsWith("/show")) return { ...row(7), graph: "g", state: {}, tasks: [], next_tasks: [] };
    const around = file.length - 1 - Number((query["around"] ?? "").slice(-12));
    const from = query["around"] === undefined ? Number(query["from"]) : Math.max(0, around - 20);
    const numbers = Array.from({ length: Number(query["count"]) }, (_, at) => file.length - 1 - from - at).filter((number) => number >= 0);
    return { thread: "visit", checkpoints: numbers.map(row), more: true, total: file.length, from };
  };
  const client = new Client("/api", null, async (input) => {
    const url = new URL(String(input), "http://studio");
    if (url.pathname.endsWith("/events")) {
      const body = new ReadableStream<Uint8Array>({
        start: (stream) => {
          changed = () => stream.enqueue(new TextEncoder().encode("event: changed\ndata: {}\n\n"));
        },
      });
      return new Response(body);
    }
    asked.push(url.pathname.split("/").at(-1) + url.search);
    return new Response(JSON.stringify(answer(url)));
  });
  const places = [fragment];
  const history = {
    fragment: () => places.at(-1) ?? "",
    push: (next: string) => void places.push(next),
    replace: (next: string) => void places.splice(-1, 1, next),
  };
  const immediate: Clock = {
    after: (ms, run) => {
      waited.push(ms);
      const timer = ms <= 2_000 ? setImmediate(run) : undefined;
      return () => clearImmediate(timer);
    },
  };
  const studio = new Studio(client, history, immediate);
  started.push(studio);
  return { studio, asked, places, file, change: () => changed() };
}

const page: Surroundings = {
  switchTheme: () => {},
  useKeys: () => {},
  copy: async () => true,
  address: (fragment) => `http://studio/${fragment}`,
  leaveField: () => {},
  isInPane: () => false,
  focusPane: () => {},
  openInbox: () => {},
  isSmall: () => false,
};

/** Resolves once a condition holds. */
async function until(holds: () => boolean): Promise<void> {
  for (let turns = 0; !holds(); turns += 1) {
    assert.ok(turns < 10_000, `it never holds: ${String(holds)}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test("the latest step is followed until another one is chosen", async () => {
  const { studio, file, change, places } = served(30, "#/t/visit");
  studio.start();
  void studio.timeline.value;
  await until(() => studio.selectedRow.value?.step === 28);
  file.length = 33;
  change();
  await until(() => studio.selectedRow.value?.step === 31);
  assert.equal(studio.selected.value, "visit");
  await until(() => studio.announcer.text.value.includes("3 new steps; the latest is step 31"));
  act(studio, "older", page);
  assert.equal(studio.selectedRow.value?.step, 30);
  file.length = 35;
  change();
  await until(() => studio.timeline.value?.total.value === 35);
  assert.equal(studio.selectedRow.value?.step, 30);
  assert.equal(studio.selectedPosition.value, 3);
  act(studio, "newer", page);
  act(studio, "latest", page);
  assert.equal(studio.selectedRow.value?.step, 33);
  assert.equal(places.length, 1, "moves replace the address");
});

test("the pause after a refresh grows while the file changes, and is short again after an idle second", async (t) => {
  const waited: number[] = [];
  const { studio, asked, change } = served(30, "#/t/visit", waited);
  const pauses = () => waited.filter((ms) => ms < 1_000);
  let now = 0;
  let took = 0;
  // The times at which a refresh begins and ends.
  t.mock.method(performance, "now", () => (now += took));
  studio.start();
  await until(() => studio.connection.value.state === "live" && asked.length > 0);
  /** Changes the file while it is read, so that no second is idle. */
  const busy = async (refreshes: number) => {
    const before = pauses().length;
    change();
    for (let times = 1; times <= refreshes; times += 1) {
      await until(() => pauses().length === before + times);
      if (times < refreshes) change();
    }
    const idle = waited.length;
    await until(() => waited.slice(idle).includes(1_000));
    // The clock of the test calls it in this turn.
    await new Promise((resolve) => setImmediate(resolve));
    return pauses().slice(before);
  };
  took = 50;
  assert.deepEqual(await busy(4), [100, 200, 350, 350]);
  took = 25;
  assert.deepEqual(await busy(3), [100, 200, 250]);
  took = 1;
  assert.deepEqual(await busy(2), [100, 100]);
});

test("a link to a step far down is found with one request", async () => {
  const { studio, asked } = served(10_000, `#/t/visit/c/${id(4_000)}`);
  void studio.timeline.value;
  await studio.findSelected();
  assert.equal(studio.selectedRow.value?.step, 3_999);
  assert.equal(studio.selectedPosition.value, 5_999);
  assert.equal(asked.filter((request) => request.includes("around")).length, 1);
  act(studio, "older", page);
  assert.equal(studio.selectedRow.value?.step, 3_998);
});

test("a link may name a step in words", async () => {
  const { studio, places } = served(30, "#/t/visit/c/visit@6?pane=diff");
  void studio.timeline.value;
  await studio.findSelected();
  assert.equal(studio.selectedRow.value?.step, 6);
  assert.deepEqual(places, [`#/t/visit/c/${id(7)}?pane=diff`]);
});

test("the first step is selected although it has not been read", async () => {
  const { studio } = served(10_000, "#/t/visit");
  await until(() => studio.timeline.value?.total.value === 10_000);
  selectAt(studio, 9_999);
  await until(() => studio.selectedRow.value?.step === -1);
});

test("marks are kept in the address, and removed by the same key", async () => {
  const { studio, places } = served(30, "#/t/visit");
  await until(() => studio.timeline.value?.total.value === 30);
  act(studio, "good", page);
  act(studio, "older", page);
  act(studio, "bad", page);
  act(studio, "mark", page);
  assert.deepEqual(places, [`#/t/visit/c/${id(28)}?marked=${id(28)}&good=${id(29)}&bad=${id(28)}`]);
  act(studio, "bad", page);
  act(studio, "mark", page);
  assert.deepEqual(places, [`#/t/visit/c/${id(28)}?good=${id(29)}`]);
});

test("the focus moves with the pane, and its key moves it into a field", async () => {
  const { studio } = served(30, "#/t/visit");
  const moved: boolean[] = [];
  const at = (isInPane: boolean): Surroundings => ({ ...page, isInPane: () => isInPane, focusPane: (intoField) => moved.push(intoField) });
  act(studio, "diff", at(false));
  assert.deepEqual(moved, []);
  act(studio, "diff", at(false));
  assert.deepEqual(moved, [true]);
  act(studio, "blame", at(true));
  assert.deepEqual(moved, [true, false]);
  act(studio, "edit", at(false));
  assert.deepEqual(moved, [true, false, true]);
});

test("the state shows one side after the other, and its path is copied", async () => {
  const { studio, places } = served(30, "#/t/visit?path=a[0]&pane=diff");
  const copied: string[] = [];
  const copying: Surroundings = { ...page, copy: async (text) => copied.push(text) > 0 };
  for (const side of ["&side=before", "&side=difference", ""]) {
    act(studio, "side", copying);
    assert.deepEqual(places, [`#/t/visit?path=a[0]${side}`]);
  }
  act(studio, "copyPath", copying);
  assert.deepEqual(copied, ["a[0]"]);
});

test("panes and columns are undone by Back", async () => {
  const { studio, places } = served(30, "#/t/visit");
  act(studio, "diff", page);
  act(studio, "toggleThreads", page);
  assert.deepEqual(places, ["#/t/visit", "#/t/visit?pane=diff&front=detail", "#/t/visit?pane=diff&front=detail&hide=threads"]);
  places.pop();
  studio.followHistory();
  assert.deepEqual(studio.view.value.hidden, []);
  act(studio, "threadAfter", page);
  assert.equal(studio.view.value.thread, "visit", "there is no other thread");
});

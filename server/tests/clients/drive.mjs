// Drives a server of the twin graphs with the JavaScript SDKs: clients of both lines, their useStream hooks in a
// simulated browser, and the hooks of the thread protocol.
//
// usage: node drive.mjs URL

import assert from "node:assert/strict";
import { JSDOM } from "jsdom";

const url = process.argv[2];
const dom = new JSDOM("<!doctype html><div id=root></div>", { url: "http://localhost/" });
Object.assign(globalThis, { window: dom.window, document: dom.window.document, navigator: dom.window.navigator, sessionStorage: dom.window.sessionStorage });

const React = await import("react");
const { createRoot } = await import("react-dom/client");
const sdk1 = { ...(await import("@langchain/langgraph-sdk")), ...(await import("@langchain/langgraph-sdk/react")) };
const sdk2 = { ...(await import("langgraph-sdk-2")), ...(await import("langgraph-sdk-2/react")) };
const protocol = await import("@langchain/react");

const hi = { messages: [{ type: "human", content: "hi" }] };
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const texts = (messages) => messages.map((message) => message.content);

/** Waits until a condition holds, and returns its value. */
async function until(what, condition) {
  for (const end = Date.now() + 15_000; Date.now() < end; await pause(10)) {
    const value = condition();
    if (value) return value;
  }
  throw new Error(`waited in vain until ${what}`);
}

/** Mounts a hook, and returns a handle whose `now` is the latest value. A page's users act after the effects of the hook. */
function mount(hook) {
  const handle = { now: undefined };
  const root = createRoot(document.createElement("div"));
  const Component = () => {
    const value = hook();
    React.useEffect(() => void (handle.now = value));
    return null;
  };
  root.render(React.createElement(Component));
  handle.unmount = () => root.unmount();
  return handle;
}

async function collect(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

const scenarios = [];
const scenario = (name, test) => scenarios.push([name, test]);

for (const [line, sdk] of [["1.15", sdk1], ["2.0", sdk2]]) {
  const client = new sdk.Client({ apiUrl: url, apiKey: null });

  scenario(`SDK ${line}: a thread is created, run, read, forked and deleted`, async () => {
    const { thread_id } = await client.threads.create();
    const parts = await collect(client.runs.stream(thread_id, "agent", { input: hi, streamMode: ["values", "updates"] }));
    assert.equal(parts[0].event, "metadata");
    assert.deepEqual(parts.at(-1).data.log, ["plan", "talk", "finish"]);
    const state = await client.threads.getState(thread_id);
    assert.deepEqual(state.next, []);
    const history = await client.threads.getHistory(thread_id);
    assert.deepEqual(history.map((entry) => entry.metadata.step), [3, 2, 1, 0, -1]);
    const [older] = await client.threads.getHistory(thread_id, { before: { configurable: history[0].checkpoint }, limit: 1 });
    assert.deepEqual(older.checkpoint, history[1].checkpoint);
    const base = history.find((entry) => entry.next[0] === "talk");
    const values = await client.runs.wait(thread_id, "agent", { input: null, checkpoint: base.checkpoint });
    assert.deepEqual(values.log, ["plan", "talk", "finish"]);
    await client.threads.delete(thread_id);
    await assert.rejects(client.threads.get(thread_id), /404/);
  });

  scenario(`SDK ${line}: a question is answered`, async () => {
    const { thread_id } = await client.threads.create();
    const asked = await client.runs.wait(thread_id, "agent", { input: { ...hi, ask: true } });
    assert.equal(asked.__interrupt__[0].value.question, "approve?");
    const values = await client.runs.wait(thread_id, "agent", { command: { resume: "yes" } });
    assert.deepEqual(values.log, ["plan", "talk", "approved:yes", "finish"]);
  });

  scenario(`SDK ${line}: a stream is joined again at each of its events`, async () => {
    const { thread_id } = await client.threads.create();
    const run = await client.runs.create(thread_id, "agent", { input: hi, streamMode: ["values", "updates"], streamResumable: true });
    await client.runs.join(thread_id, run.run_id);
    const all = await collect(client.runs.joinStream(thread_id, run.run_id, { lastEventId: "-1" }));
    for (const [at, part] of all.entries()) {
      const rest = await collect(client.runs.joinStream(thread_id, run.run_id, { lastEventId: part.id }));
      assert.deepEqual(rest.map((part) => part.event), all.slice(at + 1).map((part) => part.event));
    }
  });

  scenario(`SDK ${line}: useStream submits, edits and forks`, async () => {
    const chat = mount(() => sdk.useStream({ apiUrl: url, apiKey: null, assistantId: "agent", messagesKey: "messages", fetchStateHistory: true }));
    await until("the hook is ready", () => chat.now);
    chat.now.submit(hi);
    await until("the reply has arrived", () => !chat.now.isLoading && chat.now.messages.length === 2 && chat.now.history?.length > 1);
    assert.deepEqual(texts(chat.now.messages), ["hi", "hello from fake model"]);
    const [first] = chat.now.messages;
    const meta = chat.now.getMessagesMetadata(first, 0);
    chat.now.submit({ messages: [{ type: "human", content: "edited" }] }, { checkpoint: meta.firstSeenState.parent_checkpoint });
    await until("the branch has run", () => !chat.now.isLoading && chat.now.messages[0]?.content === "edited" && chat.now.messages.length === 2);
    await until("there are two branches", () => chat.now.getMessagesMetadata(chat.now.messages[0], 0)?.branchOptions?.length === 2);
    chat.unmount();
  });

  scenario(`SDK ${line}: useStream is interrupted and resumed`, async () => {
    const chat = mount(() => sdk.useStream({ apiUrl: url, apiKey: null, assistantId: "agent", messagesKey: "messages" }));
    await until("the hook is ready", () => chat.now);
    chat.now.submit({ ...hi, ask: true });
    await until("the question is shown", () => !chat.now.isLoading && chat.now.interrupt);
    assert.equal(chat.now.interrupt.value.question, "approve?");
    chat.now.submit(undefined, { command: { resume: "yes" } });
    await until("the run has ended", () => !chat.now.isLoading && chat.now.values.log?.at(-1) === "finish");
    assert.ok(chat.now.values.log.includes("approved:yes"));
    chat.unmount();
  });

  scenario(`SDK ${line}: useStream stops a run`, async () => {
    let thread;
    const chat = mount(() => sdk.useStream({ apiUrl: url, apiKey: null, assistantId: "agent", messagesKey: "messages", onThreadId: (id) => (thread = id) }));
    await until("the hook is ready", () => chat.now);
    chat.now.submit({ ...hi, sleep: 30 });
    await until("the reply has arrived", () => chat.now.messages.length === 2);
    await chat.now.stop();
    await until("the hook is idle", () => !chat.now.isLoading);
    for (const end = Date.now() + 10_000; ; await pause(100)) {
      const runs = await client.runs.list(thread);
      if (runs.every((run) => run.status === "interrupted")) break;
      assert.ok(Date.now() < end, JSON.stringify(runs.map((run) => run.status)));
    }
    chat.unmount();
  });

  scenario(`SDK ${line}: useStream rejoins a run after a reload`, async () => {
    let thread;
    const options = (threadId) => ({
      apiUrl: url, apiKey: null, assistantId: "agent", messagesKey: "messages", threadId, onThreadId: (id) => (thread = id), reconnectOnMount: true,
    });
    const first = mount(() => sdk.useStream(options(undefined)));
    await until("the hook is ready", () => first.now);
    first.now.submit({ ...hi, sleep: 3 }, { streamResumable: true, onDisconnect: "continue" });
    await until("the reply has arrived", () => thread && first.now.messages.length === 2);
    first.unmount();
    const second = mount(() => sdk.useStream(options(thread)));
    await until("the run has ended", () => second.now && !second.now.isLoading && second.now.values.log?.at(-1) === "finish");
    second.unmount();
  });
}

scenario("@langchain/react: messages, values, a question, an answer", async () => {
  const chat = mount(() => protocol.useStream({ apiUrl: url, assistantId: "agent" }));
  await until("the hook is ready", () => chat.now);
  chat.now.submit({ ...hi, ask: true });
  const question = await until("the question is shown", () => chat.now.interrupts?.[0]);
  assert.equal(question.value.question, "approve?");
  await chat.now.respond("yes");
  await until("the run has ended", () => !chat.now.isLoading && chat.now.values.log?.at(-1) === "finish");
  assert.deepEqual(texts(chat.now.messages).map((content) => (typeof content === "string" ? content : content[0].text)), ["hi", "hello from fake model"]);
  chat.unmount();
});

scenario("@langchain/react: a message is edited on a fork", async () => {
  const chat = mount(() => {
    const stream = protocol.useStream({ apiUrl: url, assistantId: "agent" });
    return { ...stream, metadata: protocol.useMessageMetadata(stream, stream.messages[0]?.id) };
  });
  const isDone = (text) => !chat.now.isLoading && chat.now.messages[0]?.content === text && chat.now.values.log?.at(-1) === "finish";
  await until("the hook is ready", () => chat.now);
  chat.now.submit(hi);
  await until("the run has ended", () => isDone("hi"));
  const { threads } = new sdk1.Client({ apiUrl: url, apiKey: null });
  const history = await threads.getHistory(chat.now.threadId);
  // The hook has the parent of the latest state with the message.
  await until("the message has a checkpoint", () => chat.now.metadata?.parentCheckpointId === history[1].checkpoint.checkpoint_id);
  const before = history.findLast((state) => state.values.messages?.length).parent_checkpoint;
  chat.now.submit({ messages: [{ type: "human", content: "edited" }] }, { forkFrom: before.checkpoint_id });
  await until("the branch has run", () => isDone("edited"));
  assert.equal(chat.now.messages.length, 2);
  const { values } = await threads.getState(chat.now.threadId);
  assert.deepEqual(texts(values.messages), ["edited", "hello from fake model"]);
  chat.unmount();
});

scenario("the thread protocol: output, values and messages of a run, and a question", async () => {
  const client = new sdk1.Client({ apiUrl: url, apiKey: null });
  const thread = client.threads.stream({ assistantId: "agent" });
  const [output, values, messages] = [thread.output, thread.values, collect(thread.messages)];
  await thread.run.start({ input: hi });
  assert.deepEqual((await output).log, ["plan", "talk", "finish"]);
  assert.deepEqual(await values, await output);
  assert.deepEqual(await Promise.all((await messages).map((message) => message.text)), ["hello from fake model"]);
  await thread.close();
  const asking = client.threads.stream({ assistantId: "agent" });
  await asking.run.start({ input: { ...hi, ask: true } });
  const question = await until("the question is asked", () => asking.interrupts[0]);
  assert.equal(question.payload.question, "approve?");
  await asking.input.respond({ interrupt_id: question.interruptId, namespace: question.namespace, response: "yes" });
  const [run] = await client.runs.list(asking.threadId);
  assert.ok((await client.runs.join(asking.threadId, run.run_id)).log.includes("approved:yes"));
  await asking.close();
});

let failed = 0;
for (const [name, test] of scenarios) {
  if (process.argv[3] && !name.includes(process.argv[3])) continue;
  try {
    await test();
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}: ${error.stack?.split("\n").slice(0, 4).join(" ")}`);
  }
}
console.log(`${scenarios.length - failed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);

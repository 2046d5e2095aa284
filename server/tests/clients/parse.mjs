// Parses the streams of generated runs with the classes of both lines of the JavaScript SDK, and compares their events
// and messages.
//
// usage: node parse.mjs FOLDER
//
// FOLDER has the files that the tests of the server write if SUPERSTEP_STREAMS names it.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";

const folder = process.argv[2];

// These classes are not exported by name.
const inner = (sdk, file) => import(new URL(`node_modules/${sdk}/dist/${file}`, import.meta.url));
const lines = {};
for (const sdk of ["@langchain/langgraph-sdk", "langgraph-sdk-2"]) {
  lines[sdk] = { ...(await inner(sdk, "utils/sse.js")), ...(await inner(sdk, "ui/messages.js")) };
}
const { MessageAssembler } = await inner("@langchain/langgraph-sdk", "client/stream/messages.js");

/** Cuts a text into pieces, as a network does. */
function pieces(text) {
  const data = new TextEncoder().encode(text);
  const lengths = [1, 7, 100, 5000];
  const cut = [];
  for (let start = 0; start < data.length; start += cut.at(-1).length) cut.push(data.subarray(start, start + lengths[cut.length % 4]));
  return new ReadableStream({ start: (to) => (cut.forEach((piece) => to.enqueue(piece)), to.close()) });
}

async function parsed({ BytesLineDecoder, SSEDecoder }, text) {
  const events = [];
  for await (const part of pieces(text).pipeThrough(BytesLineDecoder()).pipeThrough(SSEDecoder())) {
    // The line 2.0 shows a heartbeat as an event without a name.
    if (!part.event) continue;
    events.push({ event: part.event, data: part.data, id: part.id ?? null });
  }
  return events;
}

const textOf = (content) => (typeof content === "string" ? content : content.map((block) => block.text ?? "").join(""));
const callsOf = (calls) => (calls ?? []).map(({ id, name, args }) => [id, name, args]);
const told = (message) => [message.id, textOf(message.content), callsOf(message.tool_calls)];

/** Returns the messages of a stream, as the hook `useStream` assembles them. */
function foldedLegacy({ MessageTupleManager }, events) {
  const manager = new MessageTupleManager();
  const ids = new Set();
  for (const { event, data } of events) if (event === "messages") ids.add(manager.add(structuredClone(data[0]), data[1]));
  return [...ids].map((id) => told(manager.get(id).chunk));
}

/** Returns the messages of a stream of the thread protocol, as its client assembles them. */
function foldedProtocol(events) {
  const assembler = new MessageAssembler();
  const messages = [];
  for (const { event, data } of events) {
    const update = event === "messages" ? assembler.consume(data) : undefined;
    if (update?.kind === "message-finish") messages.push(update.message);
  }
  assert.deepEqual(assembler.abandonActive(), [], "each message ends");
  return messages.map(({ id, blocks }) => [id, textOf(blocks), callsOf(blocks.filter((block) => block.type === "tool_call"))]);
}

let count = 0;
const files = readdirSync(folder).filter((file) => file.endsWith(".json"));
assert.ok(files.length, "there are no streams");
for (const file of files) {
  const { streams, messages } = JSON.parse(readFileSync(`${folder}/${file}`, "utf8"));
  for (const [name, { text, events: expected }] of Object.entries(streams)) {
    for (const [sdk, classes] of Object.entries(lines)) {
      const events = await parsed(classes, text);
      assert.deepEqual(events, expected, `${file} ${name} ${sdk}`);
      if (name === "legacy") assert.deepEqual(foldedLegacy(classes, events), messages, `${file} ${name} ${sdk}`);
      count += events.length;
    }
    if (name === "protocol" || name === "channels") assert.deepEqual(foldedProtocol(expected), messages, `${file} ${name}`);
  }
}
console.log(`${count} events in the streams of ${files.length} runs were parsed`);

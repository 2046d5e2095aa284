import assert from "node:assert/strict";
import { test } from "node:test";
import { type Message, speakerOf, turns } from "../src/model/conversation";

const ask: Message = { role: "user", text: "What is a superstep?" };
const call: Message = { role: "ai", text: "", tool_calls: [{ id: "a", name: "search", input: { q: 1 } }, { id: "b", name: "search", input: { q: 2 } }] };
const second: Message = { role: "tool", text: "two", tool: "search", tool_call_id: "b" };
const first: Message = { role: "tool", text: "one", tool: "search", tool_call_id: "a", failed: true };
const stray: Message = { role: "tool", text: "of an older call", tool_call_id: "z" };

const lines = (messages: readonly Message[], before: readonly Message[] | null) =>
  turns(messages, before).map(({ message, calls, isNew }) => {
    const results = calls.map(({ result }) => (result === null ? "?" : `${result.message.text}${result.isNew ? "*" : ""}`));
    return `${isNew ? "*" : ""}${message.role} ${message.text}${results.length > 0 ? ` [${results.join(", ")}]` : ""}`;
  });

test("results stand beside their calls", () => {
  assert.deepEqual(lines([ask, call, second, first], null), ["user What is a superstep?", "ai  [one, two]"]);
  assert.deepEqual(lines([ask, call, second], null), ["user What is a superstep?", "ai  [?, two]"]);
  assert.deepEqual(lines([stray, ask], null), ["tool of an older call", "user What is a superstep?"]);
});

test("an id that is used again belongs to the latest call", () => {
  const again: Message = { role: "ai", text: "", tool_calls: [{ id: "a", name: "search", input: null }] };
  const result: Message = { role: "tool", text: "three", tool_call_id: "a" };
  assert.deepEqual(lines([call, first, second, again, result], null), ["ai  [one, two]", "ai  [three]"]);
});

test("what the step added is marked", () => {
  assert.deepEqual(lines([ask, call, first], [ask]), ["user What is a superstep?", "*ai  [one*, ?]"]);
  assert.deepEqual(lines([ask, call, first], [ask, call]), ["user What is a superstep?", "ai  [one*, ?]"]);
  assert.deepEqual(lines([ask], [ask]), ["user What is a superstep?"]);
  assert.deepEqual(lines([ask], []), ["*user What is a superstep?"]);
  // A message that was replaced, and all behind it.
  assert.deepEqual(lines([ask, stray], [{ ...ask, text: "other" }, stray]), ["*user What is a superstep?", "*tool of an older call"]);
});

test("roles of all providers are known", () => {
  const speakers = ["human", "user", "assistant", "ai", "tool", "system", "narrator"].map((role) => speakerOf({ role, text: "" }));
  assert.deepEqual(speakers, ["person", "person", "model", "model", "tool", "system", "other"]);
});

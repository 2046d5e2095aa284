// A conversation for reading: results beside their calls, and what the step added.

import type { Messages } from "../wire/documents";
import type { Json } from "../wire/json";
import { equal } from "./difference";

export type Conversation = Messages["conversations"][number];
export type Message = Conversation["messages"][number];
export type ToolCall = NonNullable<Message["tool_calls"]>[number];

export interface Result {
  readonly message: Message;
  readonly isNew: boolean;
}

/** A message with the results of its calls. */
export interface Turn {
  /** The position of the message in the conversation. */
  readonly at: number;
  readonly message: Message;
  readonly calls: readonly { readonly call: ToolCall; readonly result: Result | null }[];
  /** `true` if the step added it. */
  readonly isNew: boolean;
}

/** Returns the turns of a conversation. `before` is the same conversation before the step; `null` if that is not known. */
export function turns(messages: readonly Message[], before: readonly Message[] | null): Turn[] {
  const firstNew = before === null ? messages.length : sharedLength(messages, before);
  const all: { at: number; message: Message; calls: { call: ToolCall; result: Result | null }[]; isNew: boolean }[] = [];
  // The calls without a result, by their ids. An id may be used again later.
  const open = new Map<string, { result: Result | null }>();
  messages.forEach((message, at) => {
    const isNew = at >= firstNew;
    const place = message.tool_call_id === undefined ? undefined : open.get(message.tool_call_id);
    if (message.tool_call_id !== undefined && place !== undefined && (message.tool_calls ?? []).length === 0) {
      place.result = { message, isNew };
      open.delete(message.tool_call_id);
      return;
    }
    const calls = (message.tool_calls ?? []).map((call) => {
      const made = { call, result: null };
      if (call.id !== undefined) open.set(call.id, made);
      return made;
    });
    all.push({ at, message, calls, isNew });
  });
  return all;
}

/** Returns how many messages at the beginning are the same. */
function sharedLength(messages: readonly Message[], before: readonly Message[]): number {
  const differs = messages.findIndex((message, at) => {
    const former = before[at];
    return former === undefined || !equal(asJson(message), asJson(former));
  });
  return differs < 0 ? messages.length : differs;
}

/** Returns a message as JSON, without its absent members. */
export function asJson(message: Message): Json {
  const { role, text, id, tool, tool_call_id, failed, tool_calls } = message;
  const members: [string, Json | undefined][] = [
    ["role", role],
    ["id", id],
    ["tool", tool],
    ["tool_call_id", tool_call_id],
    ["failed", failed],
    ["text", text],
    ["tool_calls", tool_calls?.map(({ id: call, name, input }) => ({ ...(call !== undefined && { id: call }), name, input }))],
  ];
  return Object.fromEntries(members.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

export type Speaker = "person" | "model" | "tool" | "system" | "other";

/** Who speaks, of the roles of the usual providers. */
export function speakerOf({ role }: Message): Speaker {
  switch (role) {
    case "human":
    case "user":
      return "person";
    case "ai":
    case "assistant":
    case "model":
      return "model";
    case "tool":
    case "function":
      return "tool";
    case "system":
    case "developer":
      return "system";
    default:
      return "other";
  }
}

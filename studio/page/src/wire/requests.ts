// One function a route of the API.

import type { Get, Post, Query } from "./client";
import { type Decoder, json, object, text } from "./decode";
import * as shapes from "./documents";
import { graph as graphDocument } from "./graph";
import type { Json } from "./json";

/** A document that may change with the file. */
function current<T>(route: string, decode: Decoder<T>, query: Query = {}): Get<T> {
  return { route, query, decode, lasting: false };
}

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Returns `true` for the id of a checkpoint, which names the same one at any time. */
export function isId(checkpoint: string): boolean {
  return ID.test(checkpoint);
}

/** A document about the past of checkpoints, which does not change if they are named by their ids. */
function past<T>(route: string, decode: Decoder<T>, query: Query, checkpoints: readonly (string | undefined)[]): Get<T> {
  const lasting = checkpoints.every((checkpoint) => checkpoint === undefined || isId(checkpoint));
  return { route, query, decode, lasting };
}

export const session = () => current("session", shapes.session);

export interface ThreadFilter {
  readonly status?: string | null;
  readonly graph?: string | null;
  readonly text?: string | null;
}

export const threads = (from: number, count: number, { status, graph, text }: ThreadFilter = {}) =>
  current("threads", shapes.threads, { from, count, status, graph, text });

export const interrupts = (from: number, count: number) => current("interrupts", shapes.interrupts, { from, count });

/** The timeline with all branches, from a row on, or the rows around a checkpoint. */
export const log = (thread: string, from: number, count: number, around?: string) =>
  current("log", shapes.log, { thread, from, count, graph: true, around });

/** A checkpoint and its past, without branches: rows from one before the checkpoint on. */
export const branch = (checkpoint: string, from: number, count: number) => past("log", shapes.log, { thread: checkpoint, from, count }, [checkpoint]);

export const show = (checkpoint: string) => current("show", shapes.show, { checkpoint });

/** The value at a path of the state. */
export const value = (checkpoint: string, path: string) => past("show", json, { checkpoint, path }, [checkpoint]);

export const messages = (checkpoint: string, path?: string) =>
  past("show", shapes.messages, { checkpoint, path, messages: true }, [checkpoint]);

/** Compares a checkpoint with its parent, or two checkpoints. */
export const diff = (checkpoint: string, other?: string) =>
  past("diff", shapes.diff, { checkpoint, other }, [checkpoint, other]);

export const blame = (checkpoint: string, path: string) => past("blame", shapes.blame, { checkpoint, path }, [checkpoint]);

export const why = (checkpoint: string, node: string) => past("why", shapes.why, { checkpoint, node }, [checkpoint]);

export const grep = (pattern: string, thread?: string) => current("grep", shapes.grep, { pattern, thread });

export const bisect = (checkpoint: string, path: string, is: string, linear = false) =>
  past("bisect", shapes.bisect, { checkpoint, path, is, linear }, [checkpoint]);

export const compare = (a: string, b: string) => past("compare", shapes.compare, { a, b }, [a, b]);

export const calls = (checkpoint: string) => past("calls", shapes.calls, { checkpoint }, [checkpoint]);

export const graph = (thread: string) => current("graph", graphDocument, { thread });

export const strip = (thread: string, width: number) => current("strip", shapes.strip, { thread, width });

export const test = (checkpoint: string, step = false) => past("test", shapes.test, { checkpoint, step }, [checkpoint]);

/** The export of a thread, as its JSON. */
export const exported = (thread: string, redact: boolean) => current("export", json, { thread, redact });

export interface Assignment {
  readonly path: string;
  readonly value: Json;
}

const assignments = (set: readonly Assignment[]): Json => set.map(({ path, value }) => ({ path, value }));

const given = (members: { [name: string]: Json | undefined }): { [name: string]: Json } =>
  Object.fromEntries(Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));

function writes<T>(route: string, decode: Decoder<T>, body: { [name: string]: Json | undefined }): Post<T> {
  return { route, decode, body: given(body) };
}

const begun = object({}, { run: text });

export interface EditOptions {
  /** The name of a new thread. */
  readonly name?: string | undefined;
  /** The node as which the values are written, and the case that it chooses. */
  readonly as?: string | undefined;
  readonly case?: string | undefined;
  /** `true` to change a field to another kind of JSON. */
  readonly force?: boolean | undefined;
}

export const preview = (checkpoint: string, set: readonly Assignment[], { as, case: chosen, force }: EditOptions = {}) =>
  writes("preview", shapes.diff, { checkpoint, set: assignments(set), as, case: chosen, force });

export const edit = (checkpoint: string, set: readonly Assignment[], { name, as, case: chosen, force }: EditOptions = {}) =>
  writes("edit", shapes.edited, { checkpoint, set: assignments(set), name, as, case: chosen, force });

export const fork = (checkpoint: string, name?: string) => writes("fork", shapes.forked, { checkpoint, name });

export const name = (checkpoint: string, name: string) => writes("name", shapes.names, { checkpoint, name });

export const answer = (thread: string, answers: { [id: string]: Json }) => writes("answer", begun, { thread, answers });

export const run = (thread: string, input: Json, graph?: string) => writes("run", begun, { thread, input, graph });

export const resume = (thread: string) => writes("resume", begun, { thread });

export const rerun = (checkpoint: string) => writes("rerun", begun, { checkpoint });

export const replay = (checkpoint: string, after?: string) => writes("replay", shapes.replay, { checkpoint, after });

export const cancel = (thread: string) => writes("cancel", json, { thread });

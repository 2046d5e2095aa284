// The documents of `superstep VERB --json`, as docs/cli.md has them, and what the studio adds to them.

import { type Of, both, choice, entries, flag, json, list, nullable, number, object, pair, tagged, text } from "./decode";

export const usage = object(
  { model_calls: number, input_tokens: number, output_tokens: number, elapsed_ms: number },
  { cache_read_tokens: number, cost: number },
);
export type Usage = Of<typeof usage>;

export const source = choice("input", "loop", "update", "fork", "pruned");

export const question = object(
  { id: text, node: text, question: json },
  { path: list(text), answer: json, answered_by: text, deadline: text, schema: json },
);
export type Question = Of<typeof question>;

export const errorReport = object({ kind: json, message: text }, { causes: list(text) });
export type ErrorReport = Of<typeof errorReport>;

/** A failed task of a superstep that was tried on top of a checkpoint. */
export const failedTask = object({ node: text, error: errorReport }, { attempts: number });

/** A checkpoint, in one line. */
export const line = object(
  {
    id: text,
    thread: text,
    step: number,
    source,
    at: text,
    run: text,
    ran: list(text),
    next: list(text),
    changed: list(text),
  },
  {
    parent: text,
    name: text,
    head_of: list(text),
    names: list(text),
    started_at: text,
    took_ms: number,
    used: usage,
  },
);
export type Line = Of<typeof line>;

/** A row of the timeline: a checkpoint with its lane, and the work that was done on top of it. */
export const row = both(
  line,
  object(
    {},
    {
      lane: number,
      /** The lanes of other branches that pass this row. */
      passing: list(number),
      /** The lanes that end here: branches that begin at this checkpoint. */
      branches: list(number),
      /** `true` if its lane continues below it. */
      goes_on: flag,
      questions: list(question),
      failures: list(failedTask),
    },
  ),
);
export type Row = Of<typeof row>;

export const log = object(
  { thread: text, checkpoints: list(row), more: flag },
  { name: text, total: number, from: number },
);
export type Log = Of<typeof log>;

export const session = object(
  { file: text, program: flag, graphs: list(text), version: text, format: json },
  { verbs: list(text) },
);

export const lease = object({ holder: text, until: text, over: flag, fence: number });
export type Lease = Of<typeof lease>;

export const status = choice("finished", "waiting", "failed", "unfinished");
export type Status = Of<typeof status>;

export const thread = object(
  {
    thread: text,
    graph: text,
    status,
    step: number,
    head: text,
    next: list(text),
    questions: number,
    checkpoints: number,
    branches: number,
    bytes: number,
    at: text,
  },
  { name: text, lease, input: text, tokens: number, cost: number },
);
export type Thread = Of<typeof thread>;

export const damagedThread = object({ problem: text }, { thread: text });

export type DamagedThread = Of<typeof damagedThread>;

export const threads = object({ threads: list(thread) }, { total: number, damaged: list(damagedThread) });
export type Threads = Of<typeof threads>;

export const openQuestion = both(object({ thread: text }), question);
export type OpenQuestion = Of<typeof openQuestion>;

export const interrupts = object({ interrupts: list(openQuestion) }, { total: number });

export const effect = object({ name: text, starts: number }, { node: text, key: text, ok: json, error: text });
export type Effect = Of<typeof effect>;

export const ranTask = object(
  { node: text, writes: list(object({ field: text, op: text, value: json })) },
  { route: text, targets: list(text), handled: errorReport, subgraph: text },
);
export type RanTask = Of<typeof ranTask>;

export const plannedTask = object(
  { node: text, id: text, status: choice("planned", "finished", "failed", "waiting") },
  { input: json, error: errorReport, attempts: number, subgraph: text },
);
export type PlannedTask = Of<typeof plannedTask>;

export const show = both(
  line,
  object(
    { graph: text, state: json, tasks: list(ranTask), next_tasks: list(plannedTask) },
    { questions: list(question), effects: list(effect), lease, metadata: entries(json) },
  ),
);
export type Show = Of<typeof show>;

export const messages = object({
  conversations: list(
    object({
      path: text,
      messages: list(
        object(
          { role: text, text },
          {
            id: text,
            tool: text,
            tool_call_id: text,
            failed: flag,
            tool_calls: list(object({ name: text, input: json }, { id: text })),
          },
        ),
      ),
    }),
  ),
});
export type Messages = Of<typeof messages>;

export const difference = both(
  object({ path: text }),
  tagged("edit", {
    added: object({ value: json }, { at: number }),
    removed: object({ value: json }),
    changed: object({ from: json, to: json }),
    reordered: object({ ids: list(json) }),
  }),
);
export type Difference = Of<typeof difference>;

export const diff = object(
  { from: nullable(text), to: text, state: list(difference), effects: list(effect) },
  { from_names: list(text), to_names: list(text), used: usage },
);
export type Diff = Of<typeof diff>;

export const author = object({ checkpoint: text, step: number, source, tasks: list(pair(number, text)) }, { item: json });
export type Author = Of<typeof author>;

export const blame = object({
  parts: list(object({ path: text, value: json, author }, { overwrote: object({ value: json, author }) })),
});
export type Blame = Of<typeof blame>;

export const via = tagged("via", {
  input: object({}),
  edge: object({ task: number, node: text }),
  decision: object({ task: number, node: text }, { case: text }),
  join: object({ task: number, node: text }),
  each: object({ task: number, node: text, index: number }, { case: text }),
  deferred: object({ nodes: list(text) }),
  edit: object({}),
});
export type Via = Of<typeof via>;

export const why = object({
  steps: list(
    object({ step: number, planned_on: text, tasks: list(object({ task: number, node: text, by: list(via) })) }),
  ),
});
export type Why = Of<typeof why>;

const place = tagged("place", {
  state: object({ path: text }),
  effect: object({ name: text }, { key: text }),
  question: object({ node: text }),
  answer: object({ node: text }),
  failure: object({ node: text }),
  emitted: object({ node: text }),
  metadata: object({ name: text }),
});

const found = object(
  { thread: text, checkpoint: text, step: number, part: choice("key", "value"), text, match: text },
  { name: text },
);

export const grep = object({ matches: list(both(found, place)) }, { total: number });
export type Grep = Of<typeof grep>;

export const bisect = object(
  { found: choice("first", "always", "never"), flips_back: flag, evaluated: number, checkpoints: number },
  { checkpoint: line },
);
export type Bisect = Of<typeof bisect>;

const branch = object({ thread: text, own: list(line) }, { used: usage });

export const compare = object({ a: branch, b: branch, state: list(difference) }, { common: line });
export type Compare = Of<typeof compare>;

export const calls = object(
  {
    checkpoint: text,
    thread: text,
    calls: list(
      object(
        { thread: text, name: text, input_tokens: number, output_tokens: number, response: json },
        {
          subgraph: text,
          node: text,
          key: text,
          /** The checkpoint with the state from which the request was made. */
          planned_on: text,
          model: text,
          cache_read_tokens: number,
          elapsed_ms: number,
          first_token_ms: number,
          request: json,
          cost: number,
        },
      ),
    ),
  },
  { used: usage },
);
export type Calls = Of<typeof calls>;

export const test = object(
  { thread: text, checkpoint: text, graph: text, from: text, supersteps: number, code: text },
  { secrets: list(text) },
);
export type Test = Of<typeof test>;

export const strip = object({
  started_at: text,
  ended_at: text,
  work_ms: number,
  wait_ms: number,
  queue_ms: number,
  spans: list(object({ from: number, to: number, kind: choice("work", "wait", "queue"), checkpoint: text })),
});
export type Strip = Of<typeof strip>;

export const edited = object({
  thread: text,
  checkpoint: text,
  from: text,
  branch: flag,
  new_thread: flag,
  step: number,
  state: list(difference),
  pending: flag,
  next: list(text),
});

export const forked = object({ thread: text, checkpoint: text, from: text, branch: flag, step: number, next: list(text) });

export const names = object({ thread: text, names: list(object({ name: text, id: text, step: number, at: text })) });

/** The first difference between the recording and the replay. */
export const replayDifference = tagged("kind", {
  effect_not_recorded: object({ effect: text, key: text }, { recorded_key: nullable(text) }),
  effect_not_reached: object({ effect: text, key: text }),
  question: object({ key: text, question: json }),
  failed: object({ error: errorReport }),
  value: object({ path: text }, { field: nullable(text), recorded: json, replayed: json }),
  not_runnable: object({ reason: text }),
  schema: object({}),
});
export type ReplayDifference = Of<typeof replayDifference>;

export const replay = object(
  {
    thread: text,
    checkpoint: text,
    supersteps: number,
    divergent: number,
    unverified: list(object({ thread: text, checkpoint: text, step: number, node: text, why: json })),
    other_topology: flag,
  },
  {
    first: nullable(
      object({ thread: text, path: list(text), checkpoint: text, step: number, difference: replayDifference }, { node: nullable(text) }),
    ),
  },
);
export type Replay = Of<typeof replay>;

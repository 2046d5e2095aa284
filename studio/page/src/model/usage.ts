// Tokens, durations and costs of model calls, in words.

import type { Calls, Row, Usage } from "../wire/documents";
import { cost, counted, duration } from "./words";

export type Call = Calls["calls"][number];

const COUNT = new Intl.NumberFormat("en");

/** Returns a count with all its digits: 12,345. */
export function exact(count: number): string {
  return COUNT.format(count);
}

/** Returns the usage of several calls. */
export function usageWords({ model_calls, input_tokens, output_tokens, cache_read_tokens, elapsed_ms, cost: amount }: Usage): string[] {
  return [
    counted(model_calls, "model call"),
    `${exact(input_tokens)} tokens in${cachedWords(cache_read_tokens)}`,
    `${exact(output_tokens)} tokens out`,
    duration(elapsed_ms),
    ...(amount === undefined ? [] : [`cost ${cost(amount)}`]),
  ];
}

function cachedWords(tokens: number | undefined): string {
  return tokens === undefined || tokens === 0 ? "" : ` (${exact(tokens)} of them cached)`;
}

/** Returns the row of the nearest earlier step on the same branch that called a model, among the rows that have been read. */
export function earlierCalls(row: Row | null, rows: readonly Row[]): Row | null {
  if (row === null) return null;
  const byId = new Map(rows.map((read) => [read.id, read]));
  let here = row.parent === undefined ? undefined : byId.get(row.parent);
  while (here !== undefined) {
    if (here.used !== undefined && here.used.model_calls > 0) return here;
    here = here.parent === undefined ? undefined : byId.get(here.parent);
  }
  return null;
}

/** The prompt of a call: as it was recorded, or the state from which it was made. */
export type Prompt =
  | { readonly is: "recorded" }
  /** The checkpoint with the conversation. */
  | { readonly is: "state"; readonly checkpoint: string }
  | { readonly is: "unknown" };

/** Tells where the prompt of a call is. `parent` is the parent of the checkpoint whose calls are listed. */
export function promptOf(call: Call, parent: string | undefined): Prompt {
  if (call.request !== undefined) return { is: "recorded" };
  // A call of the step itself was made from the state before the step.
  const checkpoint = call.planned_on ?? (call.subgraph === undefined ? parent : undefined);
  return checkpoint === undefined ? { is: "unknown" } : { is: "state", checkpoint };
}

// The report of a replay, in words.

import type { Replay, ReplayDifference } from "../wire/documents";
import { type Json, isObject } from "../wire/json";
import { preview } from "./content";
import { counted, shown, shownNode } from "./words";

export interface Verdict {
  readonly tone: "good" | "bad" | "plain";
  readonly words: string;
}

/** Returns the result of a replay. Its counts include the supersteps of subgraphs. */
export function verdictOf({ supersteps, divergent, first, unverified }: Replay): Verdict {
  if (first === null || first === undefined) {
    if (supersteps === 0 && unverified.length === 0) return { tone: "plain", words: "There is nothing to replay: no superstep led to this step." };
    return { tone: "good", words: `Equal: ${counted(supersteps, "superstep")} came out as recorded.` };
  }
  return { tone: "bad", words: `Different: ${divergent} of ${counted(supersteps + divergent, "superstep")} came out otherwise.` };
}

/** Returns a difference that is no pair of values, in the words of the command line. */
export function differenceWords(difference: ReplayDifference): string {
  switch (difference.kind) {
    case "effect_not_recorded": {
      const { effect, key, recorded_key: recorded } = difference;
      return `The code reached ${effectWords(effect, key)}, ${recorded === null || recorded === undefined ? "which is not recorded" : `which is recorded as ${effectWords(effect, recorded)}`}. It did not run.`;
    }
    case "effect_not_reached":
      return `${capital(effectWords(difference.effect, difference.key))} is recorded, and the code did not reach it.`;
    case "question":
      return `The code asked ${preview(difference.question, 400)}, and no answer to it is recorded.`;
    case "failed":
      return `It failed: ${shown([difference.error.message, ...(difference.error.causes ?? [])].join(": "))}`;
    case "value":
      return `${difference.field === null || difference.field === undefined ? "A value" : `Field ${shown(difference.field)}`} came out otherwise, at ${shown(difference.path)}.`;
    case "not_runnable":
      return `The superstep cannot be run: ${shown(difference.reason)}`;
    case "schema":
      return "It was recorded with another schema of the state, so its writes cannot be compared.";
  }
}

function effectWords(effect: string, key: string): string {
  return key === "" ? `effect ${shown(effect)}` : `effect ${shown(effect)} with key ${shown(JSON.stringify(key))}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Returns the place of a divergence: its step, and its node. */
export function placeWords({ step, path, node }: { readonly step: number; readonly path: readonly string[]; readonly node?: string | null }): string {
  const above = path.map((each) => ` of ${shownNode(each)}`).join("");
  return `Step ${step}${above}${node === null || node === undefined ? "" : `, node ${shownNode(node)}`}`;
}

/** Returns why the outcome of a task was used without verification. */
export function unverifiedWords(why: Json): string {
  if (isObject(why) && why["error"] !== undefined && isObject(why["error"])) {
    const { effect } = why["error"];
    return `effect ${typeof effect === "string" ? shown(effect) : "?"} failed, with an error that cannot be made again`;
  }
  switch (why) {
    case "cached":
      return "its outcome came from the cache";
    case "edited":
      return "an edit came before it";
    case "pruned":
      return "what it began with was pruned";
    case "subgraph":
      return "the thread of its subgraph was deleted";
    default:
      return "for an unknown reason";
  }
}

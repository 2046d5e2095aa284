// Blame and why in words, and the checkpoints to which they lead.

import type { Author, Row, Via, Why } from "../wire/documents";
import { preview } from "./content";
import { grouped, shown, shownNode } from "./words";

/** Names the author of a value: its nodes, and the item that a node was given. */
export function authorWords({ tasks, item, source }: Author): string {
  if (source === "input") return "input";
  const nodes = tasks.map(([, node]) => shownNode(node));
  const [node] = nodes;
  if (node === undefined) return source === "update" ? "edit" : source;
  return nodes.length === 1 && item !== undefined ? `${node} ${preview(item, 80)}` : grouped(nodes);
}

/** Returns a cause of a task, in the words of the command line. */
export function viaWords(via: Via): string {
  switch (via.via) {
    case "input":
      return "the input";
    case "edge":
      return `an edge from ${shownNode(via.node)}`;
    case "decision":
      return via.case === undefined ? `a branch of ${shownNode(via.node)}` : `the route ${shownNode(via.node)} → ${shown(via.case)}`;
    case "join":
      return `a join that ${shownNode(via.node)} completed`;
    case "each":
      return `item ${via.index} of ${shownNode(via.node)}${via.case === undefined ? "" : ` → ${shown(via.case)}`}`;
    case "deferred":
      return `its turn after ${via.nodes.map(shownNode).join(", ")}`;
    case "edit":
      return "an edit";
  }
}

/** One superstep of a chain of causes. */
export interface Link {
  readonly step: number;
  /** The checkpoint to go to: the one that the superstep made; if it has not run, the one on which it is planned. */
  readonly checkpoint: string;
  readonly isPlanned: boolean;
  readonly tasks: readonly { readonly node: string; readonly by: readonly string[] }[];
}

export interface Chain {
  readonly links: readonly Link[];
  /** The checkpoint with which the chain begins, and what that is; `pruned` if the steps before it are gone. */
  readonly origin: { readonly checkpoint: string; readonly is: "input" | "edit" | "deferred" | "pruned" } | null;
}

/** Returns the chain from a task back to its origin. `selected` is the checkpoint that was asked about. */
export function chainOf({ steps }: Why, selected: Pick<Row, "id" | "next"> | null): Chain {
  const links = steps.map(({ step, planned_on, tasks }, at): Link => {
    // An edit keeps what is next: it may be planned on a checkpoint before the selected one.
    const isPlanned = at === 0 && (selected === null || tasks.some(({ node }) => selected.next.includes(node)));
    const made = at === 0 ? selected?.id : steps[at - 1]?.planned_on;
    return {
      step,
      checkpoint: made ?? planned_on,
      isPlanned,
      tasks: tasks.map(({ node, by }) => ({ node, by: [...new Set(by.map(viaWords))] })),
    };
  });
  const last = steps.at(-1);
  if (last === undefined) return { links, origin: null };
  const vias = new Set(last.tasks.flatMap(({ by }) => by.map(({ via }) => via)));
  const is = (["input", "edit", "deferred"] as const).find((via) => vias.has(via)) ?? "pruned";
  return { links, origin: { checkpoint: last.planned_on, is } };
}

// The nodes as which an edit can be written, with the cases that they choose.

import type { StoredGraph } from "../wire/graph";
import { grouped, shownNode } from "./words";

export interface NodeCases {
  readonly node: string;
  /** The names of its cases; empty if it does not decide. */
  readonly cases: readonly string[];
}

/** Returns the nodes of a graph, those that are next first. */
export function nodesFor(graph: StoredGraph, next: readonly string[]): NodeCases[] {
  const nodes = graph.nodes.filter(({ name }) => name !== "__start__" && name !== "__end__");
  const isNext = new Set(next);
  const ordered = [...nodes.filter(({ name }) => isNext.has(name)), ...nodes.filter(({ name }) => !isNext.has(name))];
  return ordered.map(({ name, decisions }) => ({
    node: name,
    cases: [...new Set(decisions.filter(({ on_error: onError }) => !onError).flatMap(({ cases }) => cases.map((each) => each.case)))],
  }));
}

/** Returns the nodes that are next, in a sentence. */
export function nextOf(next: readonly string[]): string {
  return next.length === 0 ? "No node is next." : `Next is ${grouped(next.map(shownNode))}.`;
}

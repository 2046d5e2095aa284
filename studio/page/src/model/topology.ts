// The edges of a stored graph, in the order in which the server draws them.

import type { StoredGraph } from "../wire/graph";

/** The condition under which an edge is taken. */
export type Condition = "always" | "case" | "each" | "error" | "perhaps" | "join";

export interface Arrow {
  /** The positions of its nodes. */
  readonly from: number;
  readonly to: number;
  readonly condition: Condition;
  /** The condition in words; empty if there is none to say. */
  readonly label: string;
}

/** Returns all edges between nodes of the graph. A case without a target leads to END. */
export function arrows(graph: StoredGraph): Arrow[] {
  const positions = new Map(graph.nodes.map(({ name }, at) => [name, at]));
  const end = positions.get("__end__") ?? 1;
  const all: Arrow[] = [];
  const push = (from: string, to: number | undefined, condition: Condition, label = "") => {
    const start = positions.get(from);
    if (start !== undefined && to !== undefined) all.push({ from: start, to, condition, label });
  };
  for (const { name, edges, decisions } of graph.nodes) {
    for (const target of edges) push(name, positions.get(target), "always");
    for (const { cases, may_reach, on_error } of decisions) {
      for (const { case: chosen, to, each } of cases) {
        const [one, many] = on_error ? (["error", "error"] as const) : (["case", "each"] as const);
        const label = on_error ? `on error: ${chosen}` : chosen;
        if (to.length === 0 && each.length === 0) push(name, end, one, label);
        for (const target of to) push(name, positions.get(target), one, label);
        for (const target of each) push(name, positions.get(target), many, on_error ? label : `each ${chosen}`);
      }
      for (const target of may_reach) push(name, positions.get(target), "perhaps");
    }
  }
  for (const { sources, target } of graph.joins) {
    for (const from of sources) push(from, positions.get(target), "join");
  }
  return all;
}

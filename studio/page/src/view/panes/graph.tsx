// The graph of the thread: the drawing, and the same as a table.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { type Execution, executionTo } from "../../model/execution";
import { isHeld } from "../../model/standing";
import type { Row, Show } from "../../wire/documents";
import type { GraphDocument } from "../../wire/graph";
import * as requests from "../../wire/requests";
import { useDocument, useStudio, useTimelineRows } from "../context";
import { useStable } from "../memo";
import { drawn } from "../parts";
import { GraphDrawing } from "./graph_drawing";
import { NodeTable } from "./graph_table";
import type { PaneProps } from "./registry";

/** The look of a node: what it does or did, and by how many tasks of the step. */
export interface NodeLook {
  readonly is: "now" | "ran" | "next" | "running" | "waiting" | "failed";
  readonly tasks: number;
}

export const WORDS: { readonly [I in NodeLook["is"]]: string } = {
  now: "this step",
  ran: "ran before",
  next: "next",
  running: "running",
  waiting: "waits for an answer",
  failed: "failed",
};

/** What the drawing and the table get. */
export interface GraphProps {
  readonly graph: GraphDocument;
  readonly looks: ReadonlyMap<string, NodeLook>;
  readonly execution: Execution;
  /** The paths of the nodes whose subgraphs are not shown. */
  readonly closed: readonly string[];
  readonly choose: (node: string) => void;
  readonly toggle: (name: string) => void;
}

/** The name of a node of a subgraph: the nodes that lead to it, and its own. */
export function pathName(path: readonly string[]): string {
  return JSON.stringify(path);
}

export function GraphPane({ thread, row }: PaneProps): JSX.Element {
  const studio = useStudio();
  const graph = useDocument(requests.graph(thread));
  const head = useDocument(requests.show(thread));
  const rows = useTimelineRows();
  const execution = useMemo(() => executionTo(row, rows), [row, rows]);
  const closed = closedOf(studio.view.value.parameters.closed);
  const choose = useStable((node: string) => {
    const run = execution.nodes.get(node);
    if (run !== undefined) studio.select(run.latest.id);
  });
  const toggle = useStable((name: string) => {
    const next = closed.includes(name) ? closed.filter((other) => other !== name) : [...closed, name];
    studio.set({ closed: next.length === 0 ? null : JSON.stringify(next) });
  });
  const shared = { looks: looksOf(row, execution, head.value), execution, closed, choose, toggle };
  return drawn(graph, "Reading the graph …", (document) => (
    <div class="graph-pane">
      <p class="legend" aria-hidden="true">
        {(["now", "ran", "next"] as const).map((is) => (
          <span key={is} class={`legend-item ${is}`}>
            {WORDS[is]}
          </span>
        ))}
      </p>
      <GraphDrawing graph={document} {...shared} />
      <NodeTable graph={document} {...shared} />
    </div>
  ));
}

/** Reads the paths of closed subgraphs from the address. */
function closedOf(parameter: string | undefined): readonly string[] {
  if (parameter === undefined) return [];
  try {
    const read: unknown = JSON.parse(parameter);
    return Array.isArray(read) ? read.filter((path): path is string => typeof path === "string") : [];
  } catch {
    // A link that was edited by hand.
    return [];
  }
}

/** How each node looks: what it does now comes before what it did. */
function looksOf(row: Row | null, execution: Execution, head: Show | null): ReadonlyMap<string, NodeLook> {
  const looks = new Map<string, NodeLook>();
  for (const node of execution.nodes.keys()) looks.set(node, { is: "ran", tasks: 0 });
  if (row === null) return looks;
  for (const node of new Set(row.ran)) looks.set(node, { is: "now", tasks: count(row.ran, node) });
  if (row.next.length === 0 && row.ran.length > 0) looks.set("__end__", { is: "now", tasks: 1 });
  const pending = head !== null && head.id === row.id ? head : null;
  for (const node of new Set(row.next)) {
    const is = pendingLook(node, pending);
    // A node that has just run and is next again keeps its look, unless what comes needs attention.
    if (is !== "next" || looks.get(node)?.is !== "now") looks.set(node, { is, tasks: count(row.next, node) });
  }
  return looks;
}

/** What a node that is next does; `head` is the latest checkpoint, if that is selected. */
function pendingLook(node: string, head: Show | null): NodeLook["is"] {
  const states = (head?.next_tasks ?? []).filter((task) => task.node === node).map(({ status }) => status);
  if (states.includes("failed")) return "failed";
  if (states.includes("waiting")) return "waiting";
  return head !== null && isHeld(head) && states.includes("planned") ? "running" : "next";
}

function count(nodes: readonly string[], node: string): number {
  return nodes.filter((other) => other === node).length;
}

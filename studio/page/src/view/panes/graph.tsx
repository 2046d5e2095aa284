// The graph of the thread: the drawing, and the same as a table.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { type Execution, executionTo } from "../../model/execution";
import { type Arrow, arrows } from "../../model/topology";
import { duration, grouped, shownNode } from "../../model/words";
import type { Row, Show } from "../../wire/documents";
import type { GraphDocument, NodeRuns } from "../../wire/graph";
import * as requests from "../../wire/requests";
import { useDocument, useStudio } from "../context";
import { FailureSentence, Sentence } from "../parts";
import { Icon } from "../status";
import { GraphDrawing, type NodeLook } from "./graph_drawing";
import type { PaneProps } from "./registry";

export function GraphPane({ thread, row }: PaneProps): JSX.Element {
  const studio = useStudio();
  const graph = useDocument(requests.graph(thread));
  const head = useDocument(requests.show(thread));
  const rows = studio.timeline.value;
  const version = rows?.version.value ?? 0;
  const execution = useMemo(() => executionTo(row, (rows?.all() ?? []).map(([, read]) => read)), [row, rows, version]);
  if (graph.failure !== null) return <FailureSentence failure={graph.failure} />;
  if (graph.value === null) return <Sentence>Reading the graph …</Sentence>;
  const looks = looksOf(row, execution, head.value);
  const choose = (node: string) => {
    const run = execution.nodes.get(node);
    if (run !== undefined) studio.select(run.latest.id);
  };
  return (
    <div class="graph-pane">
      <Legend />
      <GraphDrawing graph={graph.value} looks={looks} execution={execution} choose={choose} />
      <NodeTable graph={graph.value} looks={looks} execution={execution} choose={choose} />
    </div>
  );
}

/** How each node looks: what it does now comes before what it did. */
function looksOf(row: Row | null, execution: Execution, head: Show | null): ReadonlyMap<string, NodeLook> {
  const looks = new Map<string, NodeLook>();
  for (const node of execution.nodes.keys()) looks.set(node, { is: "ran", tasks: 0 });
  if (row === null) return looks;
  for (const node of new Set(row.ran)) looks.set(node, { is: "now", tasks: count(row.ran, node) });
  const isHead = head !== null && head.id === row.id;
  const isRunning = isHead && head.lease !== undefined && !head.lease.over;
  for (const node of new Set(row.next)) {
    const tasks = isHead ? head.next_tasks.filter((task) => task.node === node) : [];
    const is = tasks.some(({ status }) => status === "failed")
      ? "failed"
      : tasks.some(({ status }) => status === "waiting")
        ? "waiting"
        : isRunning && tasks.some(({ status }) => status === "planned")
          ? "running"
          : "next";
    // A node that is next and has just run keeps the look of what comes only if that needs attention.
    if (is !== "next" || !looks.has(node) || looks.get(node)?.is === "ran") looks.set(node, { is, tasks: count(row.next, node) });
  }
  return looks;
}

function count(nodes: readonly string[], node: string): number {
  return nodes.filter((other) => other === node).length;
}

const WORDS: { readonly [I in NodeLook["is"]]: string } = {
  now: "this step",
  ran: "ran before",
  next: "next",
  running: "running",
  waiting: "waits for an answer",
  failed: "failed",
};

function Legend(): JSX.Element {
  return (
    <p class="legend" aria-hidden="true">
      {(["now", "ran", "next"] as const).map((is) => (
        <span key={is} class={`legend-item ${is}`}>
          {WORDS[is]}
        </span>
      ))}
    </p>
  );
}

interface TableProps {
  readonly graph: GraphDocument;
  readonly looks: ReadonlyMap<string, NodeLook>;
  readonly execution: Execution;
  readonly choose: (node: string) => void;
}

/** Returns the runs of a node on the whole thread, or on the way to the selected step as far as that is known. */
export function runsOf(node: string, runs: readonly NodeRuns[] | undefined, execution: Execution): { runs: number; took_ms: number } | null {
  const whole = runs?.find(({ path }) => path.length === 1 && path[0] === node);
  if (whole !== undefined) return { runs: whole.runs, took_ms: whole.took_ms ?? 0 };
  return runs === undefined ? (execution.nodes.get(node) ?? null) : null;
}

function NodeTable({ graph, looks, execution, choose }: TableProps): JSX.Element {
  const leading = arrows(graph);
  return (
    <table class="plain-table">
      <caption>
        Nodes of {shownNode(graph.name)}
        {graph.runs === undefined && execution.isPart && ", counted over the steps that the timeline has read"}
      </caption>
      <thead>
        <tr>
          <th scope="col">Node</th>
          <th scope="col" class="number">
            Runs
          </th>
          <th scope="col" class="number">
            Time
          </th>
          <th scope="col">Leads to</th>
        </tr>
      </thead>
      <tbody>
        {graph.nodes
          .filter(({ name }) => name !== "__end__")
          .map(({ name }, at) => {
            const run = runsOf(name, graph.runs, execution);
            const look = looks.get(name);
            const latest = execution.nodes.get(name)?.latest;
            return (
              <tr key={name} class={look?.is === "now" ? "selected" : ""}>
                <th scope="row">
                  {latest === undefined ? (
                    shownNode(name)
                  ) : (
                    <button type="button" class="link" title={`Select step ${latest.step}, where it ran last`} onClick={() => choose(name)}>
                      {shownNode(name)}
                    </button>
                  )}
                  {look !== undefined && look.is !== "ran" && <NodeWord look={look} />}
                </th>
                <td class="number">{run?.runs ?? ""}</td>
                <td class="number">{run === null ? "" : duration(run.took_ms)}</td>
                <td class="dim">{targets(graph, leading, graph.nodes.findIndex((node) => node.name === name) ?? at)}</td>
              </tr>
            );
          })}
      </tbody>
    </table>
  );
}

function NodeWord({ look }: { readonly look: NodeLook }): JSX.Element {
  const tone = { now: "plain", ran: "plain", next: "plain", running: "run", waiting: "wait", failed: "bad" }[look.is] as "plain" | "run" | "wait" | "bad";
  return (
    <span class={`tag ${tone}`}>
      {tone !== "plain" && <Icon tone={tone} />}
      {WORDS[look.is]}
      {look.tasks > 1 && ` ×${look.tasks}`}
    </span>
  );
}

function targets(graph: GraphDocument, all: readonly Arrow[], from: number): string {
  const names = all.filter((arrow) => arrow.from === from).map(({ to, label }) => {
    const name = shownNode(graph.nodes[to]?.name ?? "");
    return label ? `${name} (${shownNode(label)})` : name;
  });
  return grouped(names);
}

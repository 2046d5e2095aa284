// The graph of the thread: the drawing, and the same as a table.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { type Execution, executionTo } from "../../model/execution";
import { arrows } from "../../model/topology";
import { duration, grouped, shownNode } from "../../model/words";
import type { Row, Show } from "../../wire/documents";
import type { GraphDocument } from "../../wire/graph";
import * as requests from "../../wire/requests";
import { useDocument, useStudio } from "../context";
import { memo, useStable } from "../memo";
import { FailureSentence, Sentence } from "../parts";
import { Icon } from "../status";
import { GraphDrawing, type NodeLook, runsAt } from "./graph_drawing";
import type { PaneProps } from "./registry";

export function GraphPane({ thread, row }: PaneProps): JSX.Element {
  const studio = useStudio();
  const graph = useDocument(requests.graph(thread));
  const head = useDocument(requests.show(thread));
  const rows = studio.timeline.value;
  const version = rows?.version.value ?? 0;
  const execution = useMemo(() => executionTo(row, (rows?.all() ?? []).map(([, read]) => read)), [row, rows, version]);
  const choose = useStable((node: string) => {
    const run = execution.nodes.get(node);
    if (run !== undefined) studio.select(run.latest.id);
  });
  if (graph.failure !== null) return <FailureSentence failure={graph.failure} />;
  if (graph.value === null) return <Sentence>Reading the graph …</Sentence>;
  const looks = looksOf(row, execution, head.value);
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

function NodeTable({ graph, looks, execution, choose }: TableProps): JSX.Element {
  const leading = useMemo(() => targets(graph), [graph]);
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
        {graph.nodes.map(({ name }, at) => {
          if (name === "__end__") return null;
          const run = graph.runs === undefined ? execution.nodes.get(name) : runsAt(graph.runs, [name]);
          const look = looks.get(name);
          return (
            <NodeRow
              key={name}
              name={name}
              is={look?.is ?? null}
              tasks={look?.tasks ?? 0}
              runs={run?.runs ?? null}
              took={run?.took_ms ?? null}
              latest={execution.nodes.get(name)?.latest.step ?? null}
              leadsTo={leading[at] ?? ""}
              choose={choose}
            />
          );
        })}
      </tbody>
    </table>
  );
}

type NodeRowProps = {
  readonly name: string;
  readonly is: NodeLook["is"] | null;
  readonly tasks: number;
  readonly runs: number | null;
  readonly took: number | null;
  /** The latest step in which it ran. */
  readonly latest: number | null;
  readonly leadsTo: string;
  readonly choose: (node: string) => void;
};

const NodeRow = memo(({ name, is, tasks, runs, took, latest, leadsTo, choose }: NodeRowProps): JSX.Element => {
  return (
    <tr class={is === "now" ? "selected" : ""}>
      <th scope="row">
        {latest === null ? (
          shownNode(name)
        ) : (
          <button type="button" class="link" title={`Select step ${latest}, where it ran last`} onClick={() => choose(name)}>
            {shownNode(name)}
          </button>
        )}
        {is !== null && is !== "ran" && <NodeWord is={is} tasks={tasks} />}
      </th>
      <td class="number">{runs ?? ""}</td>
      <td class="number">{took === null ? "" : duration(took)}</td>
      <td class="dim">{leadsTo}</td>
    </tr>
  );
});

const TONES = { now: "plain", ran: "plain", next: "plain", running: "run", waiting: "wait", failed: "bad" } as const;

function NodeWord({ is, tasks }: NodeLook): JSX.Element {
  const tone = TONES[is];
  return (
    <span class={`tag ${tone}`}>
      {tone !== "plain" && <Icon tone={tone} />}
      {WORDS[is]}
      {tasks > 1 && ` ×${tasks}`}
    </span>
  );
}

/** The nodes to which each node leads, with the cases. */
function targets(graph: GraphDocument): string[] {
  const names: string[][] = graph.nodes.map(() => []);
  for (const { from, to, label } of arrows(graph)) {
    const name = shownNode(graph.nodes[to]?.name ?? "");
    names[from]?.push(label ? `${name} (${shownNode(label)})` : name);
  }
  return names.map(grouped);
}

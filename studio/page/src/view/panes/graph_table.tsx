// The nodes of a graph as a table: the same as its drawing, for the keyboard and for screen readers.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { averageOf } from "../../model/execution";
import { arrows } from "../../model/topology";
import { duration, grouped, shownNode } from "../../model/words";
import type { StoredGraph, StoredNode } from "../../wire/graph";
import { memo } from "../memo";
import { Icon } from "../status";
import { type GraphProps, type NodeLook, WORDS, pathName } from "./graph";

interface Line {
  readonly node: StoredNode;
  readonly path: readonly string[];
  readonly leadsTo: string;
}

export function NodeTable({ graph, looks, execution, closed, choose, toggle }: GraphProps): JSX.Element {
  const lines = useMemo(() => linesOf(graph, [], closed), [graph.nodes, graph.joins, closed.join("\n")]);
  const runs = useMemo(() => new Map(graph.runs.map((run) => [pathName(run.path), run.runs])), [graph.runs]);
  return (
    <div class="node-table" role="table" aria-label={`Nodes of ${shownNode(graph.name)}`}>
      <p class="node-table-title">
        Nodes of {shownNode(graph.name)}
      </p>
      <div role="rowgroup">
        <div class="node-row heads" role="row">
          <span role="columnheader">Node</span>
          <span role="columnheader" class="number">
            Runs
          </span>
          <span role="columnheader" class="number">
            Average
          </span>
          <span role="columnheader">Leads to</span>
        </div>
      </div>
      <div role="rowgroup">
        {lines.map(({ node, path, leadsTo }) => {
          const name = pathName(path);
          const isOuter = path.length === 1;
          const executed = isOuter ? execution.nodes.get(node.name) : undefined;
          const look = isOuter ? looks.get(node.name) : undefined;
          return (
            <NodeRow
              key={name}
              name={node.name}
              path={name}
              level={path.length - 1}
              is={look?.is ?? null}
              tasks={look?.tasks ?? 0}
              runs={runs.get(name) ?? null}
              average={isOuter ? averageOf(execution, node.name) : null}
              latest={executed?.latest.step ?? null}
              leadsTo={leadsTo}
              subgraph={node.subgraph === undefined ? "none" : closed.includes(name) ? "closed" : "open"}
              choose={choose}
              toggle={toggle}
            />
          );
        })}
      </div>
    </div>
  );
}

/** The nodes in the order of the graph, each with those of its subgraph below it. */
function linesOf(graph: StoredGraph, path: readonly string[], closed: readonly string[]): Line[] {
  const names: string[][] = graph.nodes.map(() => []);
  for (const { from, to, label } of arrows(graph)) {
    const name = shownNode(graph.nodes[to]?.name ?? "");
    names[from]?.push(label ? `${name} (${shownNode(label)})` : name);
  }
  return graph.nodes.flatMap((node, at) => {
    if (node.name === "__end__") return [];
    const here = [...path, node.name];
    const inner = node.subgraph === undefined || closed.includes(pathName(here)) ? [] : linesOf(node.subgraph, here, closed);
    return [{ node, path: here, leadsTo: grouped(names[at] ?? []) }, ...inner];
  });
}

type NodeRowProps = {
  readonly name: string;
  readonly path: string;
  /** The number of subgraphs around it. */
  readonly level: number;
  readonly is: NodeLook["is"] | null;
  readonly tasks: number;
  readonly runs: number | null;
  /** The average milliseconds of its steps. */
  readonly average: number | null;
  /** The latest step in which it ran. */
  readonly latest: number | null;
  readonly leadsTo: string;
  readonly subgraph: "none" | "open" | "closed";
  readonly choose: (node: string) => void;
  readonly toggle: (name: string) => void;
};

const NodeRow = memo((props: NodeRowProps): JSX.Element => {
  const { name, path, level, is, tasks, runs, average, latest, leadsTo, subgraph, choose, toggle } = props;
  return (
    <div class={`node-row ${is === "now" ? "selected" : ""}`} role="row">
      <span role="rowheader" class="node-row-name" style={{ "--level": String(level) }}>
        {latest === null ? (
          shownNode(name)
        ) : (
          <button type="button" class="link" title={`Select step ${latest}, where it ran last`} onClick={() => choose(name)}>
            {shownNode(name)}
          </button>
        )}
        {subgraph !== "none" && (
          <button type="button" class="small" aria-expanded={subgraph === "open"} onClick={() => toggle(path)}>
            subgraph
          </button>
        )}
        {is !== null && is !== "ran" && <NodeWord is={is} tasks={tasks} />}
      </span>
      <span role="cell" class="number">
        {runs ?? ""}
      </span>
      <span role="cell" class="number">
        {average === null ? "" : duration(average)}
      </span>
      <span role="cell" class="dim">
        {leadsTo}
      </span>
    </div>
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

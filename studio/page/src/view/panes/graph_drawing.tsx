// The drawing of a graph, as one SVG. The server computes all coordinates.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { withParameters } from "../../model/address";
import { type Execution, pairName } from "../../model/execution";
import { type Condition, arrows } from "../../model/topology";
import { compact, duration, excerpt, shownNode } from "../../model/words";
import type { DrawnEdge, DrawnNode, Drawing, GraphDocument, NodeRuns, StoredGraph } from "../../wire/graph";
import { useStudio } from "../context";
import { useStable } from "../memo";

/** The look of a node: what it does or did, and by how many tasks of the step. */
export interface NodeLook {
  readonly is: "now" | "ran" | "next" | "running" | "waiting" | "failed";
  readonly tasks: number;
}

interface Props {
  readonly graph: GraphDocument;
  readonly looks: ReadonlyMap<string, NodeLook>;
  readonly execution: Execution;
  readonly choose: (node: string) => void;
}

/** The space around the drawing; above, it holds the counts of the first nodes. */
const MARGIN = 18;
/** The space around the drawing of a subgraph inside its node, as the server has it. */
const INNER_MARGIN = 16;
const INNER_TOP = 40;
const LONGEST_LABEL = 28;
const MARKERS = ["edge", "lit", "now"] as const;

export function GraphDrawing({ graph, looks, execution, choose }: Props): JSX.Element {
  const studio = useStudio();
  const frame = useRef<HTMLDivElement>(null);
  const { drawing, runs } = graph;
  const closed = closedOf(studio.view.value.parameters.closed);
  const width = drawing.width + 2 * MARGIN;
  const height = drawing.height + 2 * MARGIN;
  const toggle = (path: string) => {
    const next = closed.includes(path) ? closed.filter((other) => other !== path) : [...closed, path];
    const view = studio.view.peek();
    studio.show(withParameters(view, { closed: next.length === 0 ? null : JSON.stringify(next) }), "replace");
  };
  const stable = useStable(choose);
  // The plain graph is drawn once; a step only changes what lies over it.
  const plain = useMemo(
    () => <Layer graph={graph} drawing={drawing} path={[]} runs={runs} closed={closed} choose={stable} toggle={toggle} />,
    [graph, closed.join("\n")],
  );
  const labels = useMemo(() => <Labels graph={graph} drawing={drawing} />, [graph]);
  const now = graph.nodes.findIndex(({ name }) => looks.get(name)?.is === "now");
  useEffect(() => {
    const element = frame.current;
    const node = drawing.nodes[now];
    if (element === null || node === undefined) return;
    keepInView(element, (node.x + MARGIN) / width, (node.y + MARGIN) / height, (node.x + node.width + MARGIN) / width, (node.y + node.height + MARGIN) / height);
  }, [now, drawing]);
  return (
    <div class="drawing" ref={frame}>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        style={{ inlineSize: `${width / 16}rem`, blockSize: `${height / 16}rem` }}
        role="img"
        aria-label={`Graph ${shownNode(graph.name)}; the table below has the same`}
      >
        <defs>
          {MARKERS.map((name) => (
            <marker key={name} id={`arrow-${name}`} class={`arrow ${name}`} viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto">
              <path d="M0 0.500L8 4L0 7.500z" />
            </marker>
          ))}
        </defs>
        <g transform={`translate(${MARGIN} ${MARGIN})`}>
          {plain}
          <Overlay graph={graph} looks={looks} execution={execution} />
          {labels}
        </g>
      </svg>
    </div>
  );
}

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

/** Scrolls a box into view; its sides are shares of the whole. */
function keepInView(frame: HTMLElement, left: number, top: number, right: number, bottom: number): void {
  const { scrollWidth, scrollHeight, clientWidth, clientHeight } = frame;
  if (left * scrollWidth < frame.scrollLeft || right * scrollWidth > frame.scrollLeft + clientWidth) {
    frame.scrollLeft = ((left + right) / 2) * scrollWidth - clientWidth / 2;
  }
  if (top * scrollHeight < frame.scrollTop || bottom * scrollHeight > frame.scrollTop + clientHeight) {
    frame.scrollTop = ((top + bottom) / 2) * scrollHeight - clientHeight / 2;
  }
}

interface LayerProps {
  readonly graph: StoredGraph;
  readonly drawing: Drawing;
  /** The nodes whose subgraphs lead here. */
  readonly path: readonly string[];
  readonly runs: readonly NodeRuns[] | undefined;
  readonly closed: readonly string[];
  readonly choose: (node: string) => void;
  readonly toggle: (path: string) => void;
}

/** A graph without what ran, and the open subgraphs in its nodes. */
function Layer({ graph, drawing, path, runs, closed, choose, toggle }: LayerProps): JSX.Element {
  const all = arrows(graph);
  return (
    <>
      {drawing.edges.map((edge, at) => (
        <Edge key={at} edge={edge} condition={all[at]?.condition ?? "always"} look="edge" />
      ))}
      {drawing.nodes.map((drawn, at) => {
        const node = graph.nodes[at];
        if (node === undefined) return null;
        const here = [...path, node.name];
        const name = JSON.stringify(here);
        const isMany = all.some(({ to, condition }) => to === at && condition === "each");
        const isOpen = node.subgraph !== undefined && drawn.inner != null && !closed.includes(name);
        const run = runsAt(runs, here);
        return (
          <g key={at} class={`graph-node ${isMany ? "many" : ""} ${isOpen ? "open" : ""}`} onClick={path.length === 0 ? () => choose(node.name) : undefined}>
            <Box drawn={drawn} name={node.name} />
            <NodeText drawn={drawn} text={shownNode(node.name)} many={isMany ? "×N" : ""} run={run} isOpen={isOpen} />
            {node.subgraph !== undefined && drawn.inner != null && <Toggle drawn={drawn} isOpen={isOpen} toggle={() => toggle(name)} />}
            {isOpen && node.subgraph !== undefined && drawn.inner != null && (
              <g transform={`translate(${drawn.x + INNER_MARGIN} ${drawn.y + INNER_TOP})`}>
                <Layer graph={node.subgraph} drawing={drawn.inner} path={here} runs={runs} closed={closed} choose={choose} toggle={toggle} />
                <Labels graph={node.subgraph} drawing={drawn.inner} />
              </g>
            )}
          </g>
        );
      })}
    </>
  );
}

/** The executed path and the looks of the nodes of the outer graph, over the plain graph. */
function Overlay({ graph, looks, execution }: { readonly graph: GraphDocument; readonly looks: ReadonlyMap<string, NodeLook>; readonly execution: Execution }): JSX.Element {
  const { drawing } = graph;
  const name = (at: number) => graph.nodes[at]?.name ?? "";
  const latest: number[] = [];
  const earlier: number[] = [];
  drawing.edges.forEach(({ from, to }, at) => {
    const pair = pairName(name(from), name(to));
    if (execution.latestPairs.has(pair)) latest.push(at);
    else if (execution.pairs.has(pair)) earlier.push(at);
  });
  const ran: number[] = [];
  const others: (readonly [number, NodeLook])[] = [];
  drawing.nodes.forEach((_, at) => {
    const look = looks.get(name(at)) ?? (name(at) === "__end__" ? endLook(latest, graph, at) : undefined);
    if (look?.is === "ran") ran.push(at);
    else if (look !== undefined) others.push([at, look]);
  });
  // Most steps only change a few nodes and edges of a large graph.
  const before = useMemo(
    () => (
      <>
        {earlier.map((at) => edgeAt(drawing, at, "lit"))}
        {ran.map((at) => (
          <LookNode key={at} graph={graph} at={at} is="ran" tasks={0} />
        ))}
      </>
    ),
    [graph, earlier.join(), ran.join()],
  );
  return (
    <g class="overlay">
      {before}
      {latest.map((at) => edgeAt(drawing, at, "now"))}
      {others.map(([at, { is, tasks }]) => (
        <LookNode key={at} graph={graph} at={at} is={is} tasks={tasks} />
      ))}
    </g>
  );
}

function edgeAt(drawing: Drawing, at: number, look: "lit" | "now"): JSX.Element | null {
  const edge = drawing.edges[at];
  return edge === undefined ? null : <Edge key={`edge ${at}`} edge={edge} look={look} />;
}

function LookNode({ graph, at, is, tasks }: { readonly graph: GraphDocument; readonly at: number } & NodeLook): JSX.Element | null {
  const drawn = graph.drawing.nodes[at];
  const name = graph.nodes[at]?.name ?? "";
  if (drawn === undefined) return null;
  return (
    <g class={`look ${is} ${drawn.inner != null ? "holds" : ""}`}>
      <Box drawn={drawn} name={name} />
      {drawn.inner == null && <NodeText drawn={drawn} text={shownNode(name)} many={tasks > 1 ? `×${tasks}` : ""} run={runsAt(graph.runs, [name])} isOpen={false} />}
    </g>
  );
}

/** END looks like a node of the step that reached it. */
function endLook(latest: readonly number[], graph: GraphDocument, end: number): NodeLook | undefined {
  return latest.some((at) => graph.drawing.edges[at]?.to === end) ? { is: "now", tasks: 1 } : undefined;
}

function Box({ drawn, name }: { readonly drawn: DrawnNode; readonly name: string }): JSX.Element {
  const isEnd = name === "__start__" || name === "__end__";
  return <rect class="box" x={drawn.x} y={drawn.y} width={drawn.width} height={drawn.height} rx={isEnd ? drawn.height / 2 : 6} />;
}

interface NodeTextProps {
  readonly drawn: DrawnNode;
  readonly text: string;
  readonly many: string;
  readonly run: NodeRuns | undefined;
  readonly isOpen: boolean;
}

/** The name of a node, and below it how often and how long it ran. */
function NodeText({ drawn, text, many, run, isOpen }: NodeTextProps): JSX.Element {
  const x = drawn.x + drawn.width / 2;
  const y = isOpen ? drawn.y + 17 : drawn.y + drawn.height / 2;
  const hasRun = run !== undefined && run.path.at(-1) !== "__start__";
  return (
    <>
      <text class="node-name" x={x} y={hasRun || isOpen ? y - 1 : y + 4.5}>
        {excerpt(text, LONGEST_LABEL)} {many}
      </text>
      {hasRun && (
        <text class="node-runs" x={x} y={y + 11}>
          {compact(run.runs)} × {duration((run.took_ms ?? 0) / run.runs)}
        </text>
      )}
    </>
  );
}

/** The runs by the paths of their nodes, for each list of runs once. */
const INDEX = new WeakMap<readonly NodeRuns[], ReadonlyMap<string, NodeRuns>>();

export function runsAt(runs: readonly NodeRuns[] | undefined, here: readonly string[]): NodeRuns | undefined {
  if (runs === undefined) return undefined;
  const index = INDEX.get(runs) ?? new Map(runs.map((run) => [JSON.stringify(run.path), run]));
  INDEX.set(runs, index);
  return index.get(JSON.stringify(here));
}

function Toggle({ drawn, isOpen, toggle }: { readonly drawn: DrawnNode; readonly isOpen: boolean; readonly toggle: () => void }): JSX.Element {
  const onClick = (event: MouseEvent) => {
    event.stopPropagation();
    toggle();
  };
  const [x, y] = [drawn.x + 14, drawn.y + 16];
  return (
    <g class="toggle" onClick={onClick}>
      <title>{isOpen ? "Close the subgraph" : "Open the subgraph"}</title>
      <rect x={x - 8} y={y - 8} width="16" height="16" rx="4" />
      <path d={isOpen ? `M${x - 4} ${y}h8` : `M${x - 4} ${y}h8M${x} ${y - 4}v8`} />
    </g>
  );
}

function Edge({ edge, condition, look }: { readonly edge: DrawnEdge; readonly condition?: Condition; readonly look: (typeof MARKERS)[number] }): JSX.Element {
  return <path class={`graph-edge ${look} ${condition ?? ""}`} d={rounded(edge.points)} marker-end={`url(#arrow-${look})`} />;
}

/** The height of a label, and the width of a letter of it. */
const LABEL = { height: 13, letter: 6 };

/** The conditions of the edges, each beside its edge and below the labels that are in its way. */
function Labels({ graph, drawing }: { readonly graph: StoredGraph; readonly drawing: Drawing }): JSX.Element {
  const placed: { readonly text: string; readonly x: number; readonly y: number; readonly width: number }[] = [];
  const all = arrows(graph);
  drawing.edges.forEach((edge, at) => {
    const text = excerpt(all[at]?.label ?? "", LONGEST_LABEL);
    const [first, second] = edge.points;
    if (text === "" || first === undefined || second === undefined) return;
    const width = text.length * LABEL.letter;
    const isLoop = edge.from === edge.to;
    const x = isLoop ? Math.max(...edge.points.map((point) => point[0])) + width / 2 + 4 : (first[0] + second[0]) / 2;
    let y = isLoop ? average(edge.points.map((point) => point[1])) + 4 : (first[1] + second[1]) / 2 + 4;
    while (placed.some((other) => Math.abs(other.x - x) < (other.width + width) / 2 && Math.abs(other.y - y) < LABEL.height)) y += LABEL.height;
    placed.push({ text, x, y, width });
  });
  return (
    <g class="edge-labels">
      {placed.map(({ text, x, y }, at) => (
        <text key={at} class="edge-label" x={x} y={y}>
          {text}
        </text>
      ))}
    </g>
  );
}

function average(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / Math.max(1, numbers.length);
}

/** The radius of the corners of edges. */
const CORNER = 10;

/** Returns a line through the points with rounded corners. */
function rounded(points: readonly (readonly [number, number])[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  let path = `M${first[0]} ${first[1]}`;
  rest.forEach((point, at) => {
    const before = points[at];
    const after = rest[at + 1];
    if (before === undefined || after === undefined) {
      path += `L${point[0]} ${point[1]}`;
      return;
    }
    const [begin, end] = [towards(point, before), towards(point, after)];
    path += `L${begin[0]} ${begin[1]}Q${point[0]} ${point[1]} ${end[0]} ${end[1]}`;
  });
  return path;
}

/** A point near `from` on the way to `to`. */
function towards(from: readonly [number, number], to: readonly [number, number]): readonly [number, number] {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const length = Math.hypot(dx, dy);
  if (length === 0) return from;
  const share = Math.min(CORNER, length / 2) / length;
  return [Math.round((from[0] + dx * share) * 10) / 10, Math.round((from[1] + dy * share) * 10) / 10];
}

// The drawing of a graph, as one SVG. The server computes all coordinates.
//
// Four layers, each drawn again only when what it shows has changed: the plain graph, what ran, counts, labels of edges.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { averageOf, pairName } from "../../model/execution";
import { type Condition, arrows } from "../../model/topology";
import { compact, duration, excerpt, shownNode } from "../../model/words";
import type { DrawnEdge, DrawnNode, Drawing, GraphDocument, NodeRuns, StoredGraph } from "../../wire/graph";
import { type GraphProps, type NodeLook, pathName } from "./graph";

/** The space around the drawing. */
const MARGIN = 18;
/** The space around the drawing of a subgraph inside its node, as the server has it. */
const INNER_MARGIN = 16;
const INNER_TOP = 40;
const LONGEST_LABEL = 28;
const MARKERS = ["edge", "lit", "now"] as const;

export function GraphDrawing({ graph, looks, execution, closed, choose, toggle }: GraphProps): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const { drawing, nodes, joins, runs } = graph;
  const width = drawing.width + 2 * MARGIN;
  const height = drawing.height + 2 * MARGIN;
  const topology = [nodes, joins, drawing, closed.join("\n")];
  const counted = useMemo(() => runsByPath(runs), [runs]);
  const names = [...counted.keys()].join("\n");
  const plain = useMemo(
    () => <Plain graph={graph} drawing={drawing} path={[]} closed={closed} counted={counted} choose={choose} toggle={toggle} />,
    [...topology, names],
  );
  const labels = useMemo(() => <Labels graph={graph} drawing={drawing} path={[]} closed={closed} />, topology);
  const chosen = nodes.map(({ name }) => `${looks.get(name)?.is === "now"} ${averageOf(execution, name)}`).join();
  const counts = useMemo(() => <Counts graph={graph} drawing={drawing} path={[]} closed={closed} runs={counted} looks={looks} execution={execution} />, [...topology, counted, chosen]);
  const now = nodes.findIndex(({ name }) => looks.get(name)?.is === "now");
  useEffect(() => {
    const node = drawing.nodes[now];
    if (frame.current !== null && node !== undefined) keepInView(frame.current, node, width, height);
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
          <Overlay graph={graph} looks={looks} execution={execution} counted={counted} />
          {counts}
          {labels}
        </g>
      </svg>
    </div>
  );
}

/** Scrolls a node into view. */
function keepInView(frame: HTMLElement, node: DrawnNode, width: number, height: number): void {
  const { scrollWidth, scrollHeight, clientWidth, clientHeight } = frame;
  const [x, y] = [scrollWidth / width, scrollHeight / height];
  const [left, right] = [(node.x + MARGIN) * x, (node.x + node.width + MARGIN) * x];
  const [top, bottom] = [(node.y + MARGIN) * y, (node.y + node.height + MARGIN) * y];
  if (left < frame.scrollLeft || right > frame.scrollLeft + clientWidth) frame.scrollLeft = (left + right - clientWidth) / 2;
  if (top < frame.scrollTop || bottom > frame.scrollTop + clientHeight) frame.scrollTop = (top + bottom - clientHeight) / 2;
}

interface Level {
  readonly graph: StoredGraph;
  readonly drawing: Drawing;
  /** The nodes whose subgraphs lead here. */
  readonly path: readonly string[];
  readonly closed: readonly string[];
}

/** Draws the open subgraphs of a level inside their nodes. */
function inside({ graph, drawing, path, closed }: Level, draw: (inner: Level) => JSX.Element): (JSX.Element | null)[] {
  return drawing.nodes.map((drawn, at) => {
    const node = graph.nodes[at];
    if (node?.subgraph === undefined || drawn.inner == null) return null;
    const here = [...path, node.name];
    if (closed.includes(pathName(here))) return null;
    return (
      <g key={at} transform={`translate(${drawn.x + INNER_MARGIN} ${drawn.y + INNER_TOP})`}>
        {draw({ graph: node.subgraph, drawing: drawn.inner, path: here, closed })}
      </g>
    );
  });
}

type PlainProps = Level & Pick<GraphProps, "choose" | "toggle"> & { readonly counted: ReadonlyMap<string, NodeRuns> };

/** A graph without what ran. */
function Plain({ counted, choose, toggle, ...level }: PlainProps): JSX.Element {
  const { graph, drawing, path, closed } = level;
  const all = arrows(graph);
  const many = new Set(all.filter(({ condition }) => condition === "each").map(({ to }) => to));
  return (
    <>
      {drawing.edges.map((edge, at) => (
        <Edge key={at} edge={edge} condition={all[at]?.condition ?? "always"} look="edge" />
      ))}
      {drawing.nodes.map((drawn, at) => {
        const node = graph.nodes[at];
        if (node === undefined) return null;
        const name = pathName([...path, node.name]);
        const holds = node.subgraph !== undefined && drawn.inner != null;
        const isOpen = holds && !closed.includes(name);
        return (
          <g key={at} class={`graph-node ${many.has(at) ? "many" : ""} ${isOpen ? "open" : ""}`} onClick={path.length === 0 ? () => choose(node.name) : undefined}>
            <Box drawn={drawn} name={node.name} />
            <NodeName drawn={drawn} name={node.name} many={many.has(at) ? "×N" : ""} isOpen={isOpen} hasCount={counted.has(name)} />
            {holds && <Toggle drawn={drawn} isOpen={isOpen} toggle={() => toggle(name)} />}
          </g>
        );
      })}
      {inside(level, (inner) => (
        <Plain {...inner} counted={counted} choose={choose} toggle={toggle} />
      ))}
    </>
  );
}

/** How often nodes ran, and how long on average, below their names. */
function Counts({ runs, looks, execution, ...level }: Level & Pick<GraphProps, "looks" | "execution"> & { readonly runs: ReadonlyMap<string, NodeRuns> }): JSX.Element {
  const { graph, drawing, path, closed } = level;
  return (
    <g class="counts">
      {drawing.nodes.map((drawn, at) => {
        const node = graph.nodes[at];
        const name = pathName([...path, node?.name ?? ""]);
        const run = runs.get(name);
        if (node === undefined || run === undefined || isRound(node.name)) return null;
        const isOpen = node.subgraph !== undefined && drawn.inner != null && !closed.includes(name);
        const average = path.length === 0 ? averageOf(execution, node.name) : null;
        const isNow = path.length === 0 && !isOpen && looks.get(node.name)?.is === "now";
        return (
          <text key={at} class={`node-runs ${isNow ? "now" : ""}`} x={drawn.x + drawn.width / 2} y={nameLine(drawn, isOpen) + 12}>
            {compact(run.runs)} × {average === null ? "" : duration(average)}
          </text>
        );
      })}
      {inside(level, (inner) => (
        <Counts {...inner} runs={runs} looks={looks} execution={execution} />
      ))}
    </g>
  );
}

function runsByPath(runs: readonly NodeRuns[]): ReadonlyMap<string, NodeRuns> {
  return new Map(runs.map((run) => [pathName(run.path), run]));
}

/** The executed path and the looks of the nodes of the outer graph, over the plain graph. */
function Overlay({ graph, looks, execution, counted }: Pick<GraphProps, "graph" | "looks" | "execution"> & Pick<PlainProps, "counted">): JSX.Element {
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
    const look = looks.get(name(at));
    if (look?.is === "ran") ran.push(at);
    else if (look !== undefined) others.push([at, look]);
  });
  // Most steps only change a few nodes and edges of a large graph.
  const before = useMemo(
    () => (
      <>
        {earlier.map((at) => edgeAt(drawing, at, "lit"))}
        {ran.map((at) => (
          <LookNode key={at} graph={graph} at={at} is="ran" tasks={0} counted={counted} />
        ))}
      </>
    ),
    [graph.nodes, drawing, earlier.join(), ran.join()],
  );
  return (
    <g class="overlay">
      {before}
      {latest.map((at) => edgeAt(drawing, at, "now"))}
      {others.map(([at, { is, tasks }]) => (
        <LookNode key={at} graph={graph} at={at} is={is} tasks={tasks} counted={counted} />
      ))}
    </g>
  );
}

function edgeAt(drawing: Drawing, at: number, look: "lit" | "now"): JSX.Element | null {
  const edge = drawing.edges[at];
  return edge === undefined ? null : <Edge key={`edge ${at}`} edge={edge} look={look} />;
}

type LookProps = NodeLook & Pick<PlainProps, "counted"> & { readonly graph: GraphDocument; readonly at: number };

function LookNode({ graph, at, is, tasks, counted }: LookProps): JSX.Element | null {
  const drawn = graph.drawing.nodes[at];
  const name = graph.nodes[at]?.name ?? "";
  if (drawn === undefined) return null;
  const holds = drawn.inner != null;
  return (
    <g class={`look ${is} ${holds ? "holds" : ""}`}>
      <Box drawn={drawn} name={name} />
      {!holds && <NodeName drawn={drawn} name={name} many={tasks > 1 ? `×${tasks}` : ""} isOpen={false} hasCount={counted.has(pathName([name]))} />}
    </g>
  );
}

/** START and END. */
function isRound(name: string): boolean {
  return name === "__start__" || name === "__end__";
}

function Box({ drawn, name }: { readonly drawn: DrawnNode; readonly name: string }): JSX.Element {
  return <rect class="box" x={drawn.x} y={drawn.y} width={drawn.width} height={drawn.height} rx={isRound(name) ? drawn.height / 2 : 6} />;
}

/** The base line of the name of a node, above the line for its runs. */
function nameLine(drawn: DrawnNode, isOpen: boolean): number {
  return isOpen ? drawn.y + 16 : drawn.y + drawn.height / 2 - 1;
}

interface NameProps {
  readonly drawn: DrawnNode;
  readonly name: string;
  readonly many: string;
  readonly isOpen: boolean;
  /** `true` if a line below the name says how often the node ran. */
  readonly hasCount: boolean;
}

function NodeName({ drawn, name, many, isOpen, hasCount }: NameProps): JSX.Element {
  const y = isRound(name) || !(hasCount || isOpen) ? drawn.y + drawn.height / 2 + 4.5 : nameLine(drawn, isOpen);
  return (
    <text class="node-name" x={drawn.x + drawn.width / 2} y={y}>
      {excerpt(shownNode(name), LONGEST_LABEL)} {many}
    </text>
  );
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
function Labels(level: Level): JSX.Element {
  const { graph, drawing } = level;
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
      {inside(level, (inner) => (
        <Labels {...inner} />
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

// The graph of a thread: its wiring, and the drawing of it, whose coordinates the server computes.

import { type Decoder, type Of, flag, list, number, object, pair, text } from "./decode";

const decision = object({
  cases: list(object({ case: text, to: list(text), each: list(text) })),
  may_reach: list(text),
  on_error: flag,
});

export interface StoredNode {
  name: string;
  defer: boolean;
  edges: string[];
  decisions: Of<typeof decision>[];
  subgraph?: StoredGraph;
}

export interface StoredGraph {
  name: string;
  nodes: StoredNode[];
  joins: { sources: string[]; target: string }[];
}

const storedNode: Decoder<StoredNode> = (value, place) =>
  object(
    { name: text, defer: flag, edges: list(text), decisions: list(decision) },
    { subgraph: storedGraph },
  )(value, place);

const storedGraph: Decoder<StoredGraph> = (value, place) =>
  object({
    name: text,
    nodes: list(storedNode),
    joins: list(object({ sources: list(text), target: text })),
  })(value, place);

export interface DrawnNode {
  layer: number;
  x: number;
  y: number;
  width: number;
  height: number;
  inner?: Drawing | null;
}

const drawnEdge = object({ from: number, to: number, back: flag, points: list(pair(number, number)) });
export type DrawnEdge = Of<typeof drawnEdge>;

export interface Drawing {
  width: number;
  height: number;
  nodes: DrawnNode[];
  edges: DrawnEdge[];
}

const drawnNode: Decoder<DrawnNode> = (value, place) =>
  object(
    { layer: number, x: number, y: number, width: number, height: number },
    { inner: (inner, at) => (inner === null ? null : drawing(inner, at)) },
  )(value, place);

const drawing: Decoder<Drawing> = (value, place) =>
  object({ width: number, height: number, nodes: list(drawnNode), edges: list(drawnEdge) })(value, place);

/** How often a node ran on the branch; `path` leads to it through the nodes of subgraphs. */
const nodeRuns = object({ path: list(text), runs: number });
export type NodeRuns = Of<typeof nodeRuns>;

export interface GraphDocument extends StoredGraph {
  drawing: Drawing;
  runs: NodeRuns[];
}

export const graph: Decoder<GraphDocument> = (value, place) => ({
  ...storedGraph(value, place),
  ...object({ drawing, runs: list(nodeRuns) })(value, place),
});

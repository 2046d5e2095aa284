// The panes of the right side, in the order of the pane switch.

import type { JSX } from "preact";
import type { PaneName } from "../../model/address";
import type { Row } from "../../wire/documents";
import { GraphPane } from "./graph";
import { placeholder } from "./placeholder";

/** What a pane is about. */
export interface PaneProps {
  readonly thread: string;
  /** The selected checkpoint, as the API takes it: an id, or the thread if its latest checkpoint is followed. */
  readonly checkpoint: string;
  /** The row of that checkpoint, once the timeline has read it. */
  readonly row: Row | null;
}

export interface Pane {
  readonly title: string;
  readonly show: (props: PaneProps) => JSX.Element;
  /** The group in the pane switch: panes of a step, panes that look for a step, panes that write. */
  readonly group: "step" | "find" | "change";
  /** `true` if it needs the program, because a file alone cannot do it. */
  readonly needsProgram?: boolean;
}

export const REGISTRY: { readonly [P in PaneName]: Pane } = {
  state: { title: "State", show: placeholder("The state"), group: "step" },
  diff: { title: "Difference", show: placeholder("The difference"), group: "step" },
  messages: { title: "Conversation", show: placeholder("The conversation"), group: "step" },
  graph: { title: "Graph", show: GraphPane, group: "step" },
  calls: { title: "Calls", show: placeholder("Model calls"), group: "step" },
  blame: { title: "Blame", show: placeholder("Blame"), group: "find" },
  why: { title: "Why", show: placeholder("Why"), group: "find" },
  bisect: { title: "Bisect", show: placeholder("Bisect"), group: "find" },
  compare: { title: "Compare", show: placeholder("The comparison"), group: "find" },
  search: { title: "Search", show: placeholder("The search"), group: "find" },
  replay: { title: "Replay", show: placeholder("The replay"), group: "change", needsProgram: true },
  edit: { title: "Edit", show: placeholder("The editor"), group: "change", needsProgram: true },
  answer: { title: "Answer", show: placeholder("The answer"), group: "change", needsProgram: true },
  export: { title: "Export", show: placeholder("The export"), group: "change" },
};

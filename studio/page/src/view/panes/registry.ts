// The panes of the right side, in the order of the pane switch.

import type { JSX } from "preact";
import type { PaneName } from "../../model/address";
import type { Row } from "../../wire/documents";
import { BlamePane } from "./blame";
import { CallsPane } from "./calls";
import { DiffPane } from "./diff";
import { GraphPane } from "./graph";
import { MessagesPane } from "./messages";
import { placeholder } from "./placeholder";
import { StatePane } from "./state";
import { TasksPane } from "./tasks";
import { WhyPane } from "./why";

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
  /** What it shows if no thread is selected. */
  readonly withoutThread?: () => JSX.Element;
  /** The group in the pane switch: panes of a step, panes that look for a step, panes that write. */
  readonly group: "step" | "find" | "change";
  /** `true` if it needs the program, because a file alone cannot do it. */
  readonly needsProgram?: boolean;
}

export const REGISTRY: { readonly [P in PaneName]: Pane } = {
  state: { title: "State", show: StatePane, group: "step" },
  diff: { title: "Difference", show: DiffPane, group: "step" },
  tasks: { title: "Tasks", show: TasksPane, group: "step" },
  messages: { title: "Conversation", show: MessagesPane, group: "step" },
  graph: { title: "Graph", show: GraphPane, group: "step" },
  calls: { title: "Calls", show: CallsPane, group: "step" },
  blame: { title: "Blame", show: BlamePane, group: "find" },
  why: { title: "Why", show: WhyPane, group: "find" },
  bisect: { title: "Bisect", show: placeholder("Bisect"), group: "find" },
  compare: { title: "Compare", show: placeholder("The comparison"), group: "find" },
  search: { title: "Search", show: placeholder("The search"), withoutThread: placeholder("The search"), group: "find" },
  replay: { title: "Replay", show: placeholder("The replay"), group: "change", needsProgram: true },
  edit: { title: "Edit", show: placeholder("The editor"), group: "change", needsProgram: true },
  answer: { title: "Answer", show: placeholder("The answer"), group: "change", needsProgram: true },
  export: { title: "Export", show: placeholder("The export"), group: "change" },
};

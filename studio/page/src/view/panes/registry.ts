// The panes of the right side, in the order of the pane switch.

import type { JSX } from "preact";
import type { PaneName } from "../../model/address";
import type { Row } from "../../wire/documents";
import { AnswerPane } from "./answer/answer";
import { BisectPane } from "./bisect";
import { BlamePane } from "./blame";
import { CallsPane } from "./calls";
import { ComparePane } from "./compare";
import { DiffPane } from "./diff";
import { EditPane } from "./edit";
import { ExportPane } from "./export";
import { ForkPane } from "./fork";
import { GraphPane } from "./graph";
import { MessagesPane } from "./messages";
import { ReplayPane } from "./replay";
import { FirstRun, RunPane } from "./run";
import { SearchPane } from "./search";
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
  readonly withoutThread?: (props: object) => JSX.Element;
  /** The group in the pane switch: panes of a step, panes that look for a step, panes that write. */
  readonly group: "step" | "find" | "change";
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
  bisect: { title: "Bisect", show: BisectPane, group: "find" },
  compare: { title: "Compare", show: ComparePane, group: "find" },
  search: { title: "Search", show: SearchPane, withoutThread: SearchPane, group: "find" },
  edit: { title: "Edit", show: EditPane, group: "change" },
  fork: { title: "Fork", show: ForkPane, group: "change" },
  answer: { title: "Answer", show: AnswerPane, group: "change" },
  run: { title: "Run", show: RunPane, withoutThread: FirstRun, group: "change" },
  replay: { title: "Replay", show: ReplayPane, group: "change" },
  export: { title: "Keep", show: ExportPane, group: "change" },
};

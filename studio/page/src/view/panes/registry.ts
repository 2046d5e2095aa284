// The panes of the right side, in the order of the pane switch.

import type { JSX } from "preact";
import type { PaneName } from "../../model/address";
import type { Row } from "../../wire/documents";
import { DiffPane } from "./diff";
import { GraphPane } from "./graph";
import { later } from "./loaded";
import { StatePane } from "./state";
import { TasksPane } from "./tasks";

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
  messages: { title: "Conversation", show: later((panes) => panes.messages), group: "step" },
  graph: { title: "Graph", show: GraphPane, group: "step" },
  calls: { title: "Calls", show: later((panes) => panes.calls), group: "step" },
  blame: { title: "Blame", show: later((panes) => panes.blame), group: "find" },
  why: { title: "Why", show: later((panes) => panes.why), group: "find" },
  bisect: { title: "Bisect", show: later((panes) => panes.bisect), group: "find" },
  compare: { title: "Compare", show: later((panes) => panes.compare), group: "find" },
  search: { title: "Search", show: later((panes) => panes.search), withoutThread: later((panes) => panes.search), group: "find" },
  edit: { title: "Edit", show: later((panes) => panes.edit), group: "change" },
  fork: { title: "Fork", show: later((panes) => panes.fork), group: "change" },
  answer: { title: "Answer", show: later((panes) => panes.answer), group: "change" },
  run: { title: "Run", show: later((panes) => panes.run), withoutThread: later((panes) => panes.firstRun), group: "change" },
  replay: { title: "Replay", show: later((panes) => panes.replay), group: "change" },
  export: { title: "Keep", show: later((panes) => panes.export), group: "change" },
};

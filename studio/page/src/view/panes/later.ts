// The panes of the second file of the page, which is loaded once the first one has started.

import { AnswerPane } from "./answer/answer";
import { BisectPane } from "./bisect";
import { BlamePane } from "./blame";
import { CallsPane } from "./calls";
import { ComparePane } from "./compare";
import { EditPane } from "./edit";
import { ExportPane } from "./export";
import { ForkPane } from "./fork";
import { MessagesPane } from "./messages";
import { ReplayPane } from "./replay";
import { FirstRun, RunPane } from "./run";
import { SearchPane } from "./search";
import { WhyPane } from "./why";

export const PANES = {
  messages: MessagesPane,
  calls: CallsPane,
  blame: BlamePane,
  why: WhyPane,
  bisect: BisectPane,
  compare: ComparePane,
  search: SearchPane,
  edit: EditPane,
  fork: ForkPane,
  answer: AnswerPane,
  run: RunPane,
  firstRun: FirstRun,
  replay: ReplayPane,
  export: ExportPane,
} as const;

// What each key and button does.

import type { Row } from "../wire/documents";
import { type Column, PANES, type PaneName, type Parameter, type View, fragmentOf, withParameters } from "./address";
import { judgementWords } from "./judging";
import type { Action } from "./keys";
import { moved, type Move } from "./moves";
import type { Studio } from "./studio";
import { SIDES, SIDE_TITLES } from "./tree";
import { shortId, shown } from "./words";

/** What an action needs of the page besides the store. */
export interface Surroundings {
  switchTheme(): void;
  /** Switches keys on or off, also for the next visit. */
  useKeys(on: boolean): void;
  /** Copies a text; resolves to `false` if the browser does not allow it. */
  copy(text: string): Promise<boolean>;
  /** The address of a fragment. */
  address(fragment: string): string;
  leaveField(): void;
  /** `true` if the focus is in the pane of the right side. */
  isInPane(): boolean;
  /** Moves the focus into that pane; into a field for text, where keys are letters, only if `intoField`. */
  focusPane(intoField: boolean): void;
  openInbox(): void;
  /** `true` where there is room for one column only. */
  isSmall(): boolean;
}

/** The panes in which a person writes or confirms first. */
const FORMS: readonly PaneName[] = ["search", "edit", "fork", "answer", "run", "replay"];

export function act(studio: Studio, action: Action, page: Surroundings): void {
  const view = studio.view.peek();
  const pane = PANES.find((name) => name === action);
  if (pane !== undefined) {
    const isShown = view.pane === pane && !view.hidden.includes("detail");
    const isMeant = isShown || FORMS.includes(pane);
    // The focus does not get lost with the former pane.
    const moves = isMeant || page.isInPane();
    showPane(studio, pane);
    if (moves) page.focusPane(isMeant);
    return;
  }
  switch (action) {
    case "older":
    case "newer":
    case "branchLeft":
    case "branchRight":
      return void move(studio, action);
    case "latest":
      return studio.select(null, "replace");
    case "oldest":
      return selectAt(studio, (studio.timeline.peek()?.total.peek() ?? 0) - 1);
    case "threadBefore":
      return changeThread(studio, -1);
    case "threadAfter":
      return changeThread(studio, 1);
    case "good":
    case "bad":
      return setMark(studio, action);
    case "mark":
      return setMark(studio, "marked");
    case "inbox":
      return page.openInbox();
    case "toggleThreads":
      return changeColumn(studio, "threads", page);
    case "toggleTimeline":
      return changeColumn(studio, "timeline", page);
    case "toggleDetail":
      return changeColumn(studio, "detail", page);
    case "theme":
      return page.switchTheme();
    case "side":
      return switchSide(studio);
    case "copyPath":
      return void copyPath(studio, view, page);
    case "copyLink":
      return void copyLink(studio, view, page);
    case "help":
      studio.help.value = !studio.help.peek();
      return;
    case "close":
      if (studio.help.peek()) studio.help.value = false;
      else page.leaveField();
      return;
    default:
      return;
  }
}

export function showPane(studio: Studio, pane: PaneName): void {
  const view = studio.view.peek();
  const hidden = view.hidden.filter((column) => column !== "detail");
  studio.show({ ...view, pane, hidden, front: "detail" });
}

/** Brings a column to the front where there is room for one only. */
export function bring(studio: Studio, column: Column): void {
  const view = studio.view.peek();
  studio.show({ ...view, front: column, hidden: view.hidden.filter((other) => other !== column) });
}

function changeColumn(studio: Studio, column: Column, page: Surroundings): void {
  if (page.isSmall()) return bring(studio, column);
  const view = studio.view.peek();
  const isHidden = view.hidden.includes(column);
  const hidden = isHidden ? view.hidden.filter((other) => other !== column) : [...view.hidden, column];
  studio.show({ ...view, hidden, front: isHidden ? column : view.front });
}

/** Selects the row at a position, and reads it first if that is needed. */
export function selectAt(studio: Studio, position: number): void {
  const rows = studio.timeline.peek();
  if (rows === null || position < 0) return;
  const select = (row: Row) => studio.select(row.id, "replace");
  const row = rows.at(position);
  if (row !== null) return select(row);
  rows.want(position, position + 1);
  const stop = rows.version.subscribe(() => {
    const read = rows.at(position);
    if (read === null) return;
    queueMicrotask(() => stop());
    if (studio.timeline.peek() === rows) select(read);
  });
}

async function move(studio: Studio, direction: Move): Promise<void> {
  // Keys may be faster than the rows.
  if (studio.selectedPosition.peek() === null) await studio.findSelected();
  const rows = studio.timeline.peek();
  const position = studio.selectedPosition.peek();
  if (rows === null || position === null) return;
  const id = moved(rows.all(), position, direction);
  if (id !== null) studio.select(id, "replace");
}

function changeThread(studio: Studio, by: number): void {
  const { thread } = studio.view.peek();
  const rows = studio.threads.peek();
  const position = rows.find((row) => row.thread === thread || row.name === thread);
  const next = rows.at(position === null ? 0 : position + by);
  if (next !== null) studio.openThread(next.name ?? next.thread);
}

/** Marks the selected checkpoint, or removes the mark that it has. */
function setMark(studio: Studio, parameter: Parameter & ("good" | "bad" | "marked")): void {
  const view = studio.view.peek();
  const id = view.checkpoint ?? studio.selectedRow.peek()?.id;
  if (id === undefined) return;
  const isSet = view.parameters[parameter] === id;
  const opposite = ({ good: "bad", bad: "good", marked: null } as const)[parameter];
  // A step is good or bad, not both.
  const isChanged = opposite !== null && view.parameters[opposite] === id;
  const next = withParameters(view, { [parameter]: isSet ? null : id, ...(isChanged && { [opposite]: null }) });
  // The id of a step that is followed may change; its mark does not.
  studio.show(next, "replace");
  const what = parameter === "marked" ? "for a comparison" : `as ${parameter}`;
  studio.announcer.say(isSet ? `The mark ${what} is removed` : `${shortId(id)} is marked ${what}`);
  if (parameter !== "marked" && !isSet) void judge(studio);
}

/** After a mark as good or bad: selects the step to judge next, or the first bad one. */
async function judge(studio: Studio): Promise<void> {
  const { good, bad } = studio.view.peek().parameters;
  const judgement = await studio.judging.between(good, bad);
  const { parameters } = studio.view.peek();
  if (parameters.good !== good || parameters.bad !== bad) return;
  if (judgement.is === "next" || judgement.is === "found") studio.select(judgement.step.id, "replace");
  const words = judgementWords(judgement);
  if (judgement.is !== "unmarked") studio.announcer.say(words);
}

function switchSide(studio: Studio): void {
  const view = studio.view.peek();
  const at = SIDES.findIndex((side) => side === view.parameters.side);
  const next = SIDES[(Math.max(at, 0) + 1) % SIDES.length] ?? SIDES[0];
  studio.show({ ...withParameters(view, { side: next === SIDES[0] ? null : next }), pane: "state" }, "replace");
  studio.announcer.say(SIDE_TITLES[next]);
}

async function copyPath(studio: Studio, view: View, page: Surroundings): Promise<void> {
  const { path } = view.parameters;
  if (path === undefined) return studio.announcer.say("No value is selected. Select one in the state first.");
  studio.announcer.say((await page.copy(path)) ? `The path ${shown(path)} is copied` : `The browser does not allow copying; the path is ${shown(path)}`);
}

async function copyLink(studio: Studio, view: View, page: Surroundings): Promise<void> {
  const fixed = { ...view, checkpoint: view.checkpoint ?? studio.selectedRow.peek()?.id ?? null };
  const link = page.address(fragmentOf(fixed));
  studio.announcer.say((await page.copy(link)) ? "The link is copied" : `The browser does not allow copying; the link is ${link}`);
}

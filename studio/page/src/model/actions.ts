// What each key and button does.

import type { Row } from "../wire/documents";
import { type Column, PANES, type PaneName, type Parameter, type View, fragmentOf, withParameters } from "./address";
import type { Action } from "./keys";
import { moved, type Move } from "./moves";
import type { Studio } from "./studio";
import { shortId } from "./words";

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
  openInbox(): void;
}

export function act(studio: Studio, action: Action, page: Surroundings): void {
  const view = studio.view.peek();
  const pane = PANES.find((name) => name === action);
  if (pane !== undefined) return showPane(studio, pane);
  switch (action) {
    case "older":
    case "newer":
    case "branchLeft":
    case "branchRight":
      return move(studio, action);
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
    case "fork":
      return showPane(studio, "edit");
    case "inbox":
      return page.openInbox();
    case "toggleThreads":
      return toggle(studio, "threads");
    case "toggleTimeline":
      return toggle(studio, "timeline");
    case "toggleDetail":
      return toggle(studio, "detail");
    case "theme":
      return page.switchTheme();
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

export function toggle(studio: Studio, column: Column): void {
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

function move(studio: Studio, direction: Move): void {
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
  const next = withParameters(view, { [parameter]: isSet ? null : id });
  // The id of a step that is followed may change; its mark does not.
  studio.show(next, "replace");
  const what = parameter === "marked" ? "for a comparison" : `as ${parameter}`;
  studio.announcer.say(isSet ? `The mark ${what} is removed` : `${shortId(id)} is marked ${what}`);
}

async function copyLink(studio: Studio, view: View, page: Surroundings): Promise<void> {
  const fixed = { ...view, checkpoint: view.checkpoint ?? studio.selectedRow.peek()?.id ?? null };
  const link = page.address(fragmentOf(fixed));
  studio.announcer.say((await page.copy(link)) ? "The link is copied" : `The browser does not allow copying; the link is ${link}`);
}

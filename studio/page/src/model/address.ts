// The address of the page, which holds everything that is shown: `#/t/rust/c/0b0b?path=facts[0]&pane=diff`.

export const PANES = [
  "state",
  "diff",
  "tasks",
  "messages",
  "graph",
  "calls",
  "blame",
  "why",
  "bisect",
  "compare",
  "replay",
  "edit",
  "fork",
  "answer",
  "run",
  "export",
  "search",
] as const;

/** A pane of the right side. */
export type PaneName = (typeof PANES)[number];

export const COLUMNS = ["threads", "timeline", "detail"] as const;

/** A part of the layout. */
export type Column = (typeof COLUMNS)[number];

/** The parameters of an address. The first ones choose threads; the others belong to panes. */
const PARAMETERS = [
  "status",
  "graph",
  "text",
  "path",
  "side",
  "node",
  "call",
  "other",
  "marked",
  "good",
  "bad",
  "is",
  "linear",
  "after",
  "find",
  "within",
  "closed",
] as const;

export type Parameter = (typeof PARAMETERS)[number];

/** What the page shows. */
export interface View {
  /** The selected thread. */
  readonly thread: string | null;
  /** The selected checkpoint; `null` for the latest one of the thread, also when another one follows. */
  readonly checkpoint: string | null;
  readonly pane: PaneName;
  /** The columns that are hidden. */
  readonly hidden: readonly Column[];
  /** The column that is shown where there is room for one only. */
  readonly front: Column;
  readonly parameters: { readonly [P in Parameter]?: string };
}

export const FIRST_VIEW: View = {
  thread: null,
  checkpoint: null,
  pane: "state",
  hidden: [],
  front: "threads",
  parameters: {},
};

/** Characters that browsers keep in a fragment, so that an address can be read. */
const READABLE = /%(?:5B|5D|3A|40|2C|24|2F|3D|3F|21|7E|28|29|2A|3B)/g;

function readable(text: string, except: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(READABLE, (code) => {
    const letter = decodeURIComponent(code);
    return except.includes(letter) ? code : letter;
  });
}

/** Returns the fragment of a view, with its `#`. Views that show the same have the same fragment. */
export function fragmentOf(view: View): string {
  let fragment = "#/";
  if (view.thread !== null) fragment += `t/${readable(view.thread, "/?")}`;
  if (view.thread !== null && view.checkpoint !== null) fragment += `/c/${readable(view.checkpoint, "/?")}`;
  const parameters: [string, string][] = [];
  for (const name of PARAMETERS) {
    const value = view.parameters[name];
    if (value !== undefined && value !== "") parameters.push([name, value]);
  }
  if (view.pane !== FIRST_VIEW.pane) parameters.push(["pane", view.pane]);
  if (view.front !== firstFront(view)) parameters.push(["front", view.front]);
  const hidden = COLUMNS.filter((column) => view.hidden.includes(column));
  if (hidden.length > 0) parameters.push(["hide", hidden.join(",")]);
  const query = parameters.map(([name, value]) => `${name}=${readable(value, "")}`).join("&");
  return query ? `${fragment}?${query}` : fragment;
}

/** Reads a fragment. Parts that are unknown are left out, so that an older link still shows most of its view. */
export function viewOf(fragment: string): View {
  const [, route = "", query = ""] = /^#?([^?]*)\??(.*)$/s.exec(fragment) ?? [];
  const [, mark, thread, inner, checkpoint] = route.split("/");
  const read: { [P in Parameter]?: string } = {};
  let pane: PaneName = FIRST_VIEW.pane;
  let front: Column | undefined;
  let hidden: readonly Column[] = [];
  for (const part of query.split("&")) {
    const split = part.indexOf("=");
    if (split < 0) continue;
    const name = part.slice(0, split);
    const value = decoded(part.slice(split + 1));
    const parameter = PARAMETERS.find((known) => known === name);
    if (parameter !== undefined && value !== "") read[parameter] = value;
    if (name === "pane") pane = PANES.find((known) => known === value) ?? pane;
    if (name === "front") front = COLUMNS.find((known) => known === value);
    if (name === "hide") hidden = COLUMNS.filter((column) => value.split(",").includes(column));
  }
  const view = {
    ...FIRST_VIEW,
    thread: mark === "t" && thread ? decoded(thread) : null,
    checkpoint: mark === "t" && thread && inner === "c" && checkpoint ? decoded(checkpoint) : null,
    pane,
    hidden,
    parameters: read,
  };
  return { ...view, front: front ?? firstFront(view) };
}

/** Without a thread, only the list of threads has something to show. */
function firstFront(view: { readonly thread: string | null }): Column {
  return view.thread === null ? "threads" : "timeline";
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A link that was cut in the middle of a character.
    return text;
  }
}

/** New values of parameters; `null` removes one. */
export type Changes = { readonly [P in Parameter]?: string | null };

/** Returns the view with some parameters replaced. */
export function withParameters(view: View, changes: Changes): View {
  const parameters: { [P in Parameter]?: string } = { ...view.parameters };
  for (const name of PARAMETERS) {
    const value = changes[name];
    if (value === null) delete parameters[name];
    else if (value !== undefined) parameters[name] = value;
  }
  return { ...view, parameters };
}

/** Returns the view of another thread. What belongs to the former thread is left out. */
export function atThread(view: View, thread: string | null): View {
  const kept = withParameters(view, { path: null, node: null, call: null, other: null, good: null, bad: null, is: null, linear: null, after: null });
  return { ...kept, thread, checkpoint: null, front: firstFront({ thread }) };
}

/** Takes the token of the API from the first address: `#token=…`, alone or before a view. */
export function tokenOf(fragment: string): { readonly token: string | null; readonly rest: string } {
  const [, token, rest = ""] = /^#token=([^&/]*)&?(.*)$/s.exec(fragment) ?? [];
  return token === undefined ? { token: null, rest: fragment } : { token: decoded(token), rest: rest && `#${rest}` };
}

// All actions of the page with their keys: the one table for the key handler, the titles of buttons and the help.

export interface Binding {
  /** The value of `KeyboardEvent.key`. */
  readonly key: string;
  /** The name of the key in the help, if it is not the key itself. */
  readonly shown?: string;
  readonly title: string;
  readonly group: "Move" | "Look" | "Find the bad step" | "Change" | "Page";
  /** `true` for keys that work inside a text field, too. */
  readonly everywhere?: boolean;
}

export const BINDINGS = {
  older: { key: "j", title: "Older step of this branch", group: "Move" },
  newer: { key: "k", title: "Newer step of this branch", group: "Move" },
  branchLeft: { key: "h", title: "Branch to the left", group: "Move" },
  branchRight: { key: "l", title: "Branch to the right", group: "Move" },
  threadBefore: { key: "[", title: "Previous thread", group: "Move" },
  threadAfter: { key: "]", title: "Next thread", group: "Move" },
  latest: { key: "K", title: "Latest step, and follow new ones", group: "Move" },
  oldest: { key: "J", title: "First step", group: "Move" },

  state: { key: "s", title: "State", group: "Look" },
  diff: { key: "d", title: "Difference to the step before", group: "Look" },
  tasks: { key: "w", title: "Tasks: what ran, and unfinished work", group: "Look" },
  messages: { key: "v", title: "Conversation", group: "Look" },
  graph: { key: ".", title: "Graph", group: "Look" },
  calls: { key: "t", title: "Model calls and tokens", group: "Look" },
  search: { key: "/", title: "Search all states", group: "Look" },
  side: { key: "z", title: "State after the step, before it, or the difference", group: "Look" },
  copyPath: { key: "q", title: "Copy the path of the selected value", group: "Look" },
  inbox: { key: "i", title: "Open questions of all threads", group: "Look" },

  blame: { key: "o", title: "Blame: who wrote this value", group: "Find the bad step" },
  why: { key: "y", title: "Why a node ran", group: "Find the bad step" },
  bisect: { key: "x", title: "Bisect: the first step where a condition holds", group: "Find the bad step" },
  good: { key: "g", title: "Mark this step as good", group: "Find the bad step" },
  bad: { key: "b", title: "Mark this step as bad", group: "Find the bad step" },
  mark: { key: "m", title: "Mark this step for a comparison", group: "Find the bad step" },
  compare: { key: "c", title: "Compare with the marked step", group: "Find the bad step" },

  edit: { key: "e", title: "Edit this state", group: "Change" },
  fork: { key: "f", title: "Fork here", group: "Change" },
  run: { key: "R", title: "Run, resume, rerun or cancel", group: "Change" },
  answer: { key: "a", title: "Answer a question", group: "Change" },
  replay: { key: "r", title: "Replay with the program's code", group: "Change" },
  export: { key: "p", title: "Export, test and link", group: "Change" },

  toggleThreads: { key: "1", title: "Show or hide the threads", group: "Page" },
  toggleTimeline: { key: "2", title: "Show or hide the timeline", group: "Page" },
  toggleDetail: { key: "3", title: "Show or hide the right side", group: "Page" },
  theme: { key: "n", title: "Dark or light (night)", group: "Page" },
  copyLink: { key: "u", title: "Copy a link to this view", group: "Page" },
  help: { key: "?", title: "All keys", group: "Page" },
  close: { key: "Escape", shown: "Esc", title: "Close this help, or leave a field", group: "Page", everywhere: true },
} as const satisfies { readonly [name: string]: Binding };

export type Action = keyof typeof BINDINGS;

const ACTIONS = Object.keys(BINDINGS).filter((name): name is Action => name in BINDINGS);

/** All actions, in the order of the help. */
export function actions(): readonly (readonly [Action, Binding])[] {
  return ACTIONS.map((name) => [name, BINDINGS[name]]);
}

/** What the key handler reads of a keyboard event. */
export interface Press {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
}

/** Returns the action of a key press. `free` says that no field for text has the focus, and that keys are on. */
export function actionOf(press: Press, free: boolean): Action | null {
  if (press.ctrlKey || press.metaKey || press.altKey) return null;
  for (const [name, { key, everywhere = false }] of actions()) {
    if (key === press.key && (everywhere || free)) return name;
  }
  return null;
}

/** Returns the title of a button: its action and its key. */
export function titleOf(action: Action): string {
  return `${BINDINGS[action].title} (${keyOf(action)})`;
}

/** Returns the name of the key of an action. */
export function keyOf(action: Action): string {
  const binding: Binding = BINDINGS[action];
  return binding.shown ?? binding.key;
}

// The screens of the page: a question of a person, the view that answers it, and what is seen there.

import type { Role } from "./studio";

export interface Screen {
  readonly question: string;
  readonly view: string;
  readonly sees: readonly (readonly [Role, string | RegExp])[];
  readonly reads?: readonly (string | RegExp)[];
}

const step8 = (parameters: string) => `#/t/visit/c/visit@8?${parameters}`;

export const SCREENS: readonly Screen[] = [
  {
    question: "what is there, what waits for me?",
    view: "#/",
    sees: [
      ["row", /^article .* waiting review 1 1 /],
      ["row", /^visit When can I visit the museum\? finished replies 21 /],
      ["link", "Typed graphs: draft 1"],
      ["searchbox", "Filter by text"],
      ["combobox", "Status"],
    ],
    reads: ["3 threads"],
  },
  { question: "which threads wait?", view: "#/?status=waiting", sees: [["row", /^article /]], reads: [/^1 thread$/] },
  { question: "which threads have this text?", view: "#/?text=nothing%20like%20it", sees: [["button", "Show all threads"]], reads: ["No thread matches the filter."] },
  {
    question: "what happened?",
    view: "#/t/visit",
    sees: [
      ["listbox", "Checkpoints of visit, newest first"],
      ["option", /^Step 21\s*: evaluate ; latest of visit ; changed score ; took 0 ms/],
      ["option", /^Step 20\s*: evaluate ; latest of monday/],
      ["option", /^Step 7\s*: edited ; changed keep ; next evaluate/],
      ["img", "Time strip: working 40 ms"],
      ["heading", "Step 21 · evaluate"],
    ],
    reads: [/37 checkpoints · following the latest/],
  },
  {
    question: "where was it?",
    view: step8("pane=graph"),
    sees: [
      ["img", /^Graph replies/],
      ["row", /^write this step 10 4 ms evaluate/],
      ["row", /^evaluate next 10 1 ms END \(Publish\), write \(Shorten\)/],
    ],
  },
  {
    question: "what is the state?",
    view: step8("path=facts[id=%22hours%22].text"),
    sees: [
      ["treeitem", /^answer , changed : The museum is open every day, from 10/],
      ["treeitem", /^facts : 3 items/],
    ],
    reads: [/every day except Mondays, from 10 to 18/],
  },
  { question: "what was it before?", view: step8("side=before"), sees: [["treeitem", /^answer .*except Mondays/]] },
  { question: "what changed?", view: step8("pane=diff"), sees: [["link", "answer"], ["deletion", ""]], reads: ["except Mondays"] },
  { question: "what ran?", view: step8("pane=tasks"), sees: [["heading", "Ran: write"], ["heading", "Next: evaluate"]] },
  { question: "what was said?", view: step8("pane=messages"), sees: [], reads: ["There is no conversation in this state."] },
  { question: "what did the model see and say?", view: step8("pane=calls"), sees: [], reads: ["No model was called in this step."] },
  { question: "who wrote this?", view: step8("pane=blame&path=answer"), sees: [["link", "step 8"], ["link", "step 6"]], reads: [/by write at/] },
  {
    question: "why did that run?",
    view: step8("pane=why"),
    sees: [["list", "Causes, newest first"]],
    reads: [/write by the route evaluate → Shorten/, /START by the input/],
  },
  {
    question: "where did it go wrong?",
    view: "#/t/visit?pane=bisect&path=answer&is=!~%20except%20Mondays",
    sees: [["link", /step 8/]],
    reads: [/23 of 23 states checked, up to step 21 of visit/],
  },
  { question: "where is this text?", view: "#/?pane=search&find=except%20Mondays", sees: [["region", "Thread visit"], ["link", /step 2 *answer/]], reads: [/matches in \d threads?/] },
  { question: "what if the value were another?", view: "#/t/visit/c/visit@6?pane=edit&path=score", sees: [["textbox", "JSON"], ["radio", "On a new thread"]] },
  { question: "what if it went on from here?", view: "#/t/visit/c/visit@6?pane=fork", sees: [["radio", "On a new branch of visit"]], reads: [/A copy of step 6 becomes the latest checkpoint/] },
  { question: "what does it ask me?", view: "#/t/article?pane=answer", sees: [["textbox", /^answer/]], reads: ["1 open question on article"] },
  { question: "what does it do now?", view: "#/t/article?pane=run", sees: [["heading", "Resume"], ["heading", "Cancel"]], reads: ["Waiting for 1 answer after step 1."] },
  {
    question: "is it the same as before?",
    view: "#/t/visit?marked=monday&pane=compare",
    sees: [["link", "step 6"], ["heading", /differences? of the states/]],
    reads: [/They share the past up to/],
  },
  { question: "does the code still do the same?", view: "#/t/visit?pane=replay", sees: [], reads: [/PROGRAM debug replay visit/] },
  { question: "how do I keep it?", view: step8("pane=export"), sees: [["heading", "Test as Rust code"], ["button", "Save the file"], ["button", "Copy the link"]], reads: [/superstep test .* visit@8 --step/] },
];

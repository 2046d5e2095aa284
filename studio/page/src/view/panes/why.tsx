// Why a node ran, or is next: the chain back to the input.

import type { JSX } from "preact";
import { type Chain, type Link, chainOf } from "../../model/lineage";
import { shownNode } from "../../model/words";
import * as requests from "../../wire/requests";
import { useDocument, useStudio } from "../context";
import { CheckpointLink, ViewLink } from "../links";
import { Node, Sentence, drawn, useFirst } from "../parts";
import type { PaneProps } from "./registry";

/** The steps that are drawn before more are asked for. */
const SHOWN = 50;
/** The tasks of one step that are drawn. */
const TASKS = 8;

export function WhyPane({ checkpoint, row }: PaneProps): JSX.Element {
  const studio = useStudio();
  const wanted = studio.view.value.parameters.node;
  const ran = [...new Set(row?.ran ?? [])].filter((node) => node !== "__edit__");
  const next = [...new Set(row?.next ?? [])].filter((node) => !ran.includes(node));
  const known = [...ran, ...next];
  // Another step may not have the node that was asked about before.
  const node = wanted !== undefined && (row === null || known.includes(wanted)) ? wanted : (known[0] ?? wanted);
  const why = useDocument(node === undefined ? null : requests.why(checkpoint, node));
  return (
    <div class="padded">
      {known.length > 0 && (
        <div class="pane-bar flat" role="group" aria-label="Node">
          {known.map((name, at) => (
            <button
              key={name}
              type="button"
              class="choice"
              aria-pressed={name === node}
              {...(at === 0 && { "data-focus": "" })}
              onClick={() => studio.set({ node: name })}
            >
              {shownNode(name)} <span class="dim">{ran.includes(name) ? "ran" : "is next"}</span>
            </button>
          ))}
        </div>
      )}
      {row === null && node === undefined && <Sentence>Reading the step …</Sentence>}
      {row !== null && known.length === 0 && <Sentence>No node ran in this step, and none is next.</Sentence>}
      {node !== undefined && !why.isOld && drawn(why, "Reading why it ran …", (document) => <ChainList key={`${checkpoint} ${node}`} chain={chainOf(document, row)} />)}
    </div>
  );
}

const ORIGINS = {
  input: "the input of a run",
  edit: "an edit",
  deferred: "the node waited until the nodes before it were done",
  pruned: "the steps before this one were pruned",
} as const;

function ChainList({ chain }: { readonly chain: Chain }): JSX.Element {
  const { links, origin } = chain;
  const [first, more] = useFirst(links, SHOWN, "steps");
  return (
    <>
      <ol class="chain" aria-label="Causes, newest first">
        {first.map((link) => (
          <ChainLink key={link.step} link={link} />
        ))}
        {more === null && origin !== null && (
          <li class="chain-link origin">
            <span class="chain-step">
              <CheckpointLink checkpoint={origin.checkpoint} />
            </span>
            <span>{ORIGINS[origin.is]}</span>
          </li>
        )}
      </ol>
      {more}
    </>
  );
}

function ChainLink({ link }: { readonly link: Link }): JSX.Element {
  const { step, checkpoint, isPlanned, tasks } = link;
  return (
    <li class="chain-link">
      <span class="chain-step">
        <CheckpointLink checkpoint={checkpoint} step={step} />
        {isPlanned && <span class="tag">next</span>}
      </span>
      <ul>
        {tasks.slice(0, TASKS).map(({ node, by }, at) => (
          <li key={at}>
            <Node name={node} /> <span class="dim">by {by.join(", and by ")}</span>
          </li>
        ))}
        {tasks.length > TASKS && <li class="dim">and {tasks.length - TASKS} more tasks</li>}
      </ul>
      <span class="chain-links">
        <ViewLink checkpoint={checkpoint} pane={isPlanned ? "state" : "diff"}>
          {isPlanned ? "State" : "Difference"}
        </ViewLink>
      </span>
    </li>
  );
}

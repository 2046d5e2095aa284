// The conversations in the state, as transcripts.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Conversation, type Speaker, type ToolCall, type Turn, speakerOf, turns } from "../../model/conversation";
import { exact } from "../../model/usage";
import { counted, shown } from "../../model/words";
import * as requests from "../../wire/requests";
import { useDocument, useStudio } from "../context";
import { ViewLink } from "../links";
import { FailureSentence, Sentence } from "../parts";
import { Select } from "../forms";
import { Prose, WholeValue } from "../values";
import type { PaneProps } from "./registry";

export function MessagesPane({ checkpoint, row }: PaneProps): JSX.Element {
  const studio = useStudio();
  const { value, failure, isOld } = useDocument(requests.messages(checkpoint));
  const parent = row?.parent;
  const before = useDocument(parent === undefined ? null : requests.messages(parent));
  if (failure !== null && value === null) {
    return failure.kind === "refused" && failure.status === 404 ? <Sentence>{NONE}</Sentence> : <FailureSentence failure={failure} />;
  }
  if (value === null) return <Sentence>Reading the conversation …</Sentence>;
  const { conversations } = value;
  const wanted = studio.view.value.parameters.path;
  const chosen = conversations.find(({ path }) => path === wanted) ?? conversations[0];
  if (chosen === undefined) return <Sentence>{NONE}</Sentence>;
  const former = before.value?.conversations.find(({ path }) => path === chosen.path)?.messages;
  // A parent without this conversation is not a parent that has not been read.
  const isKnown = !isOld && !before.isOld && (before.value !== null || (before.failure !== null && before.failure.kind === "refused"));
  return (
    <div class="messages-pane">
      {conversations.length > 1 && (
        <div class="pane-bar">
          <label>
            Conversation{" "}
            <Select value={chosen.path} options={conversations.map(({ path, messages }) => [path, `${shown(path)} (${messages.length})`])} onValue={(path) => studio.set({ path })} />
          </label>
        </div>
      )}
      <Transcript key={chosen.path} conversation={chosen} before={isKnown ? (former ?? []) : null} checkpoint={checkpoint} />
    </div>
  );
}

const NONE = "There is no conversation in this state.";

/** The turns that are drawn before more are asked for: the latest ones. */
const SHOWN = 100;

function Transcript({ conversation, before, checkpoint }: { readonly conversation: Conversation; readonly before: Conversation["messages"] | null; readonly checkpoint: string }): JSX.Element {
  const [most, setMost] = useState(SHOWN);
  const list = useRef<HTMLOListElement>(null);
  const all = turns(conversation.messages, before);
  const hidden = Math.max(0, all.length - most);
  const firstNew = all.findIndex(isFresh);
  const added = before === null ? 0 : all.filter(isFresh).length;
  // Once for each step: what it added comes into view.
  const reveals = before === null ? null : `${checkpoint} ${firstNew}`;
  useEffect(() => {
    if (reveals !== null && firstNew >= 0) list.current?.querySelector(".turn.new")?.scrollIntoView({ block: "nearest" });
  }, [reveals]);
  return (
    <div class="padded transcript" tabIndex={-1} data-focus="">
      <p class="pane-lead dim">
        <code class="path">
          <ViewLink pane="state" parameters={{ path: conversation.path }} title="Show it in the state">
            {shown(conversation.path)}
          </ViewLink>
        </code>{" "}
        · {counted(conversation.messages.length, "message")}
        {before !== null && (added === 0 ? " · the step added none" : ` · new in this step: ${added}`)}
      </p>
      {hidden > 0 && (
        <button type="button" class="small-button more" onClick={() => setMost(most + SHOWN)}>
          Show older ones; {exact(hidden)} are not drawn
        </button>
      )}
      <ol class="turns" ref={list} start={hidden + 1}>
        {all.slice(hidden).map((turn) => (
          <TurnItem key={turn.message.id ?? turn.at} turn={turn} path={conversation.path} />
        ))}
      </ol>
    </div>
  );
}

function isFresh({ isNew, calls }: Turn): boolean {
  return isNew || calls.some(({ result }) => result?.isNew);
}

/** The characters of a tool's result that are drawn before it is opened. */
const RESULT = 600;

const SPEAKERS: { readonly [S in Speaker]: string } = { person: "User", model: "Model", tool: "Tool", system: "System", other: "" };

interface TurnProps {
  readonly turn: Turn;
  /** The path of the conversation. */
  readonly path: string;
  /** The checkpoint with the conversation, if it is not the selected one. */
  readonly checkpoint?: string;
}

export function TurnItem({ turn, path, checkpoint }: TurnProps): JSX.Element {
  const { message, calls, isNew, at } = turn;
  const speaker = speakerOf(message);
  const isFreshTurn = isFresh(turn);
  return (
    <li class={`turn by-${speaker} ${isFreshTurn ? "new" : ""}`}>
      <div class="turn-head">
        <span class="turn-role" title={`role: ${shown(message.role)}`}>
          {SPEAKERS[speaker] || shown(message.role)}
        </span>
        {message.tool !== undefined && <code>{shown(message.tool)}</code>}
        {message.failed === true && <span class="tag bad">failed</span>}
        {isNew && <span class="tag is-added">new</span>}
        <span class="grow" />
        <span class="turn-link">
          <ViewLink
            pane="state"
            parameters={{ path: `${path}[${at}]` }}
            title="Show the message in the state"
            {...(checkpoint !== undefined && { checkpoint })}
          >
            {message.id === undefined ? `#${at}` : shown(message.id)}
          </ViewLink>
        </span>
      </div>
      {(message.text !== "" || calls.length === 0) && <Prose text={message.text} />}
      {calls.map(({ call, result }, position) => (
        <CallCard key={call.id ?? position} call={call} result={result} isMarked={result?.isNew === true && !isNew} />
      ))}
    </li>
  );
}

function CallCard({ call, result, isMarked }: { readonly call: ToolCall; readonly result: Turn["calls"][number]["result"]; readonly isMarked: boolean }): JSX.Element {
  const failed = result?.message.failed === true;
  return (
    <div class="tool-call">
      <div class="turn-head">
        <span class="dim">calls</span> <code class="node">{shown(call.name)}</code>
        {call.id !== undefined && <span class="dim mono">{shown(call.id)}</span>}
        {failed && <span class="tag bad">failed</span>}
      </div>
      <WholeValue value={call.input} />
      {result === null ? (
        <p class="dim">There is no result yet.</p>
      ) : (
        <div class={`tool-result ${failed ? "bad" : ""}`}>
          <p class="was">
            result {isMarked && <span class="tag is-added">new</span>}
          </p>
          <WholeValue value={result.message.text} short={RESULT} />
        </div>
      )}
    </div>
  );
}

// The prompt of a model call, and its difference to the prompt of another call.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { asJson, turns } from "../../model/conversation";
import { differences } from "../../model/difference";
import { type Call, earlierCalls, promptOf } from "../../model/usage";
import { counted, shown, shownNode } from "../../model/words";
import type { Failure } from "../../wire/client";
import type { Messages, Row } from "../../wire/documents";
import { type Json, isObject } from "../../wire/json";
import * as requests from "../../wire/requests";
import { useDocument, useStudio, useTimelineRows } from "../context";
import { DifferenceList } from "../differences";
import { Select } from "../forms";
import { CheckpointLink } from "../links";
import { FailureSentence } from "../parts";
import { WholeValue } from "../values";
import { TurnItem } from "./messages";

interface Loaded {
  /** The messages, or the recorded request. */
  readonly value: Json | null;
  readonly conversation: Messages["conversations"][number] | null;
  /** The checkpoint whose state has the prompt, if it was not recorded. */
  readonly checkpoint: string | null;
  readonly failure: Failure | null;
  /** A sentence if there is nothing to show. */
  readonly missing: string | null;
}

/** Reads the prompt of a call. */
function usePrompt(call: Call | null, parent: string | undefined): Loaded {
  const prompt = call === null ? null : promptOf(call, parent);
  const checkpoint = prompt?.is === "state" ? prompt.checkpoint : null;
  const { value, failure } = useDocument(checkpoint === null ? null : requests.messages(checkpoint));
  return useMemo((): Loaded => {
    const nothing = { value: null, conversation: null, checkpoint, failure: null, missing: null };
    if (call === null || prompt === null) return nothing;
    if (prompt.is === "recorded") return { ...nothing, value: messagesOf(call.request ?? null) };
    if (prompt.is === "unknown") return { ...nothing, missing: "The file does not record from which state this call of a subgraph was made." };
    if (failure !== null && value === null) {
      return failure.kind === "refused"
        ? { ...nothing, missing: "The request was not recorded, and the state before the call has no conversation." }
        : { ...nothing, failure };
    }
    if (value === null) return nothing;
    const { conversations } = value;
    const conversation = conversations.find(({ path }) => path === "messages") ?? conversations[0] ?? null;
    if (conversation === null) return { ...nothing, missing: "The state before the call has no conversation." };
    return { ...nothing, conversation, value: conversation.messages.map(asJson) };
  }, [call, prompt?.is, checkpoint, value, failure]);
}

/** The messages of a recorded request; the whole request if it has none. */
function messagesOf(request: Json): Json {
  const messages = isObject(request) ? request["messages"] : undefined;
  return Array.isArray(messages) ? messages : request;
}

export function PromptOfCall({ call, parent }: { readonly call: Call; readonly parent: string | undefined }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{call.request === undefined ? "The conversation from which the request was made" : "The recorded request"}</summary>
      {isOpen && <OpenPrompt call={call} parent={parent} />}
    </details>
  );
}

/** It is read only once it is opened. */
function OpenPrompt({ call, parent }: { readonly call: Call; readonly parent: string | undefined }): JSX.Element {
  const { value, conversation, checkpoint, failure, missing } = usePrompt(call, parent);
  if (failure !== null) return <FailureSentence failure={failure} />;
  if (missing !== null) return <p class="dim">{missing}</p>;
  if (value === null) return <p class="dim">Reading the prompt …</p>;
  if (conversation === null || checkpoint === null) return <WholeValue value={value} />;
  return (
    <>
      <p class="dim">
        The request itself was not recorded. The state at <CheckpointLink checkpoint={checkpoint} pane="messages" /> has{" "}
        {counted(conversation.messages.length, "message")}:
      </p>
      <ol class="turns">
        {turns(conversation.messages, null).map((turn) => (
          <TurnItem key={turn.at} turn={turn} path={conversation.path} checkpoint={checkpoint} />
        ))}
      </ol>
    </>
  );
}

interface DifferenceProps {
  readonly call: Call;
  readonly calls: readonly Call[];
  /** The position of the call among those of the step. */
  readonly at: number;
  readonly checkpoint: string;
  readonly row: Row | null;
}

/** The other call: the one of the step before, of the marked step, or another one of this step as `#2`. */
export function PromptDifference({ call, calls, at, checkpoint, row }: DifferenceProps): JSX.Element {
  const studio = useStudio();
  const { other, marked } = studio.view.value.parameters;
  const read = useTimelineRows();
  const earlier = earlierCalls(row, read);
  const isMarkedHere = marked !== undefined && marked !== checkpoint;
  const sibling = other?.startsWith("#") === true ? (calls[Number(other.slice(1))] ?? null) : null;
  const elsewhere = other === "before" ? (earlier?.id ?? null) : other === "marked" && isMarkedHere ? marked : null;
  return (
    <>
      <label>
        Compare with{" "}
        <Select
          value={other ?? ""}
          onValue={(value) => studio.set({ other: value || null })}
          options={[
            ["", "no other prompt"],
            ...(earlier !== null || other === "before" ? [["before", `the call before${earlier === null ? "" : `, in step ${earlier.step}`}`] as const] : []),
            ...(isMarkedHere || other === "marked" ? [["marked", "the marked step"] as const] : []),
            ...calls.flatMap(({ node }, position) => (position === at ? [] : [[`#${position}`, `call ${position + 1} of this step${node === undefined ? "" : `, ${shownNode(node)}`}`] as const])),
          ]}
        />
      </label>
      {other === "before" && earlier === null && <p class="dim">No earlier step of this branch that the timeline has read called a model.</p>}
      {other === "marked" && !isMarkedHere && <p class="dim">Mark another step, then it can be compared.</p>}
      {sibling !== null && <Compared call={call} parent={row?.parent} other={sibling} otherParent={row?.parent} />}
      {elsewhere !== null && <ComparedWithStep call={call} parent={row?.parent} step={elsewhere} parentOfStep={read.find(({ id }) => id === elsewhere)?.parent} />}
    </>
  );
}

interface StepProps {
  readonly call: Call;
  readonly parent: string | undefined;
  readonly step: string;
  readonly parentOfStep: string | undefined;
}

/** Compares with the last call of another step; with the last one of the same node if there is one. */
function ComparedWithStep({ call, parent, step, parentOfStep }: StepProps): JSX.Element {
  const { value, failure } = useDocument(requests.calls(step));
  if (failure !== null && value === null) return <FailureSentence failure={failure} />;
  if (value === null) return <p class="dim">Reading the other call …</p>;
  const other = value.calls.findLast(({ node }) => node === call.node) ?? value.calls.at(-1);
  if (other === undefined) return <p class="dim">That step called no model.</p>;
  return <Compared call={call} parent={parent} other={other} otherParent={parentOfStep} />;
}

interface ComparedProps {
  readonly call: Call;
  readonly parent: string | undefined;
  readonly other: Call;
  readonly otherParent: string | undefined;
}

function Compared({ call, parent, other, otherParent }: ComparedProps): JSX.Element {
  const here = usePrompt(call, parent);
  const there = usePrompt(other, otherParent);
  const found = useMemo(
    () => (here.value === null || there.value === null ? null : differences(there.value, here.value)),
    [here.value, there.value],
  );
  const failure = here.failure ?? there.failure;
  if (failure !== null) return <FailureSentence failure={failure} />;
  if (here.missing !== null) return <p class="dim">{here.missing}</p>;
  if (there.missing !== null) return <p class="dim">Of the other call: {there.missing}</p>;
  if (found === null) return <p class="dim">Reading the prompts …</p>;
  return (
    <>
      <p class="dim">
        From the prompt of {shown(other.node === undefined ? other.name : shownNode(other.node))} to this one:{" "}
        {found.length === 0 ? "the prompts are the same" : counted(found.length, "difference")}
      </p>
      <DifferenceList differences={found} />
    </>
  );
}

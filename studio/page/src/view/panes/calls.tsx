// The model calls of a step.

import type { ComponentChildren, JSX } from "preact";
import { type Call, exact, usageWords } from "../../model/usage";
import { cost, counted, duration, shown } from "../../model/words";
import type { Calls } from "../../wire/documents";
import { isObject } from "../../wire/json";
import * as requests from "../../wire/requests";
import { useDocument, useStudio } from "../context";
import { ThreadLink } from "../links";
import { Block, Facts, Node, Sentence, drawn } from "../parts";
import { Prose, WholeValue } from "../values";
import { PromptOfCall, PromptDifference } from "./prompt";
import type { PaneProps } from "./registry";

export function CallsPane({ checkpoint, row }: PaneProps): JSX.Element {
  return drawn(useDocument(requests.calls(checkpoint)), "Reading the model calls …", (document) => <StepCalls document={document} row={row} />);
}

function StepCalls({ document, row }: { readonly document: Calls; readonly row: PaneProps["row"] }): JSX.Element {
  const studio = useStudio();
  const { calls, used, checkpoint } = document;
  if (calls.length === 0) {
    return (
      <Sentence>
        <p>No model was called in this step.</p>
        <p>A model call is an effect whose outcome has a member <code>usage</code> with its tokens. The timeline shows the tokens of each step.</p>
      </Sentence>
    );
  }
  const at = Math.min(Number(studio.view.value.parameters.call ?? 0) || 0, calls.length - 1);
  const call = calls[at];
  return (
    <div class="padded" tabIndex={-1} data-focus="">
      {used !== undefined && <p class="pane-lead">{usageWords(used).join(" · ")}</p>}
      {calls.length > 1 && (
        <ul class="calls" aria-label="Model calls">
          {calls.map((one, position) => (
            <li key={position}>
              <button
                type="button"
                class="call-choice"
                aria-pressed={position === at}
                onClick={() => studio.set({ call: position === 0 ? null : String(position) })}
              >
                <CallLine call={one} />
              </button>
            </li>
          ))}
        </ul>
      )}
      {call !== undefined && <CallDetail key={`${checkpoint} ${at}`} call={call} calls={calls} at={at} checkpoint={checkpoint} row={row} />}
    </div>
  );
}

function CallLine({ call }: { readonly call: Call }): JSX.Element {
  const { node, name, key, model, input_tokens, output_tokens, elapsed_ms } = call;
  return (
    <>
      {node !== undefined && <Node name={node} />} <code>{shown(name)}</code> {key !== undefined && <code class="dim">{shown(key)}</code>}
      <span class="grow" />
      <span class="dim">
        {model !== undefined && `${shown(model)} · `}
        {exact(input_tokens)} + {exact(output_tokens)} tokens
        {elapsed_ms !== undefined && ` · ${duration(elapsed_ms)}`}
      </span>
    </>
  );
}

interface DetailProps {
  readonly call: Call;
  readonly calls: readonly Call[];
  readonly at: number;
  readonly checkpoint: string;
  readonly row: PaneProps["row"];
}

function CallDetail({ call, calls, at, checkpoint, row }: DetailProps): JSX.Element {
  return (
    <>
      <Facts all={factsOf(call)} />
      <Block title="Response">
        <Response call={call} />
      </Block>
      <Block title="Prompt">
        <PromptOfCall call={call} parent={row?.parent} />
      </Block>
      <Block title="Difference of prompts">
        <PromptDifference call={call} calls={calls} at={at} checkpoint={checkpoint} row={row} />
      </Block>
    </>
  );
}

function factsOf(call: Call): readonly (readonly [string, ComponentChildren])[] {
  const facts: [string, ComponentChildren][] = [];
  const { node, name, key, subgraph, model } = call;
  if (model !== undefined) facts.push(["Model", <span class="node">{shown(model)}</span>]);
  if (node !== undefined) facts.push(["Node", <Node name={node} />]);
  if (subgraph !== undefined) facts.push(["Subgraph", <ThreadLink thread={subgraph} />]);
  facts.push(["Effect", <code>{shown(key === undefined || key === "" ? name : `${name} ${key}`)}</code>]);
  facts.push(["Tokens in", inputWords(call)]);
  facts.push(["Tokens out", exact(call.output_tokens)]);
  if (call.elapsed_ms !== undefined) facts.push(["Duration", duration(call.elapsed_ms)]);
  if (call.first_token_ms !== undefined) facts.push(["First token after", duration(call.first_token_ms)]);
  if (call.cost !== undefined) facts.push(["Cost", cost(call.cost)]);
  return facts;
}

function inputWords({ input_tokens: all, cache_read_tokens: cached }: Call): string {
  if (cached === undefined) return exact(all);
  const share = all === 0 ? "" : `, ${Math.round((100 * cached) / all)} %`;
  return `${exact(all)} (${exact(cached)} from the cache${share})`;
}

/** The text and the tool calls of a response, and then all of it. */
function Response({ call: { response } }: { readonly call: Call }): JSX.Element {
  const members = isObject(response) ? response : {};
  const { content, stop, tool_calls: toolCalls } = members;
  return (
    <>
      {typeof content === "string" && content !== "" && (
        <div class="response">
          <WholeValue value={content} />
        </div>
      )}
      {Array.isArray(content) && <WholeValue value={content} />}
      {Array.isArray(toolCalls) && toolCalls.length > 0 && (
        <>
          <p class="was">asks for {counted(toolCalls.length, "tool call")}</p>
          <WholeValue value={toolCalls} />
        </>
      )}
      {typeof stop === "string" && <p class="dim">Stopped by: {shown(stop)}</p>}
      {typeof response === "string" ? (
        <Prose text={response} />
      ) : (
        <details class="card-body">
          <summary>The recorded outcome</summary>
          <WholeValue value={response} />
        </details>
      )}
    </>
  );
}

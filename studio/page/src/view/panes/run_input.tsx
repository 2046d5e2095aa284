// A new turn: an input for the thread, or for a new one.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { runCommand } from "../../model/commands";
import type { InputDraft } from "../../model/drafts";
import { jsonProblem } from "../../model/form/draft";
import { nameProblem } from "../../model/storing";
import { shown } from "../../model/words";
import { type Json, parse } from "../../wire/json";
import * as requests from "../../wire/requests";
import { useDocument, useStudio } from "../context";
import { CommandLine, FOCUSED, Form, Labelled, LineField, Refusal, Select, Submit, TextArea } from "../forms";
import { Block } from "../parts";
import { usePost } from "../post";

export function NewTurn({ thread, canWrite }: { readonly thread: string | null; readonly canWrite: boolean }): JSX.Element {
  const studio = useStudio();
  const kept = studio.drafts.inputs.of(thread ?? "");
  const draft: InputDraft = kept.value ?? { thread: null, graph: "", json: "{}" };
  const graphs = useDocument(requests.session()).value?.graphs ?? [];
  const [isChecked, setChecked] = useState(false);
  const { isSent, failure, send } = usePost();
  const name = draft.thread ?? thread ?? "";
  const isNew = name !== thread;
  const input = read(draft.json);
  const problem = isNew ? nameProblem(name) : null;
  const run = async () => {
    setChecked(true);
    if (!canWrite || problem !== null || input.problem !== null) return;
    const begun = await send(requests.run(name, input.value, draft.graph || undefined));
    if (begun === null) return;
    kept.value = null;
    studio.announcer.say(`The run on ${shown(name)} was accepted.`);
    studio.follow(name, { pane: "run", front: "timeline" });
  };
  return (
    <Block look="verb" title="New turn">
      <p>Applies an input to the state of the thread, each field by its reducer, and runs the graph live from its start. A name that no thread has begins a new thread.</p>
      <Form run={() => void run()}>
        <div class="fields-row">
          <LineField label="Thread" problem={isChecked ? problem : null} value={name} onValue={(thread) => (kept.value = { ...draft, thread })} class="field" {...(thread === null && FOCUSED)} />
          {graphs.length > 1 && (
            <Labelled label="Graph">
              {(attributes) => (
                <Select
                  attributes={attributes}
                  value={draft.graph}
                  options={[["", thread === null ? "choose one" : "that of the thread"], ...graphs.map((graph) => [graph, shown(graph)] as const)]}
                  onValue={(graph) => (kept.value = { ...draft, graph })}
                />
              )}
            </Labelled>
          )}
        </div>
        <Labelled label="Input (JSON)" description="An object of fields; for a flow, its input" problem={isChecked || draft.json !== "{}" ? input.problem : null}>
          {(attributes) => <TextArea isCode rows={3} value={draft.json} onValue={(json) => (kept.value = { ...draft, json })} attributes={attributes} />}
        </Labelled>
        {canWrite ? (
          <div class="fields-end">
            <Submit isPlain isSent={isSent}>
              Run {isNew ? "the new thread" : ""} {shown(name)}
            </Submit>
          </div>
        ) : (
          <CommandLine command={runCommand(name, input.value, draft.graph || null)} />
        )}
        <Refusal failure={failure} />
      </Form>
    </Block>
  );
}

function read(json: string): { readonly value: Json; readonly problem: string | null } {
  try {
    return { value: parse(json), problem: null };
  } catch (error) {
    return { value: {}, problem: jsonProblem(error) };
  }
}

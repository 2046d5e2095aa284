// The form for one question.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { answerCommand } from "../../../model/commands";
import type { AnswerDraft } from "../../../model/drafts";
import { type Filled, type Problem, blank, draftOf, jsonProblem, valueOf } from "../../../model/form/draft";
import { type Field, fieldOf } from "../../../model/form/field";
import { askerOf } from "../../../model/standing";
import { grouped, shown, shownNode } from "../../../model/words";
import type { Question } from "../../../wire/documents";
import { type Json, isObject, parse, print } from "../../../wire/json";
import * as requests from "../../../wire/requests";
import { useStudio } from "../../context";
import { Commands, Form, Labelled, Refusal, Sentences, Submit, TextArea, useWriting } from "../../forms";
import { Facts, Sentence, Time } from "../../parts";
import { usePost } from "../../post";
import { WholeValue } from "../../values";
import { FormField } from "./field";

interface Props {
  readonly thread: string;
  readonly question: Question;
  /** The JSON Schema of the answer, if the program has one. */
  readonly schema: Json | undefined;
  /** `true` if no other question is open on the thread. */
  readonly isOnly: boolean;
  readonly isFirst: boolean;
  readonly next: readonly string[];
  readonly onSent: () => void;
}

export function QuestionForm({ thread, question, schema, isOnly, isFirst, next, onSent }: Props): JSX.Element {
  const studio = useStudio();
  const writing = useWriting("answer");
  const known = schema === null ? undefined : schema;
  const field = useMemo(() => fieldOf(known), [known === undefined ? "" : print(known)]);
  const kept = studio.drafts.answers.of(question.id);
  const draft: AnswerDraft = kept.value ?? { form: blank(field), json: null };
  const [isChecked, setChecked] = useState(false);
  const { isSent, failure, send } = usePost();
  if (writing === null) return <Sentence>Reading …</Sentence>;
  const filled = filledIn(field, draft);
  const refused = refusedAt(failure, question.id);
  const problems = [...(isChecked && !filled.ok ? filled.problems : []), ...refused];

  const answer = async () => {
    setChecked(true);
    if (!writing.canWrite || !filled.ok) return;
    const begun = await send(requests.answer(thread, { [question.id]: filled.value }));
    if (begun === null) return;
    kept.value = null;
    onSent();
    studio.announcer.say("The answer is stored.");
  };
  return (
    <Form look="card question" run={() => void answer()}>
      <QuestionText question={question} />
      <div class="question-fields">
        {draft.json === null ? (
          <FormField field={field} draft={draft.form} put={(form) => (kept.value = { form, json: null })} path="" name="answer" problems={problems} isFirst={isFirst} />
        ) : (
          <Labelled label="Answer as JSON" problem={problems[0]?.text ?? null}>
            {(attributes) => <TextArea isCode value={draft.json ?? ""} onValue={(json) => (kept.value = { ...draft, json })} attributes={attributes} rows={4} />}
          </Labelled>
        )}
        {field.is !== "json" && <JsonSwitch field={field} draft={draft} filled={filled} put={(next) => (kept.value = next)} />}
      </div>
      {isChecked && problems.length > 0 && (
        <p class="problem" role="alert">
          {problems.length === 1 ? "The answer has an error, shown at its field." : `The answer has ${problems.length} errors, shown at their fields.`}
        </p>
      )}
      {writing.canWrite ? (
        <>
          <Sentences title="What happens" words={[`The answer is stored in ${shown(writing.file)}, and ${shown(thread)} continues at ${grouped(next.map(shownNode))}: model calls and other effects happen live.`]} />
          <div class="fields-end">
            <Submit isSent={isSent}>{isSent ? "Sending …" : "Answer"}</Submit>
          </div>
        </>
      ) : (
        <Commands commands={[answerCommand(thread, [{ id: isOnly ? null : question.id, value: filled.ok ? filled.value : "…" }])]}>
          This page only reads the file. The program that wrote it takes the answer, in place of PROGRAM:
        </Commands>
      )}
      <Refusal failure={failure} />
    </Form>
  );
}

/** Returns the value of a draft, from the form or from JSON. */
export function filledIn(field: Field, { form, json }: AnswerDraft): Filled {
  if (json === null) return valueOf(field, form);
  try {
    return { ok: true, value: parse(json) };
  } catch (error) {
    return { ok: false, problems: [{ path: "", text: json.trim() === "" ? "Enter JSON." : jsonProblem(error) }] };
  }
}

/** The error of the server at the field that it names. */
function refusedAt(failure: ReturnType<typeof usePost>["failure"], id: string): readonly Problem[] {
  if (failure === null || failure.kind !== "refused" || failure.status !== 422) return [];
  const { path = "", text } = failure;
  const prefix = `answers.${id}`;
  if (!path.startsWith(prefix)) return [];
  return [{ path: path.slice(prefix.length).replace(/^\./, ""), text }];
}

interface SwitchProps {
  readonly field: Field;
  readonly draft: AnswerDraft;
  readonly filled: Filled;
  readonly put: (draft: AnswerDraft) => void;
}

/** Switches between the form and JSON, if the value fits the form. */
function JsonSwitch({ field, draft, filled, put }: SwitchProps): JSX.Element {
  if (draft.json === null) {
    const text = filled.ok ? print(filled.value, "indented") : "";
    return (
      <button type="button" class="small-button" onClick={() => put({ ...draft, json: text })}>
        Write JSON instead
      </button>
    );
  }
  const form = draft.json.trim() === "" ? draft.form : filled.ok ? draftOf(field, filled.value) : null;
  return (
    <button type="button" class="small-button" disabled={form === null} title={form === null ? "The form has no place for this JSON" : ""} onClick={() => form !== null && put({ form, json: null })}>
      Use the form
    </button>
  );
}

/** The question, with the node that asks it. */
export function QuestionText({ question }: { readonly question: Question }): JSX.Element {
  const { deadline } = question;
  return (
    <div class="question-text">
      <p class="question-node dim">
        {askerOf(question)} asks
        {deadline !== undefined && (
          <>
            {" "}
            · default answer at <Time at={deadline} now={new Date()} />
          </>
        )}
      </p>
      <Asked value={question.question} />
    </div>
  );
}

/** Members whose texts are the words of a question. */
const WORDS = ["question", "message", "text", "prompt", "title"];

/** A question in words, if it has some, before the rest of its value. */
function Asked({ value }: { readonly value: Json }): JSX.Element {
  if (typeof value === "string") return <p class="question-words">{shown(value)}</p>;
  const name = isObject(value) ? WORDS.find((word) => typeof value[word] === "string") : undefined;
  if (name === undefined || !isObject(value)) return <WholeValue value={value} />;
  const rest = Object.entries(value).filter(([key]) => key !== name);
  return (
    <>
      <p class="question-words">{shown(String(value[name]))}</p>
      {rest.length > 0 && (
        <Facts all={rest.map(([key, member]) => [key, <WholeValue value={member} />] as const)} />
      )}
    </>
  );
}

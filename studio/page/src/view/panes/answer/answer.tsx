// Answer: a form for each open question of the thread, and the answers to former ones.

import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { fieldOf } from "../../../model/form/field";
import { openQuestions, questionWords } from "../../../model/standing";
import { shownNode } from "../../../model/words";
import type { OpenQuestion, Question, Row, Show } from "../../../wire/documents";
import { type Json, print } from "../../../wire/json";
import * as requests from "../../../wire/requests";
import { useDocument, useStudio, useTimelineRows } from "../../context";
import { CopyButton } from "../../forms";
import { ThreadLink } from "../../links";
import { Block, FailureSentence, Sentence, Time } from "../../parts";
import { WholeValue } from "../../values";
import type { PaneProps } from "../registry";
import { QuestionForm, QuestionText, filledIn } from "./question";

/** The most questions whose schemas are read. */
const QUESTIONS = 500;

export function AnswerPane({ thread, row }: PaneProps): JSX.Element {
  const head = useDocument(requests.show(thread));
  const listed = useDocument(requests.interrupts(0, QUESTIONS));
  if (head.failure !== null && head.value === null) return <FailureSentence failure={head.failure} />;
  // Without the schemas, answers can be written as JSON.
  const questions = listed.value?.interrupts ?? (listed.failure === null ? null : []);
  if (head.value === null || questions === null) return <Sentence>Reading the questions …</Sentence>;
  return <Answers key={thread} thread={thread} head={head.value} listed={questions} row={row} />;
}

interface Seen {
  readonly question: Question;
  readonly schema: Json | undefined;
}

interface Props {
  readonly thread: string;
  readonly head: Show;
  readonly listed: readonly OpenQuestion[];
  readonly row: Row | null;
}

function Answers({ thread, head, listed, row }: Props): JSX.Element {
  const open = openQuestions(head);
  const [sent, setSent] = useState<readonly string[]>([]);
  // The questions that were open when the latest answer was sent.
  const [known, setKnown] = useState<readonly string[]>([]);
  // A question that was open here stays visible when it is answered elsewhere, with what was typed.
  const seen = useRef(new Map<string, Seen>());
  const drafts = useStudio().drafts.answers;
  const schemaOf = (id: string) => listed.find((each) => each.id === id)?.schema;
  for (const question of open) {
    const schema = schemaOf(question.id) ?? seen.current.get(question.id)?.schema;
    seen.current.set(question.id, { question, schema });
  }
  const gone = [...seen.current.values()].filter(({ question: { id } }) => !open.some((each) => each.id === id) && !sent.includes(id) && drafts.of(id).value !== null);
  const outer = head.name === undefined ? thread : null;
  return (
    <div class="padded">
      {outer === null && open.length > 0 && (
        <p class="notice">
          This is the thread of a subgraph. Its questions are answered on the thread above: <OuterThread listed={listed} open={open} />.
        </p>
      )}
      <p class="pane-lead" role="status">
        {questionWords(thread, head, sent, known)}
      </p>
      {gone.map(({ question, schema }) => (
        <Lost key={question.id} question={question} schema={schema} />
      ))}
      {outer !== null &&
        open.map((question, at) => (
          <QuestionForm
            key={question.id}
            thread={thread}
            question={question}
            schema={schemaOf(question.id)}
            isOnly={open.length === 1}
            isFirst={at === 0}
            next={head.next}
            onSent={() => {
              setSent([...sent, question.id]);
              setKnown(open.map(({ id }) => id));
            }}
          />
        ))}
      <Former row={row} head={head} />
    </div>
  );
}

/** The thread on which a question of a subgraph is answered. */
function OuterThread({ listed, open }: { readonly listed: readonly OpenQuestion[]; readonly open: readonly Question[] }): JSX.Element {
  const found = listed.find(({ id }) => open.some((question) => question.id === id));
  return found === undefined ? <>it is not listed</> : <ThreadLink thread={found.thread} />;
}

/** A question that was answered elsewhere while an answer was typed here. */
function Lost({ question, schema }: Seen): JSX.Element {
  const { drafts } = useStudio();
  const kept = drafts.answers.of(question.id);
  const answered = useTimelineRows().flatMap((row) => row.questions ?? []).find(({ id }) => id === question.id);
  const typed = kept.value === null ? null : filledIn(fieldOf(schema ?? undefined), kept.value);
  return (
    <section class="card" role="alert">
      <QuestionText question={question} />
      <p class="bad-words">This question was answered elsewhere first. It is no longer open, and what you typed is not stored.</p>
      {answered?.answer !== undefined && (
        <div class="card-body">
          <p class="was">the stored answer</p>
          <WholeValue value={answered.answer} />
        </div>
      )}
      {typed?.ok === true && (
        <div class="card-body">
          <p class="was">what you typed</p>
          <WholeValue value={typed.value} />
        </div>
      )}
      <div class="card-actions">
        {typed?.ok === true && (
          <CopyButton text={print(typed.value)} what="what you typed" />
        )}
        <button type="button" class="button" onClick={() => (kept.value = null)}>
          Dismiss
        </button>
      </div>
    </section>
  );
}

/** The answers to the questions of the selected step. */
function Former({ row, head }: { readonly row: Row | null; readonly head: Show }): JSX.Element | null {
  const rows = useTimelineRows();
  const questions = (row === null || row.id === head.id ? head.questions : row.questions)?.filter(({ answer }) => answer !== undefined) ?? [];
  if (questions.length === 0) return null;
  const next = row === null ? undefined : rows.find(({ parent }) => parent === row.id);
  return (
    <Block title="Answered at this step">
      <ul class="cards">
        {questions.map((question) => (
          <li key={question.id} class="card">
            <QuestionText question={question} />
            <div class="card-body">
              <p class="was">answer</p>
              {question.answer !== undefined && <WholeValue value={question.answer} />}
              <p class="dim">
                {question.answered_by === "deadline" ? "Its deadline passed, so it has the default answer" : "Answered by a person or a program"}
                {next === undefined ? "; the step after it is not stored yet" : <AnsweredBefore next={next} />}.
              </p>
            </div>
          </li>
        ))}
      </ul>
    </Block>
  );
}

function AnsweredBefore({ next }: { readonly next: Row }): JSX.Element {
  return (
    <>
      , before <Time at={next.started_at ?? next.at} now={new Date()} /> (step {next.step}, {next.ran.map(shownNode).join(", ") || next.source}, run <span class="mono">{next.run.slice(-8)}</span>)
    </>
  );
}

// The tasks of a step: what ran, what is next, and the work on top of the checkpoint.

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { parsePath, printPath } from "../../model/path";
import { exact } from "../../model/usage";
import { counted, grouped, shown, shownNode } from "../../model/words";
import type { ErrorReport, Lease, PlannedTask, Question, RanTask, Show } from "../../wire/documents";
import { print } from "../../wire/json";
import * as requests from "../../wire/requests";
import { useDocument } from "../context";
import { EffectList } from "../effects";
import { questionText } from "../inbox";
import { ThreadLink, ViewLink } from "../links";
import { FailureSentence, Node, Sentence, Time } from "../parts";
import { Icon, type Tone } from "../status";
import { InlineValue, Prose, WholeValue } from "../values";
import type { PaneProps } from "./registry";

/** The tasks that are drawn before more are asked for. */
const SHOWN = 50;

export function TasksPane({ checkpoint }: PaneProps): JSX.Element {
  const { value, failure } = useDocument(requests.show(checkpoint));
  if (failure !== null && value === null) return <FailureSentence failure={failure} />;
  if (value === null) return <Sentence>Reading the tasks …</Sentence>;
  const { tasks, next_tasks: next, questions = [], effects = [], lease, metadata = [] } = value;
  return (
    <div class="padded" tabIndex={-1} data-focus="">
      <Block title={tasks.length === 0 ? "No task ran" : `Ran: ${grouped(tasks.map(({ node }) => shownNode(node)))}`}>
        {tasks.length === 0 && <p class="dim">{SOURCE_WORDS[value.source]}</p>}
        <Cards all={tasks} draw={(task, at) => <RanCard key={at} task={task} />} />
      </Block>
      {next.length > 0 && (
        <Block title={`Next: ${grouped(next.map(({ node }) => shownNode(node)))}`}>
          {lease !== undefined && <LeaseWords lease={lease} />}
          <Cards all={next} draw={(task) => <PlannedCard key={task.id} task={task} questions={questions} document={value} />} />
        </Block>
      )}
      {questions.length > 0 && (
        <Block title="Questions">
          <Cards all={questions} draw={(question) => <QuestionCard key={question.id} question={question} />} />
        </Block>
      )}
      {effects.length > 0 && (
        <Block title="Effects of the next tasks, which are kept">
          <EffectList effects={effects} />
        </Block>
      )}
      {metadata.length > 0 && (
        <Block title="Metadata">
          <dl class="facts">
            {metadata.map(([name, entry]) => (
              <div key={name}>
                <dt>{shown(name)}</dt>
                <dd>
                  <InlineValue value={entry} />
                </dd>
              </div>
            ))}
          </dl>
        </Block>
      )}
    </div>
  );
}

const SOURCE_WORDS: { readonly [S in Show["source"]]: string } = {
  input: "The input of a run was stored.",
  loop: "The superstep had no tasks.",
  update: "The state was edited.",
  fork: "A branch begins here: a copy of its parent.",
  pruned: "Only the state is left; the step was pruned.",
};

function Block({ title, children }: { readonly title: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <section class="block">
      <h3>{title}</h3>
      {children}
    </section>
  );
}

function Cards<T>({ all, draw }: { readonly all: readonly T[]; readonly draw: (one: T, at: number) => JSX.Element }): JSX.Element {
  const [most, setMost] = useState(SHOWN);
  return (
    <>
      <ul class="cards">{all.slice(0, most).map(draw)}</ul>
      {all.length > most && (
        <button type="button" class="small-button more" onClick={() => setMost(most + SHOWN)}>
          Show more of the {exact(all.length)}
        </button>
      )}
    </>
  );
}

function RanCard({ task }: { readonly task: RanTask }): JSX.Element {
  const { node, writes, route, targets = [], handled, subgraph } = task;
  return (
    <li class="card">
      <div class="card-head">
        <Icon tone={handled === undefined ? "good" : "wait"} />
        <Node name={node} />
        {route !== undefined && <span class="tag">→ {shown(route)}</span>}
        {targets.length > 0 && <span class="dim">leads to {grouped(targets.map(shownNode))}</span>}
        {subgraph !== undefined && (
          <span>
            <span class="dim">ran</span> <ThreadLink thread={subgraph} />
          </span>
        )}
        <span class="grow" />
        <WhyLink node={node} />
      </div>
      {handled !== undefined && (
        <div class="card-body">
          <p class="was">It failed, and its error handler ran instead:</p>
          <ErrorWords error={handled} />
        </div>
      )}
      {writes.length > 0 ? (
        <ul class="writes">
          {writes.map(({ field, op, value }, at) => (
            <li key={at}>
              <details>
                <summary>
                  <code class="path">{shown(field)}</code> <span class="dim">{shown(op)}</span>{" "}
                  <span class="card-preview">
                    <InlineValue value={value} longest={120} />
                  </span>
                </summary>
                <div class="card-body">
                  <WholeValue value={value} />
                  <p>
                    <ViewLink pane="state" parameters={{ path: printPath(parsePath(field) ?? [{ key: field }]) }}>
                      Show the field in the state
                    </ViewLink>
                  </p>
                </div>
              </details>
            </li>
          ))}
        </ul>
      ) : (
        <p class="card-note dim">It wrote nothing.</p>
      )}
    </li>
  );
}

function WhyLink({ node }: { readonly node: string }): JSX.Element {
  return (
    <ViewLink pane="why" parameters={{ node }} title={`Why ${shownNode(node)} ran`}>
      Why<span class="sr"> {shownNode(node)}</span>?
    </ViewLink>
  );
}

function described(task: PlannedTask, isHead: boolean, isRunning: boolean): { readonly tone: Tone; readonly words: string } {
  switch (task.status) {
    case "planned":
      return isRunning ? { tone: "run", words: "is running" } : { tone: "plain", words: isHead ? "is next" : "was planned here" };
    case "finished":
      return { tone: "good", words: "has finished; its result waits for the other tasks of the step" };
    case "failed":
      return { tone: "bad", words: `failed${(task.attempts ?? 1) > 1 ? ` after ${counted(task.attempts ?? 1, "attempt")}` : ""}` };
    case "waiting":
      return { tone: "wait", words: "waits for an answer" };
  }
}

function PlannedCard({ task, questions, document }: { readonly task: PlannedTask; readonly questions: readonly Question[]; readonly document: Show }): JSX.Element {
  const isHead = (document.head_of ?? []).length > 0;
  const isRunning = isHead && document.lease !== undefined && !document.lease.over;
  const { tone, words } = described(task, isHead, isRunning);
  const asks = task.status === "waiting" && questions.some(({ node, path, answer }) => answer === undefined && (node === task.node || path?.[0] === task.node));
  return (
    <li class="card">
      <div class="card-head">
        <Icon tone={tone} />
        <Node name={task.node} />
        <span class={tone === "bad" ? "bad-words" : "dim"}>{words}</span>
        {task.subgraph !== undefined && (
          <span>
            <span class="dim">as</span> <ThreadLink thread={task.subgraph} />
          </span>
        )}
        <span class="grow" />
        {asks && (
          <ViewLink pane="answer" title="Answer it">
            Answer
          </ViewLink>
        )}
        <WhyLink node={task.node} />
      </div>
      {(task.input !== undefined || task.error !== undefined) && (
        <div class="card-body">
          {task.error !== undefined && <ErrorWords error={task.error} />}
          {task.input !== undefined && (
            <>
              <p class="was">item</p>
              <WholeValue value={task.input} />
            </>
          )}
        </div>
      )}
    </li>
  );
}

function ErrorWords({ error }: { readonly error: ErrorReport }): JSX.Element {
  const kind = typeof error.kind === "string" ? error.kind : print(error.kind);
  return (
    <div class="error">
      <Prose text={error.message} />
      {(error.causes ?? []).map((cause, at) => (
        <p key={at} class="dim">
          because: {shown(cause)}
        </p>
      ))}
      {kind !== "failed" && <p class="dim">kind: {shown(kind)}</p>}
    </div>
  );
}

function QuestionCard({ question }: { readonly question: Question }): JSX.Element {
  const { node, path = [], answer, deadline } = question;
  return (
    <li class="card">
      <div class="card-head">
        <Icon tone={answer === undefined ? "wait" : "good"} />
        <span class="node">{[...path, node].map(shownNode).join(" / ")}</span>
        <span class="dim">{answer === undefined ? "asks" : "asked"}</span>
        <span class="grow" />
        {answer === undefined && <ViewLink pane="answer">Answer</ViewLink>}
      </div>
      <div class="card-body">
        {typeof question.question === "string" ? <Prose text={questionText(question.question)} /> : <WholeValue value={question.question} />}
        {answer !== undefined && (
          <>
            <p class="was">answer</p>
            <WholeValue value={answer} />
          </>
        )}
        {answer === undefined && deadline !== undefined && (
          <p class="dim">
            The default answer is used at <Time at={deadline} now={new Date()} />.
          </p>
        )}
      </div>
    </li>
  );
}

function LeaseWords({ lease }: { readonly lease: Lease }): JSX.Element {
  return (
    <p class="dim">
      {lease.over ? "Was run by" : "Run by"} {shown(lease.holder)} until <Time at={lease.until} now={new Date()} />
      {lease.over && ". The lease has expired, so the next run takes the thread."}
    </p>
  );
}

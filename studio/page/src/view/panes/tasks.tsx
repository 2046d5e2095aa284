// The tasks of a step: what ran, what is next, and the work on top of the checkpoint.

import type { JSX } from "preact";
import { parsePath, printPath } from "../../model/path";
import { askerOf, openQuestions, questionOf, taskStanding } from "../../model/standing";
import { grouped, shown, shownNode } from "../../model/words";
import type { ErrorReport, Lease, PlannedTask, Question, RanTask, Show } from "../../wire/documents";
import { print } from "../../wire/json";
import * as requests from "../../wire/requests";
import { useDocument } from "../context";
import { EffectList } from "../effects";
import { questionText } from "../inbox";
import { ThreadLink, ViewLink } from "../links";
import { Block, Cards, Facts, Node, Time, drawn } from "../parts";
import { Icon } from "../status";
import { InlineValue, Prose, WholeValue } from "../values";
import type { PaneProps } from "./registry";

export function TasksPane({ checkpoint }: PaneProps): JSX.Element {
  return drawn(useDocument(requests.show(checkpoint)), "Reading the tasks …", (document) => <Tasks document={document} />);
}

function Tasks({ document }: { readonly document: Show }): JSX.Element {
  const { tasks, next_tasks: next, questions = [], effects = [], lease, metadata = [] } = document;
  return (
    <div class="padded" tabIndex={-1} data-focus="">
      <Block title={tasks.length === 0 ? "No task ran" : `Ran: ${grouped(tasks.map(({ node }) => shownNode(node)))}`}>
        {tasks.length === 0 && <p class="dim">{SOURCE_WORDS[document.source]}</p>}
        <Cards all={tasks} what="tasks" draw={(task, at) => <RanCard key={at} task={task} />} />
      </Block>
      {next.length > 0 && (
        <Block title={`Next: ${grouped(next.map(({ node }) => shownNode(node)))}`}>
          {lease !== undefined && <LeaseWords lease={lease} />}
          <Cards all={next} what="tasks" draw={(task) => <PlannedCard key={task.id} task={task} document={document} />} />
        </Block>
      )}
      {questions.length > 0 && (
        <Block title="Questions">
          <Cards all={questions} what="questions" draw={(question) => <QuestionCard key={question.id} question={question} />} />
        </Block>
      )}
      {effects.length > 0 && (
        <Block title="Effects of the next tasks, which are kept">
          <EffectList effects={effects} />
        </Block>
      )}
      {metadata.length > 0 && (
        <Block title="Metadata">
          <Facts all={metadata.map(([name, entry]) => [name, <InlineValue value={entry} />] as const)} />
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

function PlannedCard({ task, document }: { readonly task: PlannedTask; readonly document: Show }): JSX.Element {
  const { tone, words } = taskStanding(task, document);
  const asks = task.status === "waiting" && questionOf(task, openQuestions(document)) !== undefined;
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
  const { answer, deadline } = question;
  return (
    <li class="card">
      <div class="card-head">
        <Icon tone={answer === undefined ? "wait" : "good"} />
        <span class="node">{askerOf(question)}</span>
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

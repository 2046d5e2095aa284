// The work on the latest checkpoint: what is next, runs, failed or waits for an answer.

import type { JSX } from "preact";
import { atThread, fragmentOf } from "../../model/address";
import { openQuestions, questionOf, taskStanding } from "../../model/standing";
import { excerpt, shown, shownNode } from "../../model/words";
import type { PlannedTask, Show } from "../../wire/documents";
import { useStudio } from "../context";
import { questionText } from "../inbox";
import { Icon } from "../status";

/** The most lines; a fan-out has one line for each of its outcomes. */
const LINES = 5;

interface Work {
  readonly first: PlannedTask;
  count: number;
}

export function Pending({ head, thread }: { readonly head: Show | null; readonly thread: string }): JSX.Element | null {
  const studio = useStudio();
  if (head === null || head.next_tasks.length === 0) return null;
  const { lease } = head;
  const work = merged(head.next_tasks);
  const open = openQuestions(head);
  return (
    <section class="pending" aria-label="Work on the latest step">
      {lease !== undefined && (
        <p class="pending-lease dim">
          {lease.over ? "Was run by " : "Run by "}
          {excerpt(lease.holder, 60)}
          {lease.over && "; its lease has expired, so the next run takes the thread"}
        </p>
      )}
      <ul>
        {work.slice(0, LINES).map(({ first, count }) => {
          const { node, status, error } = first;
          const { tone, words } = taskStanding(first, { ...head, head_of: [thread] });
          const question = status === "waiting" && count === 1 ? questionOf(first, open) : undefined;
          const subgraph = count === 1 ? first.subgraph : undefined;
          return (
            <li key={`${node} ${status}`} class={`pending-task ${tone}`}>
              <Icon tone={tone} />
              <span class="node">
                {shownNode(node)}
                {count > 1 && ` ×${count}`}
              </span>
              <span class="pending-words">
                {words}
                {error !== undefined && `: ${excerpt(error.message, 160)}`}
                {question !== undefined && (
                  <>
                    :{" "}
                    <a href={fragmentOf({ ...studio.view.value, checkpoint: null, pane: "answer", front: "detail" })}>
                      {excerpt(questionText(question.question), 120)}
                    </a>
                  </>
                )}
                {subgraph !== undefined && (
                  <>
                    {" "}
                    <a href={fragmentOf(atThread(studio.view.value, subgraph))}>{shown(afterPrefix(subgraph, thread))}</a>
                  </>
                )}
              </span>
            </li>
          );
        })}
      </ul>
      {work.length > LINES && <p class="dim">and {work.length - LINES} more</p>}
    </section>
  );
}

/** Tasks of the same node and status are one line. */
function merged(tasks: readonly PlannedTask[]): Work[] {
  const all: Work[] = [];
  for (const task of tasks) {
    const same = all.find(({ first }) => first.node === task.node && first.status === task.status);
    if (same !== undefined) same.count += 1;
    else all.push({ first: task, count: 1 });
  }
  return all;
}

/** The name of a subgraph's thread below the thread that is shown. */
function afterPrefix(name: string, thread: string): string {
  return name.startsWith(`${thread}/`) ? name.slice(thread.length + 1) : name;
}

// The work on the latest checkpoint: what is next, runs, failed or waits for an answer.

import type { JSX } from "preact";
import { atThread, fragmentOf } from "../../model/address";
import { excerpt, shown, shownNode } from "../../model/words";
import type { PlannedTask, Show } from "../../wire/documents";
import { useStudio } from "../context";
import { questionText } from "../inbox";
import { Icon, type Tone } from "../status";

/** The most lines; a fan-out has one line for each of its outcomes. */
const LINES = 5;

interface Work {
  readonly node: string;
  readonly status: PlannedTask["status"];
  readonly tasks: PlannedTask[];
}

export function Pending({ head, thread }: { readonly head: Show | null; readonly thread: string }): JSX.Element | null {
  const studio = useStudio();
  if (head === null || head.next_tasks.length === 0) return null;
  const lease = head.lease;
  const isRunning = lease !== undefined && !lease.over;
  const work = merged(head.next_tasks);
  const open = (head.questions ?? []).filter(({ answer }) => answer === undefined);
  return (
    <section class="pending" aria-label="Work on the latest step">
      {lease !== undefined && (
        <p class="pending-lease dim">
          {isRunning ? "Run by " : "Was run by "}
          {excerpt(lease.holder, 60)}
          {!isRunning && "; its lease has expired, so the next run takes the thread"}
        </p>
      )}
      <ul>
        {work.slice(0, LINES).map(({ node, status, tasks }) => {
          const [first] = tasks;
          const { tone, words } = described(status, isRunning, first);
          const question = status === "waiting" && tasks.length === 1 ? open.find((asked) => asked.node === node || asked.path?.[0] === node) : undefined;
          const subgraph = tasks.length === 1 ? first?.subgraph : undefined;
          return (
            <li key={`${node} ${status}`} class={`pending-task ${tone}`}>
              <Icon tone={tone} />
              <span class="node">
                {shownNode(node)}
                {tasks.length > 1 && ` ×${tasks.length}`}
              </span>
              <span class="pending-words">
                {words}
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
    const same = all.find(({ node, status }) => node === task.node && status === task.status);
    if (same !== undefined) same.tasks.push(task);
    else all.push({ node: task.node, status: task.status, tasks: [task] });
  }
  return all;
}

function described(status: PlannedTask["status"], isRunning: boolean, task: PlannedTask | undefined): { readonly tone: Tone; readonly words: string } {
  switch (status) {
    case "planned":
      return isRunning ? { tone: "run", words: "is running" } : { tone: "plain", words: "is next" };
    case "finished":
      return { tone: "good", words: "has finished, and waits for the other tasks of the step" };
    case "waiting":
      return { tone: "wait", words: "waits for an answer" };
    case "failed": {
      const attempts = task?.attempts ?? 1;
      const message = task?.error === undefined ? "" : `: ${excerpt(task.error.message, 160)}`;
      return { tone: "bad", words: `failed${attempts > 1 ? ` ${attempts} times` : ""}${message}` };
    }
  }
}

/** The name of a subgraph's thread below the thread that is shown. */
function afterPrefix(name: string, thread: string): string {
  return name.startsWith(`${thread}/`) ? name.slice(thread.length + 1) : name;
}

// The open questions of all threads.

import type { JSX } from "preact";
import { atThread, fragmentOf } from "../model/address";
import { keyOf, titleOf } from "../model/keys";
import { askerOf } from "../model/standing";
import { counted, excerpt, shown } from "../model/words";
import { print } from "../wire/json";
import type { OpenQuestion } from "../wire/documents";
import * as requests from "../wire/requests";
import { useDocument, useStudio } from "./context";
import { Time } from "./parts";

/** The number of questions that are listed. */
const SHOWN = 50;

export function Inbox(): JSX.Element | null {
  const studio = useStudio();
  const { value } = useDocument(requests.interrupts(0, SHOWN));
  const { thread } = studio.view.value;
  if (value === null || value.interrupts.length === 0) return null;
  const total = value.total ?? value.interrupts.length;
  return (
    <details class="inbox" open={thread === null}>
      <summary id="inbox" title={titleOf("inbox")} aria-keyshortcuts={keyOf("inbox")}>
        <span class="count wait">{total}</span> {counted(total, "open question").replace(/^\d+ /, "")}
      </summary>
      <ul>
        {value.interrupts.map((question) => (
          <Question key={`${question.thread} ${question.id}`} question={question} />
        ))}
      </ul>
      {total > value.interrupts.length && <p class="dim">The first {SHOWN} are listed. Answered ones make room for the others.</p>}
    </details>
  );
}

function Question({ question }: { readonly question: OpenQuestion }): JSX.Element {
  const studio = useStudio();
  const view = { ...atThread(studio.view.value, question.thread), pane: "answer", front: "detail" } as const;
  return (
    <li class="inbox-item">
      <a href={fragmentOf(view)}>{excerpt(questionText(question.question), 200)}</a>
      <span class="second">
        {shown(question.thread)} · {askerOf(question)}
        {question.deadline !== undefined && (
          <>
            {" "}
            · default answer at <Time at={question.deadline} now={new Date()} />
          </>
        )}
      </span>
    </li>
  );
}

/** A question in words: its text if it is one, or has one. */
export function questionText(question: OpenQuestion["question"]): string {
  return typeof question === "string" ? question : print(question);
}

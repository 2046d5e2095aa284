// The threads of the file.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { fragmentOf, atThread } from "../model/address";
import { shown } from "../model/words";
import { useStudio } from "./context";
import { FailureSentence, Sentence } from "./parts";

export function ThreadsColumn(): JSX.Element {
  const studio = useStudio();
  const rows = studio.threads.value;
  useEffect(() => rows.want(0, 50), [rows]);
  void rows.version.value;
  const failure = rows.failure.value;
  if (failure !== null && rows.total.value === null) return <FailureSentence failure={failure} />;
  if (rows.total.value === 0) return <Sentence>There is no thread in this file yet.</Sentence>;
  return (
    <ul>
      {rows.all().map(([, thread]) => (
        <li key={thread.thread}>
          <a href={fragmentOf(atThread(studio.view.value, thread.thread))}>{shown(thread.thread)}</a>
        </li>
      ))}
    </ul>
  );
}

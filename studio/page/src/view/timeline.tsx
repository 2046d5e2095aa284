// The timeline of the selected thread.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { useStudio } from "./context";
import { FailureSentence } from "./parts";

export function Timeline(): JSX.Element | null {
  const studio = useStudio();
  const rows = studio.timeline.value;
  useEffect(() => rows?.want(0, 50), [rows]);
  if (rows === null) return null;
  void rows.version.value;
  const failure = rows.failure.value;
  if (failure !== null && rows.total.value === null) return <FailureSentence failure={failure} />;
  return (
    <ol>
      {rows.all().map(([at, row]) => (
        <li key={row.id} aria-current={at === studio.selectedPosition.value}>
          {row.step} {row.ran.join(", ")}
        </li>
      ))}
    </ol>
  );
}

// A checkpoint of the timeline.

import type { JSX } from "preact";
import type { View } from "../../model/address";
import { compact, cost, duration, excerpt, grouped, shortName, shown, shownNode, time } from "../../model/words";
import type { Row, Usage } from "../../wire/documents";
import { useStudio } from "../context";
import { questionText } from "../inbox";
import { memo } from "../memo";
import { Sign } from "../parts";
import { isSmall, rowPlace } from "../virtual";
import { Lanes } from "./lanes";

export function rowId(position: number): string {
  return `checkpoint-${position}`;
}

type Props = {
  readonly position: number;
  readonly total: number;
  readonly row: Row | null;
  readonly above: Row | null | "unknown";
  readonly laneGap: number;
  readonly lanesWidth: number;
  readonly selected: boolean;
  readonly thread: string;
  readonly marks: View["parameters"];
};

export const CheckpointRow = memo((props: Props): JSX.Element => {
  const studio = useStudio();
  const { position, total, row, above, laneGap, lanesWidth, selected, thread, marks } = props;
  const frame = {
    role: "option",
    id: rowId(position),
    "aria-selected": selected,
    "aria-setsize": total,
    "aria-posinset": position + 1,
    style: rowPlace(position),
  } as const;
  if (row === null) {
    return (
      <div {...frame} class="checkpoint empty">
        <span class="sr">not read yet</span>
      </div>
    );
  }
  const choose = () => {
    const view = studio.view.peek();
    studio.show({ ...view, checkpoint: row.id, front: isSmall() ? "detail" : view.front });
    document.getElementById("checkpoints")?.focus({ preventScroll: true });
  };
  const heads = row.head_of ?? [];
  const isForeign = heads.length === 0 && row.thread !== thread && row.name !== thread;
  const isHead = heads.includes(thread);
  const began = row.started_at ?? row.at;
  return (
    <div {...frame} class={`checkpoint ${selected ? "selected" : ""} ${isForeign ? "foreign" : ""}`} onClick={choose}>
      <Lanes row={row} above={above} gap={laneGap} width={lanesWidth} isHead={isHead} />
      <span class="checkpoint-step">
        <Spoken>Step </Spoken>
        {row.step}
        <Spoken>: </Spoken>
      </span>
      <span class="checkpoint-main">
        <span class="first">
          {isPlainEdit(row) ? null : <span class="node">{whatRan(row)}</span>}
          {row.source === "update" && <span class="tag edited">edited</span>}
          {heads.map((head) => (
            <span key={head} class="tag head">
              <Spoken>; latest of </Spoken>
              {shortName(head)}
            </span>
          ))}
          {(row.names ?? []).map((name) => (
            <span key={name} class="tag name">
              <Spoken>; named </Spoken>
              {shown(name)}
            </span>
          ))}
          <Marks id={row.id} marks={marks} />
        </span>
        <span class="second">
          <Outcome row={row} isHead={isHead} />
        </span>
      </span>
      <span class="checkpoint-figures">
        <span class="first">
          {row.took_ms !== undefined && (
            <>
              <Spoken>; took </Spoken>
              {duration(row.took_ms)}
            </>
          )}
        </span>
        <span class="second" title={shown(began)}>
          <Spoken>; </Spoken>
          {row.used === undefined ? timeBelow(began, above) : used(row.used)}
        </span>
      </span>
    </div>
  );
});

/** Words for screen readers: a row is one sentence for them. */
function Spoken({ children }: { readonly children: string }): JSX.Element {
  return <span class="sr">{children}</span>;
}

const SIGNS = { good: "check", bad: "cross", marked: "diamond" } as const;

function Marks({ id, marks }: { readonly id: string; readonly marks: View["parameters"] }): JSX.Element {
  return (
    <>
      {(["good", "bad", "marked"] as const).map(
        (mark) =>
          marks[mark] === id && (
            <span key={mark} class={`tag ${mark}`}>
              <Sign name={SIGNS[mark]} />
              <Spoken>; </Spoken>
              {mark}
            </span>
          ),
      )}
    </>
  );
}

/** What came of a step: failures and questions on top of it first, then the fields that changed. */
function Outcome({ row, isHead }: { readonly row: Row; readonly isHead: boolean }): JSX.Element {
  // Those of the latest checkpoint are listed above the rows.
  const failures = isHead ? [] : (row.failures ?? []);
  const questions = isHead ? [] : (row.questions ?? []);
  return (
    <>
      {failures.map((failure, at) => (
        <span key={`failure ${at}`} class="tag bad">
          <Spoken>; </Spoken>
          {shownNode(failure.node)} failed{(failure.attempts ?? 1) > 1 && ` ${failure.attempts} times`}: {excerpt(failure.error.message, 80)}
        </span>
      ))}
      {questions.map((question) => (
        <span key={question.id} class={question.answer === undefined ? "tag wait" : "tag"}>
          <Spoken>; </Spoken>
          {shownNode(question.node)} {question.answer === undefined ? "asks" : "asked"}: {excerpt(questionText(question.question), 80)}
          {question.answer !== undefined && ` → ${excerpt(questionText(question.answer), 40)}`}
        </span>
      ))}
      {row.changed.length > 0 && (
        <span class="changed">
          <Spoken>; changed </Spoken>
          {row.changed.map(shown).join(", ")}
        </span>
      )}
      {row.next.length > 0 && (
        <span class="next">
          <span aria-hidden="true">→ </span>
          <Spoken>; next </Spoken>
          {grouped(row.next.map(shownNode))}
        </span>
      )}
    </>
  );
}

const SOURCES: { readonly [S in Row["source"]]: string } = {
  input: "Input",
  loop: "",
  update: "Edit",
  fork: "Fork",
  pruned: "Pruned",
};

/** Returns `true` for an edit without nodes that are said to have run. */
function isPlainEdit(row: Row): boolean {
  return row.source === "update" && row.ran.every((node) => node === "__edit__");
}

/** The nodes that ran; for other sources, what the checkpoint is. */
export function whatRan(row: Row): string {
  const nodes = row.ran.filter((node) => node !== "__edit__");
  const source = SOURCES[row.source];
  if (row.source === "loop" || nodes.length > 0) return grouped(nodes.map(shownNode)) || "—";
  return source;
}

function used(usage: Usage): string {
  const tokens = `${compact(usage.input_tokens)} + ${compact(usage.output_tokens)} tokens`;
  return usage.cost === undefined ? tokens : `${tokens} · ${cost(usage.cost)}`;
}

/** The time of a row; with its date only where the day differs from that of the row above. */
function timeBelow(at: string, above: Row | null | "unknown"): string {
  return time(at, above === null || above === "unknown" ? new Date() : new Date(above.started_at ?? above.at));
}

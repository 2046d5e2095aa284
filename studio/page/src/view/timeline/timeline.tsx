// The timeline of the selected thread: all branches, newest checkpoint on top.

import type { JSX, TargetedKeyboardEvent } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { atThread, fragmentOf } from "../../model/address";
import { selectAt } from "../../model/actions";
import { counted, shown } from "../../model/words";
import * as requests from "../../wire/requests";
import { useAct, useDocument, useStudio } from "../context";
import { ActionButton, FailureSentence, Sentence } from "../parts";
import { VirtualRows } from "../virtual";
import { lanesOf } from "./lanes";
import { Pending } from "./pending";
import { CheckpointRow, rowId } from "./row";
import { TimeStrip } from "./strip";

const PAGE = 10;

export function Timeline(): JSX.Element | null {
  const studio = useStudio();
  const act = useAct();
  const rows = studio.timeline.value;
  const { thread, checkpoint, parameters } = studio.view.value;
  const position = studio.selectedPosition.value;
  const want = useMemo(() => (first: number, last: number) => rows?.want(first, last), [rows]);
  const head = useDocument(thread === null ? null : requests.show(thread));
  // A link may lead to a checkpoint that is far down; the latest one is usually among the first rows.
  const isRead = rows !== null && rows.version.value > 0;
  useEffect(() => {
    if (isRead || checkpoint !== null) void studio.findSelected();
  }, [rows, checkpoint, isRead]);
  if (rows === null || thread === null) return null;
  const version = rows.version.value;
  const total = rows.total.value;
  const failure = rows.failure.value;
  if (failure !== null && total === null) {
    return (
      <>
        <FailureSentence failure={failure} />
        <a class="button after-sentence" href={fragmentOf(atThread(studio.view.value, null))}>
          Go to the list of threads
        </a>
      </>
    );
  }
  if (total === null) return <Sentence>Reading the timeline …</Sentence>;

  const read = rows.all().map(([, row]) => row);
  const { gap, width } = lanesOf(read);
  const digits = read.reduce((most, { step }) => Math.max(most, String(step).length), 2);
  const selected = studio.selectedRow.value;
  const draw = (at: number) => (
    <CheckpointRow
      key={rows.at(at)?.id ?? at}
      position={at}
      total={total}
      row={rows.at(at)}
      above={at === 0 ? null : (rows.at(at - 1) ?? "unknown")}
      laneGap={gap}
      lanesWidth={width}
      selected={at === position}
      thread={thread}
      marks={parameters}
    />
  );
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: PAGE, PageUp: -PAGE }[event.key];
    if (event.key === "Home") act("latest");
    if (event.key === "End") act("oldest");
    if (event.key === "Enter") studio.show({ ...studio.view.peek(), front: "detail" });
    if (by === undefined) return;
    event.preventDefault();
    selectAt(studio, Math.min(total - 1, Math.max(0, (position ?? 0) + by)));
  };
  return (
    <>
      <TimeStrip thread={thread} selected={selected?.id ?? null} />
      <Pending head={head.value} thread={thread} />
      <VirtualRows
        key={thread}
        total={total}
        version={version}
        want={want}
        stays={checkpoint === null ? "top" : "rows"}
        reveal={position === null ? null : { position, name: checkpoint ?? "" }}
        row={draw}
        style={{ "--digits": String(digits) }}
        attributes={{
          onKeyDown,
          class: "checkpoints",
          role: "listbox",
          id: "checkpoints",
          tabIndex: 0,
          "aria-label": `Checkpoints of ${shown(thread)}, newest first`,
          "aria-activedescendant": position === null ? undefined : rowId(position),
        }}
      />
      <div class="foot timeline-foot">
        <span class="dim foot-words">
          {counted(total, "checkpoint")}
          {checkpoint === null && " · following the latest"}
        </span>
        <span class="grow" />
        <Moves />
      </div>
    </>
  );
}

const MOVES = [
  ["newer", "up"],
  ["older", "down"],
  ["branchLeft", "left"],
  ["branchRight", "right"],
  ["latest", "top"],
  ["oldest", "bottom"],
  ["good", "check"],
  ["bad", "cross"],
  ["mark", "diamond"],
] as const;

function Moves(): JSX.Element {
  return (
    <div class="moves" role="group" aria-label="Move and mark">
      {MOVES.map(([action, sign]) => (
        <ActionButton key={action} action={action} sign={sign} />
      ))}
    </div>
  );
}

// The threads of the file: a table where there is room, else a list with the same facts on two lines.

import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { type View, atThread, fragmentOf } from "../model/address";
import { bytes, compact, cost, counted, excerpt, shown } from "../model/words";
import type { Thread } from "../wire/documents";
import * as requests from "../wire/requests";
import { useDocument, useStudio } from "./context";
import { Select } from "./forms";
import { Inbox } from "./inbox";
import { ActionButton, FailureSentence, Sentence, Time } from "./parts";
import { StatusMark, standing } from "./status";
import { VirtualRows, rowPlace } from "./virtual";

export function ThreadsColumn(): JSX.Element {
  const studio = useStudio();
  const rows = studio.threads.value;
  const { thread } = studio.view.value;
  const version = rows.version.value;
  const total = rows.total.value;
  const failure = rows.failure.value;
  const want = useMemo(() => (first: number, last: number) => rows.want(first, last), [rows]);
  const selected = thread === null ? null : rows.find((row) => row.thread === thread || row.name === thread);
  return (
    <>
      <Inbox />
      <Filters />
      {failure !== null && total === null && <FailureSentence failure={failure} />}
      {failure === null && total === null && <Sentence>Reading the threads …</Sentence>}
      <Damaged />
      {total === 0 && studio.damaged.value.length === 0 && <NoThreads />}
      {total !== null && total > 0 && (
        <div class="table" role="table" aria-label="Threads" aria-rowcount={total + 1}>
          <TableHead />
          <VirtualRows
            total={total}
            version={version}
            want={want}
            stays="position"
            reveal={selected === null ? null : { position: selected, name: thread ?? "" }}
            attributes={{ role: "rowgroup" }}
            row={(position) => <ThreadRow key={rows.at(position)?.thread ?? position} position={position} row={rows.at(position)} selected={position === selected} />}
          />
        </div>
      )}
      <div class="foot">
        <span class="dim">{total === null ? "" : counted(total, "thread")}</span>
        <span class="grow" />
        <ActionButton action="threadBefore" sign="up" disabled={!total || selected === 0} />
        <ActionButton action="threadAfter" sign="down" disabled={!total || selected === total - 1} />
      </div>
    </>
  );
}

function NoThreads(): JSX.Element {
  const studio = useStudio();
  const session = useDocument(requests.session());
  const { status, graph, text } = studio.view.value.parameters;
  if (status === undefined && graph === undefined && text === undefined) {
    return (
      <Sentence>
        <p>There is no thread in this file yet. A thread appears here as soon as a program runs one with this file.</p>
        {session.value?.program === true && <ActionButton action="run">Run the first thread</ActionButton>}
      </Sentence>
    );
  }
  return (
    <Sentence>
      <p>No thread matches the filter.</p>
      <button type="button" class="button" onClick={() => studio.set({ status: null, graph: null, text: null }, "push")}>
        Show all threads
      </button>
    </Sentence>
  );
}

/** The threads that cannot be read, each with the reason. */
function Damaged(): JSX.Element | null {
  const { damaged } = useStudio();
  if (damaged.value.length === 0) return null;
  return (
    <section class="damaged" aria-label="Damaged threads">
      <ul>
        {damaged.value.map(({ thread, problem }, at) => (
          <li key={at}>
            <strong>{thread === undefined ? "A thread" : shown(thread)}</strong> is damaged: {shown(problem)}
          </li>
        ))}
      </ul>
      <p>
        <code>superstep verify</code> lists all damage of the file.
      </p>
    </section>
  );
}

const STATUSES = ["finished", "waiting", "failed", "unfinished"] as const;

/** The pause after the last letter, until the filter is applied. */
const TYPING_MS = 150;

function Filters(): JSX.Element {
  const studio = useStudio();
  const { status = "", graph = "", text = "" } = studio.view.value.parameters;
  const session = useDocument(requests.session());
  const [typed, setTyped] = useState(text);
  const [edited, setEdited] = useState(false);
  void studio.threads.value.version.value;

  useEffect(() => {
    if (!edited) return;
    const timer = setTimeout(() => {
      studio.set({ text: typed || null });
      setEdited(false);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, edited]);
  // Back and links change it, too.
  useEffect(() => {
    if (!edited) setTyped(text);
  }, [text]);

  const read = studio.threads.value.all().map(([, row]) => row.graph);
  const graphs = [...new Set([...(session.value?.graphs ?? []), ...read, ...(graph ? [graph] : [])])].sort();
  return (
    <div class="filters" role="search" aria-label="Filter the threads">
      <input
        class="field"
        type="search"
        placeholder="Filter by text"
        aria-label="Filter by text"
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setEdited(true);
        }}
      />
      <Select attributes={{ "aria-label": "Status" }} value={status} options={[["", "All statuses"], ...STATUSES.map((name) => [name, name] as const)]} onValue={(name) => studio.set({ status: name || null })} />
      {(graphs.length > 1 || graph !== "") && (
        <Select attributes={{ "aria-label": "Graph" }} value={graph} options={[["", "All graphs"], ...graphs.map((name) => [name, shown(name)] as const)]} onValue={(name) => studio.set({ graph: name || null })} />
      )}
    </div>
  );
}

const HEADS = ["Thread", "Status", "Graph", "Step", "Questions", "Tokens", "Cost", "Size", "Run by", "Changed"] as const;

function TableHead(): JSX.Element {
  return (
    <div class="thread head" role="rowgroup">
      <div class="thread-cells" role="row" aria-rowindex={1}>
        {HEADS.map((head) => (
          <span key={head} role="columnheader" class={`cell ${head.toLowerCase().replace(" ", "-")}`}>
            {head}
          </span>
        ))}
      </div>
    </div>
  );
}

interface RowProps {
  readonly position: number;
  readonly row: Thread | null;
  readonly selected: boolean;
}

function ThreadRow({ position, row, selected }: RowProps): JSX.Element {
  const studio = useStudio();
  const frame = { role: "row", "aria-rowindex": position + 2, style: rowPlace(position) } as const;
  if (row === null) return <div {...frame} class="thread empty" />;
  const view: View = studio.view.value;
  const address = row.name ?? row.thread;
  const { tone, word } = standing(row);
  const now = new Date();
  return (
    <div {...frame} class={`thread ${selected ? "selected" : ""}`}>
      <div class="thread-cells" role="presentation">
        <span role="cell" class="cell thread-name">
          <a href={fragmentOf(atThread(view, address))} aria-current={selected ? "true" : undefined}>
            {shown(address)}
          </a>
          <span class="second">
            <span class="only-narrow">
              {shown(row.graph)} · step {row.step} ·{" "}
            </span>
            <span class="only-narrow">
              <Time at={row.at} now={now} relative />
            </span>
            <span class="only-wider input">{row.input === undefined ? "" : excerpt(row.input, 160)}</span>
          </span>
        </span>
        <span role="cell" class="cell status-cell">
          <StatusMark tone={tone} word={word} />
        </span>
        <span role="cell" class="cell graph">
          {shown(row.graph)}
        </span>
        <span role="cell" class="cell step">
          {row.step}
        </span>
        <span role="cell" class="cell questions">
          {row.questions > 0 && <span class="count wait">{row.questions}</span>}
        </span>
        <span role="cell" class="cell tokens">
          {row.tokens !== undefined && compact(row.tokens)}
        </span>
        <span role="cell" class="cell cost">
          {row.cost !== undefined && cost(row.cost)}
        </span>
        <span role="cell" class="cell size">
          {bytes(row.bytes)}
        </span>
        <span role="cell" class="cell run-by" title={row.lease === undefined ? "" : `until ${row.lease.until}`}>
          {row.lease !== undefined && (
            <>
              {excerpt(row.lease.holder, 40)}
              {row.lease.over && " (expired)"}
            </>
          )}
        </span>
        <span role="cell" class="cell changed">
          <Time at={row.at} now={now} relative />
        </span>
      </div>
    </div>
  );
}

// The frame of the page: header, columns, and what is announced.

import type { JSX, TargetedMouseEvent } from "preact";
import { bring } from "../model/actions";
import type { Column } from "../model/address";
import { BINDINGS } from "../model/keys";
import { shown } from "../model/words";
import * as requests from "../wire/requests";
import { useAct, useDocument, useStudio } from "./context";
import { ConnectionBar } from "./connection";
import { Detail } from "./detail";
import { Help } from "./help";
import { REGISTRY } from "./panes/registry";
import { ActionButton, FailureSentence } from "./parts";
import { ThreadsColumn } from "./threads";
import { Timeline } from "./timeline/timeline";

const TITLES: { readonly [C in Column]: string } = { threads: "Threads", timeline: "Timeline", detail: "Detail" };

export function Shell(): JSX.Element {
  const studio = useStudio();
  const { thread, hidden, pane, ...view } = studio.view.value;
  // The timeline shows the error of a thread that is not in the file.
  const isUnknown = studio.threadFailure.value !== null;
  const front = isUnknown && view.front === "detail" ? "timeline" : view.front;
  // A search, and a first run, need no thread.
  const isPresent = { threads: true, timeline: thread !== null, detail: (thread !== null && !isUnknown) || REGISTRY[pane].withoutThread !== undefined };
  const isShown = (column: Column) => isPresent[column] && (!hidden.includes(column) || (column === "timeline" && isUnknown));
  const columns = (["threads", "timeline", "detail"] as const).filter(isShown);
  const session = useDocument(requests.session());
  const failure = session.value === null ? session.failure : null;
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Header file={session.value?.file ?? null} isProgram={session.value?.program ?? false} />
      {failure === null && <ConnectionBar />}
      {failure !== null ? (
        <main id="main" tabIndex={-1}>
          <FailureSentence failure={failure} />
          <button type="button" class="button after-sentence" onClick={() => studio.reconnect()}>
            Try again
          </button>
        </main>
      ) : (
        <main id="main" tabIndex={-1} class={`columns ${columns.join(" ")} front-${front} ${columns.length === 1 ? "list-only" : ""}`}>
          {isShown("threads") && (
            <section class="column threads" aria-label="Threads">
              <ThreadsColumn />
            </section>
          )}
          {isShown("timeline") && (
            <section class="column timeline" aria-label="Timeline">
              <Timeline />
            </section>
          )}
          {isShown("detail") && (
            <section class="column detail" aria-label="Detail of the selected step">
              <Detail />
            </section>
          )}
          {columns.length === 0 && <p class="sentence">All columns are hidden. The buttons of the header show them.</p>}
        </main>
      )}
      <Announcements />
      {studio.help.value && <Help />}
    </div>
  );
}

/** A link within the page would replace the view in the address. */
function skip(event: TargetedMouseEvent<HTMLAnchorElement>): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Header({ file, isProgram }: { readonly file: string | null; readonly isProgram: boolean }): JSX.Element {
  const studio = useStudio();
  const { thread } = studio.view.value;
  return (
    <header class="header">
      <a class="brand" href="#/" title="All threads">
        <Logo />
        <span class="brand-name">Superstep</span>
      </a>
      <h1 class="place">
        <span class="file" title={file === null ? "" : shown(file)}>
          {file === null ? "…" : shown(baseName(file))}
        </span>
        {thread !== null && <span class="place-thread">{shown(thread)}</span>}
      </h1>
      <span class="badge" title={isProgram ? "The program lends its graphs: it can run, answer, edit, fork and replay." : "Only the file is open; nothing is written."}>
        {isProgram ? "program" : "read-only"}
      </span>
      <ConnectionDot />
      <span class="grow" />
      {thread !== null && (
        <div class="segments" role="group" aria-label="Columns">
          <ColumnButton column="threads" action="toggleThreads" />
          <ColumnButton column="timeline" action="toggleTimeline" />
          <ColumnButton column="detail" action="toggleDetail" />
        </div>
      )}
      <ActionButton action="search" sign="search" />
      <ActionButton action="theme" sign="theme" />
      <ActionButton action="help" quiet>
        Keys
      </ActionButton>
    </header>
  );
}

/** Shows or hides a column; on a small screen, brings it to the front. */
function ColumnButton({ column, action }: { readonly column: Column; readonly action: "toggleThreads" | "toggleTimeline" | "toggleDetail" }): JSX.Element {
  const studio = useStudio();
  const act = useAct();
  const { hidden, front } = studio.view.value;
  const isShown = !hidden.includes(column);
  return (
    <>
      <button
        type="button"
        class="segment wide-only"
        aria-pressed={isShown}
        title={`${BINDINGS[action].title} (${BINDINGS[action].key})`}
        aria-keyshortcuts={BINDINGS[action].key}
        onClick={() => act(action)}
      >
        {TITLES[column]}
      </button>
      <button type="button" class="segment small-only" aria-pressed={front === column} aria-keyshortcuts={BINDINGS[action].key} onClick={() => bring(studio, column)}>
        {TITLES[column]}
      </button>
    </>
  );
}

function ConnectionDot(): JSX.Element {
  const { state } = useStudio().connection.value;
  const words = { connecting: "connecting", live: "live", lost: "not connected", gone: "file gone", refused: "not connected" }[state];
  return (
    <span class={`dot ${state}`}>
      <span class="dot-mark" aria-hidden="true" />
      <span class="dot-word">{words}</span>
    </span>
  );
}

function Announcements(): JSX.Element {
  const { announcer } = useStudio();
  return (
    <>
      <div class="sr" role="status" aria-live="polite">
        {announcer.text.value}
      </div>
      {announcer.notice.value !== "" && (
        <p class="said" aria-hidden="true">
          {announcer.notice.value}
        </p>
      )}
    </>
  );
}

function Logo(): JSX.Element {
  return (
    <svg class="logo" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
      <path d="M5 15V9.5A2.5 2.5 0 0 1 7.500 7H15" />
      <circle cx="5" cy="15" r="2.5" />
      <circle cx="15" cy="7" r="2.5" />
      <circle class="hollow" cx="5" cy="4" r="2.500" />
    </svg>
  );
}

/** The last part of a path. */
function baseName(path: string): string {
  return path.split(/[/\\]/).filter((part) => part !== "").at(-1) ?? path;
}

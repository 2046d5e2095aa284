// The right side: the pane switch, and the chosen pane for the selected checkpoint.

import type { JSX } from "preact";
import { PANES, type PaneName, fragmentOf } from "../model/address";
import { keyOf, titleOf } from "../model/keys";
import { shortId, shown, time } from "../model/words";
import type { Row } from "../wire/documents";
import * as requests from "../wire/requests";
import { useAct, useDocument, useStudio } from "./context";
import { REGISTRY } from "./panes/registry";
import { ActionButton, FailureSentence, Sentence } from "./parts";
import { whatRan } from "./timeline/row";

export function Detail(): JSX.Element {
  const studio = useStudio();
  const view = studio.view.value;
  const { pane } = view;
  const thread = studio.threadFailure.value === null ? view.thread : null;
  const checkpoint = thread === null ? null : studio.selected.value;
  const row = studio.selectedRow.value;
  // A link may name a checkpoint that is not there.
  const { failure } = useDocument(row === null && checkpoint !== null ? requests.show(checkpoint) : null);
  const { show: Shown, withoutThread: WithoutThread, title } = REGISTRY[pane];
  return (
    <>
      {thread === null ? <h2 class="sr">{title}</h2> : <Head row={row} isMissing={failure !== null} follows={view.checkpoint === null} />}
      <PaneSwitch current={pane} />
      <div class="pane" id="pane" role="region" aria-label={title} tabIndex={0}>
        {thread === null || checkpoint === null ? (
          WithoutThread === undefined ? <Sentence>Choose a thread on the left.</Sentence> : <WithoutThread />
        ) : row === null && failure !== null ? (
          <>
            <FailureSentence failure={failure} />
            {view.checkpoint !== null && (
              <a class="button after-sentence" href={fragmentOf({ ...view, checkpoint: null })}>
                Go to the latest step
              </a>
            )}
          </>
        ) : (
          <Shown key={pane} thread={thread} checkpoint={checkpoint} row={row} />
        )}
      </div>
    </>
  );
}

/** Names the selected step. */
function Head({ row, isMissing, follows }: { readonly row: Row | null; readonly isMissing: boolean; readonly follows: boolean }): JSX.Element {
  return (
    <div class="detail-head">
      {row === null ? (
        <h2 class="dim">{isMissing ? "No step is selected" : "Reading the step …"}</h2>
      ) : (
        <>
          <h2>
            Step {row.step} · {whatRan(row)}
          </h2>
          <span class="dim">
            <span class="mono" title={row.id}>
              {shortId(row.id)}
            </span>{" "}
            · <time dateTime={row.at} title={shown(row.at)}>{time(row.at, new Date())}</time>
            {follows && " · latest"}
          </span>
        </>
      )}
      <span class="grow" />
      <ActionButton action="fork" sign="fork" />
      <ActionButton action="copyLink" sign="link" />
    </div>
  );
}

const GROUPS = ["step", "find", "change"] as const;

function PaneSwitch({ current }: { readonly current: PaneName }): JSX.Element {
  const act = useAct();
  return (
    <nav class="switch" aria-label="Panes">
      {GROUPS.map((group) => (
        <div key={group} class="switch-group" role="group">
          {PANES.filter((name) => REGISTRY[name].group === group).map((name) => (
            <button
              key={name}
              type="button"
              class="tab"
              aria-pressed={name === current}
              aria-keyshortcuts={keyOf(name)}
              title={titleOf(name)}
              onClick={() => act(name)}
            >
              {REGISTRY[name].title}
            </button>
          ))}
        </div>
      ))}
    </nav>
  );
}

// The right side: the pane switch, and the chosen pane for the selected checkpoint.

import type { JSX } from "preact";
import { PANES, type PaneName } from "../model/address";
import { keyOf, titleOf } from "../model/keys";
import { useAct, useStudio } from "./context";
import { REGISTRY } from "./panes/registry";
import { Sentence } from "./parts";

export function Detail(): JSX.Element {
  const studio = useStudio();
  const { thread, pane } = studio.view.value;
  const checkpoint = studio.selected.value;
  const { show: Shown, title } = REGISTRY[pane];
  return (
    <>
      <PaneSwitch current={pane} />
      <div class="pane" id="pane" role="region" aria-label={title} tabIndex={0}>
        {thread === null || checkpoint === null ? (
          <Sentence>Choose a thread on the left.</Sentence>
        ) : (
          <Shown key={pane} thread={thread} checkpoint={checkpoint} row={studio.selectedRow.value} />
        )}
      </div>
    </>
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

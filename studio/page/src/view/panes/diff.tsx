// The difference of a step: the state by path, and the effects on the way.

import type { JSX } from "preact";
import { usageWords } from "../../model/usage";
import { counted, shown } from "../../model/words";
import type { Diff } from "../../wire/documents";
import * as requests from "../../wire/requests";
import { useDocument } from "../context";
import { DifferenceList } from "../differences";
import { EffectList } from "../effects";
import { CheckpointLink } from "../links";
import { Block, drawn } from "../parts";
import type { PaneProps } from "./registry";

export function DiffPane({ checkpoint }: PaneProps): JSX.Element {
  return drawn(useDocument(requests.diff(checkpoint)), "Reading the difference …", (document) => <StepDifference document={document} />);
}

function StepDifference({ document }: { readonly document: Diff }): JSX.Element {
  const { from, to, state, effects, used, from_names: fromNames = [], to_names: toNames = [] } = document;
  return (
    <div class="padded" tabIndex={-1} data-focus="">
      <p class="pane-lead">
        {from === null ? "From nothing" : <CheckpointLink checkpoint={from} />}
        {fromNames.map((name) => (
          <Name key={name} name={name} />
        ))}
        <span aria-hidden="true"> → </span>
        <span class="sr"> to </span>
        <span class="mono">{to.slice(-8)}</span>
        {toNames.map((name) => (
          <Name key={name} name={name} />
        ))}
        <span class="dim"> · {state.length === 0 ? "the states are the same" : counted(state.length, "difference")}</span>
      </p>
      <DifferenceList key={to} differences={state} linked />
      {effects.length > 0 && (
        <Block title="Effects">
          {used !== undefined && <p class="dim">{usageWords(used).join(" · ")}</p>}
          <EffectList effects={effects} />
        </Block>
      )}
    </div>
  );
}

function Name({ name }: { readonly name: string }): JSX.Element {
  return <span class="tag name">{shown(name)}</span>;
}

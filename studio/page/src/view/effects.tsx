// Effects of tasks, with their outcomes.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { exact } from "../model/usage";
import { shown } from "../model/words";
import type { Effect } from "../wire/documents";
import { Node } from "./parts";
import { InlineValue, Prose, WholeValue } from "./values";

const SHOWN = 50;

export function EffectList({ effects }: { readonly effects: readonly Effect[] }): JSX.Element {
  const [most, setMost] = useState(SHOWN);
  return (
    <>
      <ul class="cards">
        {effects.slice(0, most).map((effect, at) => (
          <EffectCard key={`${at} ${effect.name} ${effect.key ?? ""}`} effect={effect} />
        ))}
      </ul>
      {effects.length > most && (
        <button type="button" class="small-button more" onClick={() => setMost(most + SHOWN)}>
          Show more of the {exact(effects.length)} effects
        </button>
      )}
    </>
  );
}

function EffectCard({ effect }: { readonly effect: Effect }): JSX.Element {
  const { node, name, key, starts, ok, error } = effect;
  return (
    <li class="card">
      <details>
        <summary>
          {node !== undefined && <Node name={node} />} <code>{shown(name)}</code>
          {key !== undefined && key !== "" && <code class="dim"> {shown(key)}</code>}
          {starts > 1 && <span class="tag wait">started {starts} times</span>}
          {error !== undefined && <span class="tag bad">failed</span>}
          {error === undefined && ok === undefined && <span class="tag wait">outcome unknown</span>}
          {ok !== undefined && (
            <span class="card-preview">
              <InlineValue value={ok} longest={120} />
            </span>
          )}
        </summary>
        <div class="card-body">
          {error !== undefined && <Prose text={error} />}
          {ok !== undefined && <WholeValue value={ok} />}
          {error === undefined && ok === undefined && <p class="dim">It was started, and no outcome is recorded: the program ended before, or it still runs.</p>}
        </div>
      </details>
    </li>
  );
}

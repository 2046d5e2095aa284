// Effects of tasks, with their outcomes.

import type { JSX } from "preact";
import { shown } from "../model/words";
import type { Effect } from "../wire/documents";
import { Cards, Node } from "./parts";
import { InlineValue, Prose, WholeValue } from "./values";

export function EffectList({ effects }: { readonly effects: readonly Effect[] }): JSX.Element {
  return <Cards all={effects} what="effects" draw={(effect, at) => <EffectCard key={`${at} ${effect.name} ${effect.key ?? ""}`} effect={effect} />} />;
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

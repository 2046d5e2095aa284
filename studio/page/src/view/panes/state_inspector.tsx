// The selected value of the state, whole, with what can be done with it.

import type { JSX } from "preact";
import { kindWords } from "../../model/content";
import type { Side, TreeRow } from "../../model/tree";
import { shown } from "../../model/words";
import { Change } from "../differences";
import { ActionButton } from "../parts";
import { WholeValue } from "../values";

interface Props {
  readonly row: TreeRow | null;
  /** The path of the address. */
  readonly path: string | null;
  readonly side: Side;
}

export function Inspector({ row, path, side }: Props): JSX.Element {
  if (row === null) {
    return (
      <section class="inspector empty" aria-label="Selected value">
        <p class="dim">
          {path === null
            ? "Select a value to see all of it, and to blame, bisect or edit it."
            : side === "difference"
              ? `The step did not change ${shown(path)}.`
              : `There is nothing at ${shown(path)} in this state.`}
        </p>
      </section>
    );
  }
  const { value, other, mark } = row;
  return (
    <section class="inspector" aria-label="Selected value">
      <div class="inspector-head">
        <code class="path">{shown(row.path)}</code>
        <span class="dim">{kindWords(value)}</span>
      </div>
      <div class="inspector-actions">
        <ActionButton action="copyPath">Copy path</ActionButton>
        {mark !== "removed" && (
          <>
            <ActionButton action="blame">Blame</ActionButton>
            <ActionButton action="bisect">Bisect</ActionButton>
            <ActionButton action="edit">Edit</ActionButton>
          </>
        )}
      </div>
      <div class="inspector-value" tabIndex={0} role="region" aria-label={`The value at ${row.path}`}>
        {mark === "removed" && <p class="was">The step removed this value.</p>}
        {mark === "changed" && other !== undefined ? (
          side === "before" ? <Change from={value} to={other} /> : <Change from={other} to={value} />
        ) : (
          <WholeValue key={row.path} value={value} />
        )}
      </div>
    </section>
  );
}

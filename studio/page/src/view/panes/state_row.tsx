// A row of the tree of a state.

import type { JSX } from "preact";
import type { Mark, Side, TreeRow } from "../../model/tree";
import { counted, shown } from "../../model/words";
import { InlineChange } from "../differences";
import { InlineValue } from "../values";
import { rowPlace } from "../virtual";

/** The height of a row, as the style sheet has it. */
export const TREE_ROW_REM = 1.75;

export function treeRowId(position: number): string {
  return `value-${position}`;
}

const MARKS: { readonly [M in Mark]: string } = { added: "+", removed: "−", changed: "~", moved: "↕", inside: "·" };
const WORDS: { readonly [M in Mark]: string } = { added: "added", removed: "removed", changed: "changed", moved: "moved", inside: "changed inside" };

interface Props {
  readonly at: number;
  readonly row: TreeRow | null;
  readonly side: Side;
  readonly isSelected: boolean;
  readonly select: (at: number) => void;
  readonly open: (row: TreeRow, isOpen: boolean) => void;
}

export function StateRow({ at, row, side, isSelected, select, open }: Props): JSX.Element {
  if (row === null) return <div style={rowPlace(at)} />;
  const { label, isKey, level, value, other, mark, parts, hasRows, isOpen, position, siblings } = row;
  const toggle = () => {
    select(at);
    if (hasRows) open(row, !isOpen);
  };
  return (
    <div
      class={`tree-row ${mark === null ? "" : `is-${mark}`} ${isSelected ? "selected" : ""}`}
      style={rowPlace(at)}
      id={treeRowId(at)}
      role="treeitem"
      aria-level={level}
      aria-setsize={siblings}
      aria-posinset={position}
      aria-selected={isSelected}
      aria-expanded={hasRows ? isOpen : undefined}
      onClick={() => select(at)}
      onDblClick={toggle}
    >
      <span class="tree-mark" aria-hidden="true">
        {mark !== null && MARKS[mark]}
      </span>
      <span class="tree-indent" style={{ "--level": String(level - 1) }} />
      <span
        class={hasRows ? "tree-arrow" : "tree-arrow none"}
        aria-hidden="true"
        onClick={(event) => {
          event.stopPropagation();
          toggle();
        }}
      >
        {hasRows && <Arrow isOpen={isOpen} />}
      </span>
      <span class={isKey ? "tree-label" : "tree-label item"}>{label === "" ? "“”" : shown(label)}</span>
      {mark !== null && <span class="sr">, {WORDS[mark]}</span>}
      <span class="sr">: </span>
      <span class="tree-value">
        {isOpen ? (
          <span class="dim">{counted(parts, Array.isArray(value) ? "item" : "member")}</span>
        ) : other !== undefined && side === "difference" ? (
          <InlineChange from={other} to={value} longest={80} />
        ) : (
          <InlineValue value={value} />
        )}
      </span>
      {hasRows && !isOpen && <span class="tree-count dim">{parts}</span>}
    </div>
  );
}

function Arrow({ isOpen }: { readonly isOpen: boolean }): JSX.Element {
  return (
    <svg viewBox="0 0 16 16" width="12" height="12">
      <path d={isOpen ? "M3 6l5 5 5-5" : "M6 3l5 5-5 5"} />
    </svg>
  );
}

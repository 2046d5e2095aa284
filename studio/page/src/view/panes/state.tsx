// The state of a checkpoint as a tree, with what its step changed.

import type { JSX, TargetedKeyboardEvent } from "preact";
import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { keyOf as keyOfAction, titleOf } from "../../model/keys";
import { SIDES, SIDE_TITLES, type TreeRow, findRow, keyOf, parentOf, sideOf, treeRows } from "../../model/tree";
import { counted } from "../../model/words";
import type { Json } from "../../wire/json";
import * as requests from "../../wire/requests";
import { useDocument, useStudio } from "../context";
import { FailureSentence, Sentence } from "../parts";
import { VirtualRows } from "../virtual";
import type { PaneProps } from "./registry";
import { Inspector } from "./state_inspector";
import { StateRow, TREE_ROW_REM, treeRowId } from "./state_row";

const PAGE = 15;

/** The states that are kept, so that a step to a neighbour and a new checkpoint take one request. */
const KEPT = 4;

export function StatePane({ checkpoint, row }: PaneProps): JSX.Element {
  const shown = useDocument(requests.show(checkpoint));
  const states = useRef(new Map<string, Json>());
  const parent = row?.parent ?? shown.value?.parent;
  const isKnown = parent !== undefined && states.current.has(parent);
  const before = useDocument(parent === undefined || isKnown ? null : requests.show(parent));
  const latest = useRef<TreeProps | null>(null);
  if (before.value !== null) keep(states.current, before.value.id, before.value.state);
  if (shown.value !== null) keep(states.current, shown.value.id, shown.value.state);
  if (shown.failure !== null && shown.value === null) return <FailureSentence failure={shown.failure} />;
  if (shown.value === null) return <Sentence>Reading the state …</Sentence>;
  const { id, state, changed, parent: from } = shown.value;
  const former = from === undefined ? {} : states.current.get(from);
  // While only one of both documents is here, the former step stays: marks would disappear for a moment.
  const isLate = former === undefined && (before.isOld || before.value !== null);
  if (latest.current === null || !(shown.isOld || isLate)) latest.current = { id, state, before: former ?? null, changed };
  return <StateTree {...latest.current} />;
}

function keep(states: Map<string, Json>, id: string, state: Json): void {
  states.delete(id);
  states.set(id, state);
  for (const oldest of states.keys()) {
    if (states.size <= KEPT) return;
    states.delete(oldest);
  }
}

interface TreeProps {
  readonly id: string;
  readonly state: Json;
  readonly before: Json | null;
  readonly changed: readonly string[];
}

function StateTree({ id, state, before, changed }: TreeProps): JSX.Element {
  const studio = useStudio();
  const { path, side: wanted } = studio.view.value.parameters;
  const side = sideOf(wanted);
  const selectedPath = path ?? null;
  const [opened, setOpened] = useState<ReadonlyMap<string, boolean>>(new Map());
  const rows = useMemo(
    () => treeRows({ after: state, before, side, changed, opened, selected: selectedPath }),
    [state, before, side, changed, opened, selectedPath],
  );
  // A removed part may have the path of another one.
  const [selectedKey, setSelectedKey] = useState<string | null>(null);
  const byKey = rows.findIndex((row) => row.path === selectedPath && keyOf(row.path, row.mark) === selectedKey);
  const position = selectedPath === null ? null : byKey >= 0 ? byKey : findRow(rows, selectedPath, state);
  const selected = position === null ? null : (rows[position] ?? null);
  const select = (at: number) => {
    const chosen = rows[at];
    if (chosen === undefined) return;
    setSelectedKey(keyOf(chosen.path, chosen.mark));
    studio.set({ path: chosen.path });
  };
  const open = (chosen: TreeRow, isOpen: boolean) => {
    // The selection does not stay inside of what is closed.
    const at = rows.indexOf(chosen);
    if (!isOpen && position !== null && position > at && isInside(rows, position, at)) select(at);
    setOpened(new Map(opened).set(keyOf(chosen.path, chosen.mark), isOpen));
  };
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !move(event.key)) return;
    event.preventDefault();
  };
  /** Does what a key does in a tree; `false` for other keys. */
  const move = (key: string): boolean => {
    const at = position ?? -1;
    switch (key) {
      case "ArrowDown":
        select(Math.min(rows.length - 1, at + 1));
        return true;
      case "ArrowUp":
        select(Math.max(0, at - 1));
        return true;
      case "PageDown":
        select(Math.min(rows.length - 1, at + PAGE));
        return true;
      case "PageUp":
        select(Math.max(0, at - PAGE));
        return true;
      case "Home":
        select(0);
        return true;
      case "End":
        select(rows.length - 1);
        return true;
      case "ArrowRight":
        if (selected?.hasRows === true) {
          if (selected.isOpen) select(at + 1);
          else open(selected, true);
        }
        return true;
      case "ArrowLeft":
        if (selected !== null) {
          const above = parentOf(rows, at);
          if (selected.isOpen) open(selected, false);
          else if (above !== null) select(above);
        }
        return true;
      case "Enter":
      case " ":
        if (selected?.hasRows === true) open(selected, !selected.isOpen);
        return true;
      default:
        return false;
    }
  };
  const want = useCallback(() => {}, []);
  // Without a selected value, the first change comes into view.
  const firstChange = rows.findIndex(({ mark }) => mark !== null && mark !== "inside");
  const differing = rows.filter(({ level, mark }) => level === 1 && mark !== null).length;
  return (
    <div class="state-pane">
      <div class="pane-bar">
        <SideSwitch />
        <span class="dim">{before === null ? "" : differing === 0 ? "The step changed nothing" : `The step changed ${counted(differing, "field")}`}</span>
      </div>
      {rows.length === 0 ? (
        <Sentence>{side === "difference" ? "The step changed no value of the state." : "The state has no fields."}</Sentence>
      ) : (
        <VirtualRows
          total={rows.length}
          version={0}
          want={want}
          stays="position"
          reveal={position !== null ? { position, name: `${selectedPath} ${position} ${id}` } : firstChange < 0 ? null : { position: firstChange, name: id }}
          rem={TREE_ROW_REM}
          style={{ "--row": `${TREE_ROW_REM}rem` }}
          row={(at) => <StateRow key={rowKey(rows[at], at)} at={at} row={rows[at] ?? null} side={side} isSelected={at === position} select={select} open={open} />}
          attributes={{
            onKeyDown,
            class: "tree",
            role: "tree",
            id: "state-tree",
            tabIndex: 0,
            "aria-label": `State, ${SIDE_TITLES[side].toLowerCase()} the step`,
            "aria-activedescendant": position === null ? undefined : treeRowId(position),
            // The place for the focus when the pane's key is pressed again.
            ...{ "data-focus": "" },
          }}
        />
      )}
      <Inspector row={selected} path={selectedPath} side={side} />
    </div>
  );
}

function isInside(rows: readonly TreeRow[], position: number, above: number): boolean {
  for (let at: number | null = position; at !== null; at = parentOf(rows, at)) if (at === above) return true;
  return false;
}

function rowKey(row: TreeRow | undefined, at: number): string {
  return row === undefined ? String(at) : keyOf(row.path, row.mark);
}

/** Chooses what the tree shows. */
function SideSwitch(): JSX.Element {
  const studio = useStudio();
  const side = sideOf(studio.view.value.parameters.side);
  return (
    <div class="segments" role="group" aria-label="The state to show">
      {SIDES.map((name) => (
        <button
          key={name}
          type="button"
          class="segment"
          aria-pressed={name === side}
          aria-keyshortcuts={keyOfAction("side")}
          title={titleOf("side")}
          onClick={() => studio.set({ side: name === "after" ? null : name })}
        >
          {SIDE_TITLES[name]}
        </button>
      ))}
    </div>
  );
}

// Compare: two branches or threads, aligned at what they share.

import type { ComponentChildren, JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { type Aligned, type Figure, aligned, figures, firstDivergence } from "../../model/alignment";
import { exact } from "../../model/usage";
import { cost, counted, duration, grouped, shortId, shown, shownNode } from "../../model/words";
import type { Compare, Line } from "../../wire/documents";
import * as requests from "../../wire/requests";
import { isId } from "../../wire/requests";
import { useDocument, useStudio, useTimelineRows, useTyped } from "../context";
import { DifferenceList } from "../differences";
import { FOCUSED, Form, LineField, Submit } from "../forms";
import { CheckpointLink } from "../links";
import { ActionButton, Block, drawn, useFirst } from "../parts";
import { whatRan } from "../timeline/row";
import type { PaneProps } from "./registry";

/** The rows that are drawn before more are asked for. */
const SHOWN = 60;

export function ComparePane({ checkpoint, row }: PaneProps): JSX.Element {
  const studio = useStudio();
  const { marked } = studio.view.value.parameters;
  const compared = useDocument(marked === undefined ? null : requests.compare(marked, checkpoint));
  return (
    <div class="padded">
      <OtherForm marked={marked ?? ""} isSelected={marked !== undefined && marked === row?.id} />
      {marked !== undefined &&
        drawn(compared, "Comparing …", (document) => (
          <Comparison key={`${marked} ${checkpoint}`} document={document} names={[nameOf(marked), nameOf(checkpoint)]} />
        ))}
    </div>
  );
}

/** The name of a side: an address, or the short form of an id. */
function nameOf(checkpoint: string): string {
  return isId(checkpoint) ? shortId(checkpoint) : shown(checkpoint);
}

/** Chooses the other side: a thread, or a checkpoint of any thread. */
function OtherForm({ marked, isSelected }: { readonly marked: string; readonly isSelected: boolean }): JSX.Element {
  const studio = useStudio();
  const [typed, setTyped] = useTyped(marked);
  const listed = useId();
  const { thread } = studio.view.value;
  void studio.threads.value.version.value;
  const heads = useTimelineRows().flatMap((row) => row.head_of ?? []);
  const threads = studio.threads.value.all().map(([, each]) => each.name ?? each.thread);
  const others = [...new Set([...heads, ...threads])].filter((name) => name !== thread).slice(0, SHOWN);
  return (
    <Form run={() => studio.set({ marked: typed.trim() || null }, "push")}>
      <div class="fields-row">
        <LineField
          label="Compare the selected step with"
          description={isSelected ? "The selected step is the marked one. Select another step, or enter another one here." : "A thread, a checkpoint such as rust@3, or the marked step"}
          value={typed}
          onValue={setTyped}
          list={listed}
          required
          {...FOCUSED}
        />
        <datalist id={listed}>
          {others.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <Submit>Compare</Submit>
        <ActionButton action="mark" sign="diamond">
          Mark the selected step
        </ActionButton>
      </div>
    </Form>
  );
}

type Names = readonly [string, string];

function Comparison({ document, names }: { readonly document: Compare; readonly names: Names }): JSX.Element {
  const { common, a, b, state } = document;
  const rows = aligned(a.own, b.own);
  const divergence = firstDivergence(rows);
  return (
    <>
      <p class="pane-lead" role="status">
        {common === undefined ? (
          "They share no checkpoint."
        ) : (
          <>
            They share the past up to <CheckpointLink checkpoint={common.id} step={common.step} />.
          </>
        )}{" "}
        {sidesWords(a.own, b.own)} <DivergenceWords rows={rows} at={divergence} />
      </p>
      {rows.length > 0 && <Steps rows={rows} divergence={divergence} names={names} />}
      <Figures all={figures(document)} names={names} />
      <Block title={state.length === 0 ? "The states are the same" : `${counted(state.length, "difference")} of the states, from ${names[0]} to ${names[1]}`}>
        <DifferenceList differences={state} />
      </Block>
    </>
  );
}

function sidesWords(a: readonly Line[], b: readonly Line[]): string {
  if (a.length === 0 && b.length === 0) return "They are the same checkpoint.";
  if (a.length === 0) return "The first one is in the past of the second one.";
  if (b.length === 0) return "The second one is in the past of the first one.";
  return "";
}

function DivergenceWords({ rows, at }: { readonly rows: readonly Aligned[]; readonly at: number | null }): JSX.Element | null {
  if (rows.length === 0 || rows.every(({ a }) => a === null) || rows.every(({ b }) => b === null)) return null;
  const row = at === null ? null : (rows[at] ?? null);
  if (row === null) return <>Since then the same nodes ran on both sides; only values differ.</>;
  const sides = [row.a, row.b].map((line) => (line === null ? "nothing" : `step ${line.step}, ${whatRan(line)}`));
  return (
    <>
      The first divergence is {sides[0]} on one side and {sides[1]} on the other.
    </>
  );
}

function Steps({ rows, divergence, names }: { readonly rows: readonly Aligned[]; readonly divergence: number | null; readonly names: Names }): JSX.Element {
  const [first, more] = useFirst(rows, SHOWN, "rows");
  const [open, setOpen] = useState<number | null>(null);
  return (
    <Block title="Steps beside each other">
      <table class="plain-table beside">
        <thead>
          <tr>
            <th scope="col">{names[0]} (marked)</th>
            <th scope="col">{names[1]} (selected)</th>
          </tr>
        </thead>
        <tbody>
          {first.map(({ a, b, isSame }, at) => (
            <Beside key={at} a={a} b={b} isSame={isSame} isFirst={at === divergence} isOpen={at === open} open={() => setOpen(at === open ? null : at)} />
          ))}
        </tbody>
      </table>
      {more}
    </Block>
  );
}

interface BesideProps extends Aligned {
  readonly isFirst: boolean;
  readonly isOpen: boolean;
  readonly open: () => void;
}

function Beside({ a, b, isSame, isFirst, isOpen, open }: BesideProps): JSX.Element {
  return (
    <>
      <tr class={`${isSame ? "same" : "other"} ${isFirst ? "divergence" : ""}`}>
        <Side line={a} isFirst={isFirst} />
        <Side line={b} isFirst={false}>
          {a !== null && b !== null && (
            <button type="button" class="small-button" aria-expanded={isOpen} onClick={open}>
              Difference<span class="sr"> of step {a.step} and step {b.step}</span>
            </button>
          )}
        </Side>
      </tr>
      {isOpen && a !== null && b !== null && (
        <tr class="beside-difference">
          <td colSpan={2}>
            <InnerDifference a={a.id} b={b.id} />
          </td>
        </tr>
      )}
    </>
  );
}

function Side({ line, isFirst, children }: { readonly line: Line | null; readonly isFirst: boolean; readonly children?: ComponentChildren }): JSX.Element {
  if (line === null) return <td class="dim">—</td>;
  return (
    <td>
      {children}
      <CheckpointLink checkpoint={line.id} step={line.step} pane="diff" /> <span class="node">{whatRan(line)}</span>
      {isFirst && <span class="tag bad">first divergence</span>}
      <span class="second">
        {line.changed.map(shown).join(", ")}
        {line.next.length > 0 && ` → ${grouped(line.next.map(shownNode))}`}
      </span>
    </td>
  );
}

function InnerDifference({ a, b }: { readonly a: string; readonly b: string }): JSX.Element {
  return drawn(useDocument(requests.diff(a, b)), "Reading the difference …", ({ state }) =>
    state.length === 0 ? <p class="dim">The states are the same.</p> : <DifferenceList differences={state} />,
  );
}

function Figures({ all, names }: { readonly all: readonly Figure[]; readonly names: Names }): JSX.Element {
  return (
    <Block title="What each side did on its own">
      <table class="plain-table">
        <thead>
          <tr>
            {["Figure", ...names, "Difference"].map((head, at) => (
              <th key={at} scope="col" class={at === 0 ? "" : "number"}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {all.map(({ name, a, b, unit }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="number">{amount(a, unit)}</td>
              <td class="number">{amount(b, unit)}</td>
              <td class="number">{a === b ? "same" : `${b > a ? "+" : "−"}${amount(Math.abs(b - a), unit)}`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Block>
  );
}

function amount(value: number, unit: Figure["unit"]): string {
  return { count: exact, ms: duration, cost }[unit](value);
}

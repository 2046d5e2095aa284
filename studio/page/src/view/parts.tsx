// Small parts that all screens share.

import type { ComponentChildren, JSX } from "preact";
import { useId, useState } from "preact/hooks";
import type { Held } from "../model/documents";
import { type Action, BINDINGS, keyOf, titleOf } from "../model/keys";
import { exact } from "../model/usage";
import { ago, shown, shownNode, time } from "../model/words";
import type { Failure } from "../wire/client";
import { useAct } from "./context";

const SIGNS = {
  up: "M8 13V3M4 7l4-4 4 4",
  down: "M8 3v10M4 9l4 4 4-4",
  left: "M13 8H3M7 4 3 8l4 4",
  right: "M3 8h10M9 4l4 4-4 4",
  top: "M8 14V6M5 9l3-3 3 3M3 2.500h10",
  bottom: "M8 2v8M5 7l3 3 3-3M3 13.500h10",
  check: "M3 8.500 6.500 12 13 4.500",
  cross: "M4 4l8 8M12 4l-8 8",
  diamond: "M8 2.500 13.500 8 8 13.500 2.500 8z",
  link: "M6.500 9.500l3-3M7 4.500l1-1a3 3 0 0 1 4.500 4.500l-1 1M9 11.500l-1 1A3 3 0 0 1 3.500 8l1-1",
  fork: "M4 4v4a3 3 0 0 0 3 3h4M4 8v5M9.500 8.500 12 11l-2.500 2.500",
  theme: "M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12",
  search: "M7 3a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM10 10l3.500 3.500",
} as const;

export type SignName = keyof typeof SIGNS;

export function Sign({ name }: { readonly name: SignName }): JSX.Element {
  return (
    <svg class="sign" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={SIGNS[name]} />
    </svg>
  );
}

/** A button that does what a key does. With a sign and no text, the text is for screen readers. */
export function ActionButton(props: {
  readonly action: Action;
  readonly children?: ComponentChildren;
  readonly pressed?: boolean;
  readonly disabled?: boolean;
  readonly quiet?: boolean;
  readonly sign?: SignName;
}): JSX.Element {
  const act = useAct();
  const { action, sign, pressed, disabled = false } = props;
  const quiet = props.quiet ?? sign !== undefined;
  const text = props.children ?? (sign === undefined ? BINDINGS[action].title : <span class="sr">{BINDINGS[action].title}</span>);
  return (
    <button
      type="button"
      class={quiet ? "button quiet" : "button"}
      title={titleOf(action)}
      aria-keyshortcuts={keyOf(action)}
      aria-pressed={pressed}
      disabled={disabled}
      onClick={() => act(action)}
    >
      {sign !== undefined && <Sign name={sign} />}
      {text}
    </button>
  );
}

export function Key({ action }: { readonly action: Action }): JSX.Element {
  return <kbd>{keyOf(action)}</kbd>;
}

/** A sentence in the place of what cannot be shown. */
export function Sentence(props: { readonly children: ComponentChildren; readonly tone?: "plain" | "bad" }): JSX.Element {
  return <div class={`sentence ${props.tone ?? "plain"}`}>{props.children}</div>;
}

export function FailureSentence({ failure }: { readonly failure: Failure }): JSX.Element {
  // An error of a regular expression points at a place in the lines below.
  const [first = "", ...rest] = failure.text.split("\n");
  return (
    <div class="sentence bad" role="alert">
      <p>{shown(first)}</p>
      {rest.length > 0 && <pre>{shown(rest.join("\n"))}</pre>}
    </div>
  );
}

/** Draws a document. Until it has been read, a sentence says so; if it cannot be read, its error is shown. */
export function drawn<T>({ value, failure }: Held<T>, reading: string, draw: (value: T) => JSX.Element): JSX.Element {
  if (value !== null) return draw(value);
  return failure === null ? <Sentence>{reading}</Sentence> : <FailureSentence failure={failure} />;
}

/** A part of a pane, with its heading. */
export function Block({ title, look = "", children }: { readonly title: ComponentChildren; readonly look?: string; readonly children: ComponentChildren }): JSX.Element {
  const id = useId();
  return (
    <section class={`block ${look}`} aria-labelledby={id}>
      <h3 id={id}>{title}</h3>
      {children}
    </section>
  );
}

/** Returns the first items of a long list, and a button that shows more of them. */
export function useFirst<T>(all: readonly T[], few: number, what: string): readonly [readonly T[], JSX.Element | null] {
  const [most, setMost] = useState(few);
  return [
    all.slice(0, most),
    all.length > most ? (
      <button type="button" class="small-button more" onClick={() => setMost(2 * most)}>
        Show more of the {exact(all.length)} {what}
      </button>
    ) : null,
  ];
}

export function Cards<T>({ all, what, draw }: { readonly all: readonly T[]; readonly what: string; readonly draw: (one: T, at: number) => JSX.Element }): JSX.Element {
  const [first, more] = useFirst(all, 50, what);
  return (
    <>
      <ul class="cards">{first.map(draw)}</ul>
      {more}
    </>
  );
}

/** Facts by their names. */
export function Facts({ all }: { readonly all: readonly (readonly [string, ComponentChildren])[] }): JSX.Element {
  return (
    <dl class="facts">
      {all.map(([name, fact]) => (
        <div key={name}>
          <dt>{shown(name)}</dt>
          <dd>{fact}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Time({ at, now, relative = false }: { readonly at: string; readonly now: Date; readonly relative?: boolean }): JSX.Element {
  return (
    <time dateTime={at} title={shown(at)}>
      {relative ? ago(at, now) : time(at, now)}
    </time>
  );
}

export function Node({ name }: { readonly name: string }): JSX.Element {
  return <span class="node">{shownNode(name)}</span>;
}

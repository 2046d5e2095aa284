// Small parts that all screens share.

import type { ComponentChildren, JSX } from "preact";
import { type Action, BINDINGS, keyOf, titleOf } from "../model/keys";
import { ago, shown, shownNode, time } from "../model/words";
import type { Failure } from "../wire/client";
import { useAct } from "./context";

/** A button that does what a key does. */
export function ActionButton(props: {
  readonly action: Action;
  readonly children?: ComponentChildren;
  readonly pressed?: boolean;
  readonly disabled?: boolean;
  readonly quiet?: boolean;
}): JSX.Element {
  const act = useAct();
  const { action, children = BINDINGS[action].title, pressed, disabled = false, quiet = false } = props;
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
      {children}
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
  return (
    <div class="sentence bad" role="alert">
      <p>{shown(failure.text)}</p>
    </div>
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

/** A list of names on one line. */
export function Names({ names, of = "field" }: { readonly names: readonly string[]; readonly of?: "field" | "node" }): JSX.Element {
  return (
    <span class={of}>
      {names.map((name, position) => (
        <>
          {position > 0 && ", "}
          {of === "node" ? shownNode(name) : shown(name)}
        </>
      ))}
    </span>
  );
}

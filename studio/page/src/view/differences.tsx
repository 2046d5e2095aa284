// Differences: by path, with texts compared by words.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { contentOf, kindWords, preview } from "../model/content";
import { folded, textDifference } from "../model/text_difference";
import { exact } from "../model/usage";
import { shown } from "../model/words";
import type { Difference } from "../wire/documents";
import { type Json, kindOf } from "../wire/json";
import { ViewLink } from "./links";
import { useFirst } from "./parts";
import { InlineValue, WholeValue } from "./values";

/** The differences that are drawn before more are asked for. */
const SHOWN = 100;

const WORDS = { added: "added", removed: "removed", changed: "changed", reordered: "in another order" } as const;
const SIGNS = { added: "+", removed: "−", changed: "~", reordered: "↕" } as const;

interface Props {
  readonly differences: readonly Difference[];
  /** `true` if the paths are those of the selected checkpoint, so that they lead to its state. */
  readonly linked?: boolean;
}

export function DifferenceList({ differences, linked = false }: Props): JSX.Element {
  const [first, more] = useFirst(differences, SHOWN, "differences");
  return (
    <>
      <ul class="differences">
        {first.map((difference) => (
          <li key={`${difference.edit} ${difference.path}`} class={`difference is-${difference.edit}`}>
            <div class="difference-head">
              <span class="difference-sign" aria-hidden="true">
                {SIGNS[difference.edit]}
              </span>
              <code class="path">
                {linked && difference.edit !== "removed" ? (
                  <ViewLink pane="state" parameters={{ path: difference.path }} title="Show it in the state">
                    {shown(difference.path)}
                  </ViewLink>
                ) : (
                  shown(difference.path)
                )}
              </code>
              <span class={`tag is-${difference.edit}`}>{WORDS[difference.edit]}</span>
              {linked && difference.edit !== "removed" && (
                <span class="difference-links">
                  <ViewLink pane="blame" parameters={{ path: difference.path }}>
                    Blame
                  </ViewLink>
                </span>
              )}
            </div>
            <Sides difference={difference} />
          </li>
        ))}
      </ul>
      {more}
    </>
  );
}

function Sides({ difference }: { readonly difference: Difference }): JSX.Element {
  switch (difference.edit) {
    case "added":
    case "removed":
      return (
        <div class={difference.edit === "added" ? "side new" : "side old"}>
          <WholeValue value={difference.value} />
        </div>
      );
    case "changed":
      return <Change from={difference.from} to={difference.to} />;
    case "reordered":
      return <p class="side">now in the order {preview(difference.ids, 400).slice(1, -1)}</p>;
  }
}

/** A replaced value: two texts by their words, other values one below the other. */
export function Change({ from, to }: { readonly from: Json; readonly to: Json }): JSX.Element {
  const isSecret = contentOf(from).is === "secret" && contentOf(to).is === "secret";
  if (isSecret) return <p class="side dim">The value is secret, and changed.</p>;
  if (typeof from === "string" && typeof to === "string" && isReadable(from) && isReadable(to)) return <TextChange from={from} to={to} />;
  const isShort = [from, to].every((value) => !["list", "object", "text"].includes(kindOf(value)));
  if (isShort) {
    return (
      <p class="side">
        <InlineChange from={from} to={to} />
      </p>
    );
  }
  return (
    <div class="sides">
      {([["before", from, "old"], ["after", to, "new"]] as const).map(([word, value, look]) => (
        <div key={word} class={`side ${look}`}>
          <p class="was">
            {word} <span class="dim">{kindWords(value)}</span>
          </p>
          <WholeValue value={value} />
        </div>
      ))}
    </div>
  );
}

/** A replaced value on one line. */
export function InlineChange({ from, to, longest }: { readonly from: Json; readonly to: Json; readonly longest?: number }): JSX.Element {
  const most = longest === undefined ? {} : { longest };
  return (
    <>
      <del>
        <InlineValue value={from} {...most} />
      </del>{" "}
      <span aria-hidden="true">→</span>{" "}
      <ins>
        <InlineValue value={to} {...most} />
      </ins>
    </>
  );
}

/** `false` for pictures and secrets, whose letters say nothing. */
function isReadable(text: string): boolean {
  const { is } = contentOf(text);
  return is === "text" || is === "json";
}

function TextChange({ from, to }: { readonly from: string; readonly to: string }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const pieces = useMemo(() => textDifference(from, to), [from, to]);
  const parts = isOpen ? pieces : folded(pieces);
  const isFolded = parts.some(({ kind }) => kind === "gap");
  return (
    <div class="side prose">
      {parts.map((part, at) => {
        switch (part.kind) {
          case "same":
            return <span key={at}>{shown(part.text)}</span>;
          case "removed":
            return <del key={at}>{visible(part.text)}</del>;
          case "added":
            return <ins key={at}>{visible(part.text)}</ins>;
          case "gap":
            return (
              <button key={at} type="button" class="gap" onClick={() => setOpen(true)}>
                {exact(part.text.length)} equal characters
              </button>
            );
        }
      })}
      {isOpen && !isFolded && folded(pieces).some(({ kind }) => kind === "gap") && (
        <button type="button" class="small-button" onClick={() => setOpen(false)}>
          Hide equal parts
        </button>
      )}
    </div>
  );
}

/** The characters of one change that are drawn; the state has all of them. */
const LONGEST = 4_000;

/** A changed line break is shown as a sign, because its place is empty. */
function visible(text: string): string {
  const rest = text.length - LONGEST;
  const cut = rest > 0 ? `${text.slice(0, LONGEST)}… and ${exact(rest)} more characters` : text;
  return shown(cut).replace(/\n/g, "↵\n");
}

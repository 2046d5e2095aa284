// Values of a state: on one line, and whole.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { contentOf, kindWords, preview } from "../model/content";
import { exact } from "../model/usage";
import { excerpt, shown, shownJson } from "../model/words";
import { type Json, kindOf, print } from "../wire/json";

/** The characters of a text that are drawn before it is opened. */
const SHORT = 3_000;
/** The characters that are drawn at most; a browser lays out no more at once. */
const LONG = 400_000;

/** A value on one line, cut to a number of characters. */
export function InlineValue({ value, longest = 160 }: { readonly value: Json; readonly longest?: number }): JSX.Element {
  const content = contentOf(value);
  switch (content.is) {
    case "secret":
      return <Secret />;
    case "picture":
      return (
        <span class="inline-value">
          <img class="thumb" src={content.address} alt="" /> <span class="dim">{kindWords(value, content)}</span>
        </span>
      );
    case "text":
    case "json":
      return <span class="inline-value is-text">{typeof value === "string" && value !== "" ? excerpt(value.slice(0, 4 * longest), longest) : "“”"}</span>;
    case "other":
      return <span class={`inline-value is-${kindOf(value)}`}>{preview(value, longest)}</span>;
  }
}

export function Secret(): JSX.Element {
  return (
    <span class="secret" title="The value of a secret field is not shown">
      &lt;secret&gt;
    </span>
  );
}

interface WholeProps {
  readonly value: Json;
  /** The characters of a text that are drawn before it is opened. */
  readonly short?: number;
}

/** A whole value. */
export function WholeValue({ value, short = SHORT }: WholeProps): JSX.Element {
  const content = contentOf(value);
  const [asStored, setAsStored] = useState(false);
  if (content.is === "secret") return <Secret />;
  if (content.is === "picture" && !asStored) {
    return (
      <figure class="picture">
        <img src={content.address} alt={`A picture in the state, ${content.type}`} />
        <StoredButton asStored={false} set={setAsStored} />
      </figure>
    );
  }
  if (content.is === "json" && !asStored) {
    return (
      <>
        <Code text={print(content.value, "indented")} />
        <StoredButton asStored={false} set={setAsStored} />
      </>
    );
  }
  if (content.is === "other" && kindOf(value) !== "list" && kindOf(value) !== "object") return <InlineValue value={value} longest={LONG} />;
  const isFormatted = content.is === "json" || content.is === "picture";
  return (
    <>
      {typeof value === "string" ? <Prose text={value} short={short} /> : <Code text={print(value, "indented")} />}
      {isFormatted && <StoredButton asStored set={setAsStored} />}
    </>
  );
}

function StoredButton({ asStored, set }: { readonly asStored: boolean; readonly set: (asStored: boolean) => void }): JSX.Element {
  return (
    <button type="button" class="small-button" aria-pressed={asStored} onClick={() => set(!asStored)}>
      As stored
    </button>
  );
}

/** A text with its lines. */
export function Prose({ text, short = SHORT }: { readonly text: string; readonly short?: number }): JSX.Element {
  if (text === "") return <p class="dim">an empty text</p>;
  return <Long text={text} short={short} draw={(part) => <div class="prose">{shown(part)}</div>} />;
}

/** JSON, indented. */
export function Code({ text }: { readonly text: string }): JSX.Element {
  return <Long text={text} short={SHORT} draw={(part) => <pre class="code">{shownJson(part)}</pre>} />;
}

/** The beginning of a long text, with a button for the rest. */
function Long({ text, short, draw }: { readonly text: string; readonly short: number; readonly draw: (part: string) => JSX.Element }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const most = isOpen ? LONG : short;
  // A little more is not worth a button.
  if (text.length <= 1.2 * short) return draw(text);
  return (
    <>
      {draw(text.length > most ? `${upTo(text, most)}…` : text)}
      <button type="button" class="small-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? "Show less" : `Show all ${exact(text.length)} characters`}
      </button>
      {isOpen && text.length > LONG && <p class="dim">Only the first {exact(LONG)} characters are drawn. `superstep show` prints all.</p>}
    </>
  );
}

/** Cuts a text, but not inside a character. */
function upTo(text: string, length: number): string {
  return text.slice(0, /[\udc00-\udfff]/.test(text[length] ?? "") ? length - 1 : length);
}


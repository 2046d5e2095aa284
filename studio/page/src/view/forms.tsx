// Parts of forms: fields with labels and errors, commands to copy, and sentences about what will be stored.

import type { ComponentChildren, JSX, TargetedEvent } from "preact";
import { useId, useState } from "preact/hooks";
import { shown } from "../model/words";
import type { Failure } from "../wire/client";
import * as requests from "../wire/requests";
import { useDocument, useShared } from "./context";

/** Attributes that connect a control with its description and its error. */
export interface Described {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": boolean | undefined;
}

/** A label above a control, with a description and an error below it. */
export function Labelled(props: {
  readonly label: ComponentChildren;
  readonly description?: string | undefined;
  readonly problem?: string | null | undefined;
  readonly children: (attributes: Described) => ComponentChildren;
}): JSX.Element {
  const id = useId();
  const { label, description = "", problem = null, children } = props;
  const names = [...(description === "" ? [] : [`${id}-about`]), ...(problem === null ? [] : [`${id}-problem`])];
  return (
    <div class={problem === null ? "labelled" : "labelled wrong"}>
      <label for={id}>{label}</label>
      {description !== "" && (
        <p id={`${id}-about`} class="about">
          {shown(description)}
        </p>
      )}
      {children({ id, "aria-describedby": names.length > 0 ? names.join(" ") : undefined, "aria-invalid": problem !== null || undefined })}
      {problem !== null && <Problem id={`${id}-problem`} text={problem} />}
    </div>
  );
}

export function Problem({ id, text }: { readonly id?: string; readonly text: string }): JSX.Element {
  return (
    <p id={id} class="problem">
      {shown(text)}
    </p>
  );
}

/** The error of a request that wrote. */
export function Refusal({ failure }: { readonly failure: Failure | null }): JSX.Element | null {
  if (failure === null) return null;
  return (
    <div class="refusal" role="alert">
      <p>{shown(failure.text)}</p>
    </div>
  );
}

/** A field for a name, a path or another line that is not prose. */
export function LineField(props: {
  readonly label: string;
  readonly description?: string;
  readonly problem?: string | null;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly onChange?: (event: TargetedEvent<HTMLInputElement>) => void;
  readonly type?: "search";
  readonly class?: string;
  readonly placeholder?: string;
  readonly list?: string;
  readonly required?: boolean;
}): JSX.Element {
  const { label, description, problem, onValue, ...input } = props;
  return (
    <Labelled label={label} description={description} problem={problem}>
      {(attributes) => (
        <input class="field mono" spellcheck={false} autocomplete="off" {...input} {...attributes} onInput={(event) => onValue(event.currentTarget.value)} />
      )}
    </Labelled>
  );
}

/** A menu. */
export function Select(props: {
  readonly value: string;
  readonly options: readonly (readonly [value: string, words: string])[];
  readonly onValue: (value: string) => void;
  readonly attributes?: JSX.IntrinsicElements["select"];
}): JSX.Element {
  return (
    <select {...props.attributes} class="field" value={props.value} onChange={(event) => props.onValue(event.currentTarget.value)}>
      {props.options.map(([value, words]) => (
        <option key={value} value={value}>
          {words}
        </option>
      ))}
    </select>
  );
}

/** A form. It is submitted by its button, by Enter in a line, and by Ctrl and Enter elsewhere. */
export function Form({ run, look = "fields", children, ...attributes }: { readonly run: () => void; readonly look?: string; readonly role?: "search"; readonly children: ComponentChildren }): JSX.Element {
  return (
    <form
      {...attributes}
      class={look}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        event.currentTarget.requestSubmit();
      }}
      onSubmit={(event) => {
        event.preventDefault();
        run();
      }}
    >
      {children}
    </form>
  );
}

/** The button that submits a form. */
export function Submit({ isSent = false, isPlain = false, focused = false, children }: { readonly isSent?: boolean; readonly isPlain?: boolean; readonly focused?: boolean; readonly children: ComponentChildren }): JSX.Element {
  return (
    <button type="submit" class={isPlain ? "button" : "button primary"} disabled={isSent} {...(focused && FOCUSED)}>
      {children}
    </button>
  );
}

/** The attribute of the place for the focus, when the key of its pane is pressed. */
export const FOCUSED = { "data-focus": "" } as const;

/** A field for several lines, which grows with its text. */
export function TextArea(props: {
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly attributes?: JSX.IntrinsicElements["textarea"];
  readonly isCode?: boolean;
  readonly rows?: number;
}): JSX.Element {
  const { value, onValue, attributes, isCode = false, rows = 2 } = props;
  return (
    <textarea
      {...attributes}
      class={isCode ? "field area mono" : "field area"}
      rows={Math.min(12, Math.max(rows, value.split("\n").length))}
      spellcheck={!isCode}
      value={value}
      onInput={(event) => onValue(event.currentTarget.value)}
    />
  );
}

/** One of a few values. */
export function Choice<T extends string>(props: {
  readonly label: string;
  readonly options: readonly { readonly value: T; readonly words: ComponentChildren }[];
  readonly value: T;
  readonly onValue: (value: T) => void;
}): JSX.Element {
  const name = useId();
  return (
    <fieldset class="choices">
      <legend class="sr">{props.label}</legend>
      {props.options.map(({ value, words }) => (
        <label key={value} class="check">
          <input type="radio" name={name} checked={value === props.value} onChange={() => props.onValue(value)} />
          <span>{words}</span>
        </label>
      ))}
    </fieldset>
  );
}

export function Check({ checked, onChecked, children }: { readonly checked: boolean; readonly onChecked: (checked: boolean) => void; readonly children: ComponentChildren }): JSX.Element {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={(event) => onChecked(event.currentTarget.checked)} />
      <span>{children}</span>
    </label>
  );
}

/** What will be stored, and where, in sentences above the button. */
export function Sentences({ title = "What will be stored", words }: { readonly title?: string; readonly words: readonly string[] }): JSX.Element {
  const id = useId();
  return (
    <section class="stored" aria-labelledby={id}>
      <h3 id={id}>{title}</h3>
      {words.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </section>
  );
}

/** A button that copies a text, and says that it did. */
export function CopyButton({ text, what }: { readonly text: string; readonly what: string }): JSX.Element {
  const { page, studio } = useShared();
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    const done = await page.copy(text);
    setCopied(done);
    studio.announcer.say(done ? `${what} is copied` : "The browser does not allow copying. Select the text, and copy it.");
  };
  return (
    <button type="button" class="button" onClick={() => void copy()} onBlur={() => setCopied(false)}>
      {isCopied ? "Copied" : "Copy"}
      <span class="sr"> {what}</span>
    </button>
  );
}

/** A command of the command line, with a button that copies it. */
export function CommandLine({ command, what = "the command" }: { readonly command: string; readonly what?: string }): JSX.Element {
  return (
    <div class="command">
      <code>{shown(command)}</code>
      <CopyButton text={command} what={what} />
    </div>
  );
}

/** Commands for a file that is open without its program. */
export function Commands(props: { readonly commands: readonly string[]; readonly focused?: boolean; readonly children: ComponentChildren }): JSX.Element {
  return (
    <section class="commands" tabIndex={-1} {...(props.focused === true && FOCUSED)}>
      <p>{props.children}</p>
      {props.commands.map((command) => (
        <CommandLine key={command} command={command} />
      ))}
    </section>
  );
}

/** The file, and `true` if the program lends its graphs for a verb. `null` until it is known. */
export function useWriting(verb: string): { readonly file: string; readonly canWrite: boolean } | null {
  const { value } = useDocument(requests.session());
  if (value === null) return null;
  return { file: value.file, canWrite: value.program && (value.verbs?.includes(verb) ?? true) };
}

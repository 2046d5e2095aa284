// The values of an edit: each with its path, and a field that fits its kind.

import type { JSX } from "preact";
import { contentOf, kindWords } from "../../model/content";
import { type Entry, converted, entryAt, isUntouched } from "../../model/edits";
import { parsePath, printPath, valueAt } from "../../model/path";
import { shown } from "../../model/words";
import { type Json, isObject, kindOf } from "../../wire/json";
import { FOCUSED, Labelled, LineField, TextArea } from "../forms";

interface Props {
  readonly state: Json;
  readonly entries: readonly Entry[];
  readonly put: (entries: readonly Entry[]) => void;
  readonly problems: ReadonlyMap<number, string>;
  readonly isChecked: boolean;
}

export function EntryFields({ state, entries, put, problems, isChecked }: Props): JSX.Element {
  const replace = (at: number, entry: Entry) => put(entries.map((each, position) => (position === at ? entry : each)));
  const fields = isObject(state) ? Object.keys(state).map((key) => printPath([{ key }])) : [];
  return (
    <section class="entries" aria-label="Values to edit">
      {entries.map((entry, at) => (
        <EntryField
          key={at}
          state={state}
          entry={entry}
          problem={isChecked || entry.typed !== "" ? (problems.get(at) ?? null) : null}
          isFirst={at === 0}
          put={(next) => replace(at, next)}
          {...(entries.length > 1 && { remove: () => put(entries.filter((_, position) => position !== at)) })}
        />
      ))}
      <datalist id="edit-fields">
        {fields.map((field) => (
          <option key={field} value={field} />
        ))}
      </datalist>
      <button type="button" class="button" onClick={() => put([...entries, { path: "", typed: "", as: "json" }])}>
        Edit another value
      </button>
    </section>
  );
}

interface EntryProps {
  readonly state: Json;
  readonly entry: Entry;
  readonly problem: string | null;
  readonly isFirst: boolean;
  readonly put: (entry: Entry) => void;
  readonly remove?: () => void;
}

function EntryField({ state, entry, problem, isFirst, put, remove }: EntryProps): JSX.Element {
  const { path, typed, as } = entry;
  const parsed = parsePath(path);
  const value = parsed === null ? undefined : valueAt(state, parsed);
  const isSecret = value !== undefined && contentOf(value).is === "secret";
  const hasValue = path !== "" && value !== undefined;
  return (
    <fieldset class="entry">
      <legend class="sr">{path === "" ? "A value" : shown(path)}</legend>
      <div class="fields-row">
        <LineField
          label="Path"
          list="edit-fields"
          value={path}
          placeholder="answer"
          {...(isFirst && path === "" && FOCUSED)}
          // With the present value, unless another one is typed already.
          onValue={(path) => put(isUntouched(state, entry) ? entryAt(state, path) : { ...entry, path })}
        />
        {remove !== undefined && (
          <button type="button" class="button quiet" onClick={remove}>
            Remove<span class="sr"> the value at {path}</span>
          </button>
        )}
      </div>
      <Labelled
        label={as === "text" ? "Text" : "JSON"}
        description={isSecret ? "The value is secret and not shown. A new one is stored, and not shown either." : hasValue ? `Now: ${kindWords(value)}` : path !== "" && parsed !== null ? "There is nothing at this path yet." : ""}
        problem={problem}
      >
        {(attributes) =>
          hasValue && !isSecret && kindOf(value) === "boolean" && as === "json" && ["true", "false"].includes(typed) ? (
            <select {...attributes} class="field" value={typed} {...(isFirst && { "data-focus": "" })} onChange={(event) => put({ ...entry, typed: event.currentTarget.value })}>
              <option value="true">true</option>
              <option value="false">false</option>
            </select>
          ) : (
            <TextArea
              value={typed}
              isCode={as === "json"}
              onValue={(next) => put({ ...entry, typed: next })}
              attributes={{ ...attributes, ...(isFirst && path !== "" && { "data-focus": "" }) }}
            />
          )
        }
      </Labelled>
      <div class="entry-end">
        <button type="button" class="small-button" onClick={() => put(converted(entry))}>
          {as === "text" ? "Write JSON instead" : "Write a text instead"}
        </button>
        {hasValue && !isSecret && (
          <button type="button" class="small-button" onClick={() => put(entryAt(state, path))}>
            Present value
          </button>
        )}
      </div>
    </fieldset>
  );
}

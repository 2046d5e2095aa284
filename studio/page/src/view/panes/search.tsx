// Search over all states, effects, questions and answers of the file.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type View, atThread, fragmentOf, withParameters } from "../../model/address";
import { type Match, excerptOf, grouped, placeOf } from "../../model/search";
import { exact } from "../../model/usage";
import { counted, shown } from "../../model/words";
import type { Grep } from "../../wire/documents";
import * as requests from "../../wire/requests";
import { useDocument, useStudio } from "../context";
import { Check, Labelled, submitted } from "../forms";
import { FailureSentence, Sentence } from "../parts";

/** The matches of a thread that are drawn before more are asked for. */
const SHOWN = 20;

export function SearchPane(): JSX.Element {
  const studio = useStudio();
  const { find, within } = studio.view.value.parameters;
  const { value, failure, isOld } = useDocument(find === undefined ? null : requests.grep(find, within));
  return (
    <div class="padded">
      <SearchForm find={find ?? ""} within={within ?? null} />
      {find === undefined && (
        <Sentence>
          Searches the keys and values of all states, effects, questions, answers and failures with a regular expression. Each text is listed where
          it first appeared.
        </Sentence>
      )}
      {find !== undefined && failure !== null && value === null && <FailureSentence failure={failure} />}
      {find !== undefined && failure === null && value === null && <Sentence>Searching …</Sentence>}
      {find !== undefined && value !== null && <Results key={`${find} ${within ?? ""}`} document={value} isOld={isOld} />}
    </div>
  );
}

function SearchForm({ find, within }: { readonly find: string; readonly within: string | null }): JSX.Element {
  const studio = useStudio();
  const [typed, setTyped] = useState(find);
  const [thread, setThread] = useState(within);
  useEffect(() => setTyped(find), [find]);
  useEffect(() => setThread(within), [within]);
  const selected = studio.view.value.thread;
  // A filter of an address stays possible, whatever is selected.
  const filter = thread ?? selected;
  const search = (pattern: string, inThread: string | null) => {
    studio.show(withParameters(studio.view.peek(), { find: pattern || null, within: inThread }));
  };
  return (
    <form
      class="fields"
      role="search"
      onSubmit={submitted(() => search(typed, thread))}
    >
      <div class="fields-row">
        <Labelled label="Regular expression">
          {(attributes) => (
            <input {...attributes} type="search" class="field mono" value={typed} data-focus="" required spellcheck={false} autocomplete="off" placeholder="hist.*y" onInput={(event) => setTyped(event.currentTarget.value)} />
          )}
        </Labelled>
        <button type="submit" class="button primary">
          Search
        </button>
      </div>
      {filter !== null && (
        <Check
          checked={thread !== null}
          onChecked={(checked) => {
            setThread(checked ? filter : null);
            if (find !== "" && typed === find) search(typed, checked ? filter : null);
          }}
        >
          Only thread {shown(filter)}, with its branches, its past and its subgraphs
        </Check>
      )}
    </form>
  );
}

function Results({ document, isOld }: { readonly document: Grep; readonly isOld: boolean }): JSX.Element {
  const { matches } = document;
  const groups = grouped(matches);
  return (
    <div class={isOld ? "result old" : "result"}>
      <p class="pane-lead" role="status">
        {matches.length === 0 ? "Nothing was found." : `${exact(matches.length)} ${matches.length === 1 ? "match" : "matches"} in ${counted(groups.length, "thread")}`}
      </p>
      {groups.map(({ thread, matches: found }) => (
        <ThreadResults key={thread} thread={thread} matches={found} />
      ))}
    </div>
  );
}

function ThreadResults({ thread, matches }: { readonly thread: string; readonly matches: readonly Match[] }): JSX.Element {
  const [most, setMost] = useState(SHOWN);
  const studio = useStudio();
  const view = studio.view.value;
  return (
    <section class="block" aria-label={`Thread ${thread}`}>
      <h3>
        {shown(thread)} <span class="count">{exact(matches.length)}</span>
      </h3>
      <ul class="matches">
        {matches.slice(0, most).map((match, at) => (
          <li key={at}>
            <Result match={match} view={view} thread={thread} />
          </li>
        ))}
      </ul>
      {matches.length > most && (
        <button type="button" class="small-button more" onClick={() => setMost(most + SHOWN * 5)}>
          Show more of the {exact(matches.length)} matches
        </button>
      )}
    </section>
  );
}

function Result({ match, view, thread }: { readonly match: Match; readonly view: View; readonly thread: string }): JSX.Element {
  const { words, pane, path } = placeOf(match);
  const { before, match: found, after } = excerptOf(match);
  const there = withParameters(view.thread === thread ? view : atThread(view, thread), { path: path ?? null });
  return (
    <a class="match" href={fragmentOf({ ...there, checkpoint: match.checkpoint, pane, front: "detail" })}>
      <span class="match-place">
        <span class="match-step">step {match.step}</span>
        <code class="path">{words}</code>
        {match.part === "key" && <span class="tag">key</span>}
      </span>
      <span class="match-text">
        {before}
        <mark>{found}</mark>
        {after}
      </span>
    </a>
  );
}

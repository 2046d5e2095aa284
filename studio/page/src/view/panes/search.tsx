// Search over all states, effects, questions and answers of the file.

import type { JSX } from "preact";
import { type View, atThread, fragmentOf, withParameters } from "../../model/address";
import { type Match, excerptOf, grouped, placeOf } from "../../model/search";
import { exact } from "../../model/usage";
import { counted, shown } from "../../model/words";
import type { Grep } from "../../wire/documents";
import * as requests from "../../wire/requests";
import { useDocument, useStudio, useTyped } from "../context";
import { Check, FOCUSED, Form, LineField, Submit } from "../forms";
import { Sentence, drawn, useFirst } from "../parts";

/** The matches of a thread that are drawn before more are asked for. */
const SHOWN = 20;

export function SearchPane(): JSX.Element {
  const studio = useStudio();
  const { find, within } = studio.view.value.parameters;
  const found = useDocument(find === undefined ? null : requests.grep(find, within));
  return (
    <div class="padded">
      <SearchForm find={find ?? ""} within={within ?? null} />
      {find === undefined ? (
        <Sentence>
          Searches the keys and values of all states, effects, questions, answers and failures with a regular expression. Each text is listed where
          it first appeared.
        </Sentence>
      ) : (
        drawn(found, "Searching …", (document) => <Results key={`${find} ${within ?? ""}`} document={document} isOld={found.isOld} />)
      )}
    </div>
  );
}

function SearchForm({ find, within }: { readonly find: string; readonly within: string | null }): JSX.Element {
  const studio = useStudio();
  const [typed, setTyped] = useTyped(find);
  const [thread, setThread] = useTyped(within);
  const selected = studio.view.value.thread;
  // A filter of an address stays possible, whatever is selected.
  const filter = thread ?? selected;
  const search = (pattern: string, inThread: string | null) => studio.set({ find: pattern || null, within: inThread }, "push");
  return (
    <Form role="search" run={() => search(typed, thread)}>
      <div class="fields-row">
        <LineField label="Regular expression" type="search" value={typed} onValue={setTyped} required placeholder="hist.*y" {...FOCUSED} />
        <Submit>Search</Submit>
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
    </Form>
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
  const [first, more] = useFirst(matches, SHOWN, "matches");
  const studio = useStudio();
  const view = studio.view.value;
  return (
    <section class="block" aria-label={`Thread ${thread}`}>
      <h3>
        {shown(thread)} <span class="count">{exact(matches.length)}</span>
      </h3>
      <ul class="matches">
        {first.map((match, at) => (
          <li key={at}>
            <Result match={match} view={view} thread={thread} />
          </li>
        ))}
      </ul>
      {more}
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

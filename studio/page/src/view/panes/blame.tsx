// Blame: who wrote each part of a value, and what that overwrote.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { withParameters } from "../../model/address";
import { authorWords } from "../../model/lineage";
import { exact } from "../../model/usage";
import { shown, shownNode } from "../../model/words";
import type { Author, Blame } from "../../wire/documents";
import * as requests from "../../wire/requests";
import { useDocument, useStudio } from "../context";
import { submitted } from "../forms";
import { ViewLink } from "../links";
import { FailureSentence, Sentence } from "../parts";
import { InlineValue } from "../values";
import type { PaneProps } from "./registry";

const SHOWN = 100;

export function BlamePane({ checkpoint }: PaneProps): JSX.Element {
  const studio = useStudio();
  const path = studio.view.value.parameters.path ?? ".";
  const { value, failure } = useDocument(requests.blame(checkpoint, path));
  return (
    <div class="padded" tabIndex={-1} data-focus="">
      <PathForm path={path} />
      {failure !== null && value === null && <FailureSentence failure={failure} />}
      {value === null && failure === null && <Sentence>Reading who wrote it …</Sentence>}
      {value !== null && <Parts key={`${checkpoint} ${path}`} parts={value.parts} checkpoint={checkpoint} />}
    </div>
  );
}

function PathForm({ path }: { readonly path: string }): JSX.Element {
  const studio = useStudio();
  const [typed, setTyped] = useState(path);
  useEffect(() => setTyped(path), [path]);
  return (
    <form
      class="pane-form"
      onSubmit={submitted(() => studio.show(withParameters(studio.view.peek(), { path: typed.trim() || "." })))}
    >
      <label class="grow">
        <span class="sr">Path of the value</span>
        <input
          class="field path"
          value={typed}
          placeholder={'a path: draft, facts[id="hours"].text; . is the whole state'}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="button">
        Blame
      </button>
    </form>
  );
}

function Parts({ parts, checkpoint }: { readonly parts: Blame["parts"]; readonly checkpoint: string }): JSX.Element {
  const [most, setMost] = useState(SHOWN);
  if (parts.length === 0) return <Sentence>No step wrote this value: it has its default.</Sentence>;
  return (
    <>
      <ul class="cards">
        {parts.slice(0, most).map(({ path, value, author, overwrote }) => (
          <li key={path} class="card blame">
            <div class="card-head">
              <code class="path">
                <ViewLink pane="state" parameters={{ path }} title="Show it in the state">
                  {shown(path)}
                </ViewLink>
              </code>
              <span class="card-preview">
                <InlineValue value={value} />
              </span>
            </div>
            <AuthorLine author={author} path={path} isHere={author.checkpoint === checkpoint} />
            {overwrote !== undefined && (
              <div class="overwrote">
                <span class="dim">overwrote</span>{" "}
                <span class="card-preview">
                  <InlineValue value={overwrote.value} />
                </span>
                <AuthorLine author={overwrote.author} path={path} isHere={false} />
              </div>
            )}
          </li>
        ))}
      </ul>
      {parts.length > most && (
        <button type="button" class="small-button more" onClick={() => setMost(most + SHOWN)}>
          Show more of the {exact(parts.length)} parts
        </button>
      )}
    </>
  );
}

/** Who wrote a value, with links to the checkpoint and to the reason why it ran. */
function AuthorLine({ author, path, isHere }: { readonly author: Author; readonly path: string; readonly isHere: boolean }): JSX.Element {
  const [, node] = author.tasks[0] ?? [];
  return (
    <p class="author">
      <span class="dim">by</span> <span class="node">{authorWords(author)}</span> <span class="dim">at</span>{" "}
      <ViewLink checkpoint={author.checkpoint} parameters={{ path }} title={`Go to checkpoint ${author.checkpoint}`}>
        step {author.step}
      </ViewLink>
      {isHere && <span class="tag">this step</span>}
      <span class="author-links">
        <ViewLink checkpoint={author.checkpoint} pane="diff" title="What else this step changed">
          Difference
        </ViewLink>
        {node !== undefined && author.source === "loop" && (
          <ViewLink checkpoint={author.checkpoint} pane="why" parameters={{ node }} title={`Why ${shownNode(node)} ran`}>
            Why?
          </ViewLink>
        )}
      </span>
    </p>
  );
}

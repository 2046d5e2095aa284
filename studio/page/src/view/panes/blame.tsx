// Blame: who wrote each part of a value, and what that overwrote.

import type { JSX } from "preact";
import { authorWords } from "../../model/lineage";
import { shown, shownNode } from "../../model/words";
import type { Author, Blame } from "../../wire/documents";
import * as requests from "../../wire/requests";
import { useDocument, useStudio, useTyped } from "../context";
import { Form, Submit } from "../forms";
import { ViewLink } from "../links";
import { Cards, Sentence, drawn } from "../parts";
import { InlineValue } from "../values";
import type { PaneProps } from "./registry";

export function BlamePane({ checkpoint }: PaneProps): JSX.Element {
  const studio = useStudio();
  const path = studio.view.value.parameters.path ?? ".";
  const blame = useDocument(requests.blame(checkpoint, path));
  return (
    <div class="padded" tabIndex={-1} data-focus="">
      <PathForm path={path} />
      {drawn(blame, "Reading who wrote it …", ({ parts }) => (
        <Parts key={`${checkpoint} ${path}`} parts={parts} checkpoint={checkpoint} />
      ))}
    </div>
  );
}

function PathForm({ path }: { readonly path: string }): JSX.Element {
  const studio = useStudio();
  const [typed, setTyped] = useTyped(path);
  return (
    <Form look="pane-form" run={() => studio.set({ path: typed.trim() || "." }, "push")}>
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
      <Submit isPlain>Blame</Submit>
    </Form>
  );
}

function Parts({ parts, checkpoint }: { readonly parts: Blame["parts"]; readonly checkpoint: string }): JSX.Element {
  if (parts.length === 0) return <Sentence>No step wrote this value: it has its default.</Sentence>;
  return (
    <Cards
      all={parts}
      what="parts"
      draw={({ path, value, author, overwrote }) => (
        <li key={path} class="card">
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
      )}
    />
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

// Keep it: a link to this view, a name, the thread as a file, and a test.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { fragmentOf } from "../../model/address";
import { exportCommand, nameCommand, testCommand } from "../../model/commands";
import { nameProblem } from "../../model/storing";
import { counted, shown } from "../../model/words";
import type { Failure } from "../../wire/client";
import * as requests from "../../wire/requests";
import { useDocument, useShared, useStudio } from "../context";
import { Check, CommandLine, CopyButton, Labelled, Refusal, submitted, useWriting } from "../forms";
import { FailureSentence, Sentence } from "../parts";
import { usePost } from "../post";
import type { PaneProps } from "./registry";
import { type Address, useAddress } from "./selection";

export function ExportPane({ thread, row }: PaneProps): JSX.Element {
  const address = useAddress(thread, row);
  const { file = "FILE", canWrite = false } = useWriting("name") ?? {};
  const outer = row?.name === undefined ? thread : null;
  return (
    <div class="padded">
      <Link id={row?.id ?? null} />
      {address !== null && <TestCode key={address.id} address={address} file={file} />}
      <File key={thread} thread={outer ?? thread} isOuter={outer !== null} file={file} />
      {address !== null && <Name key={`name ${address.id}`} address={address} file={file} canWrite={canWrite} names={row?.names ?? []} />}
    </div>
  );
}

function Link({ id }: { readonly id: string | null }): JSX.Element {
  const { studio, page } = useShared();
  const view = studio.view.value;
  const link = page.address(fragmentOf({ ...view, checkpoint: view.checkpoint ?? id }));
  return (
    <section class="block" aria-labelledby="keep-link">
      <h3 id="keep-link">Link to this view</h3>
      <p>Shows the same step, pane, path and marks while this studio runs. The link has no token: it opens in a tab in which the studio is open.</p>
      <div class="command">
        <code>{shown(link)}</code>
        <CopyButton text={link} what="the link" />
      </div>
    </section>
  );
}

function TestCode({ address, file }: { readonly address: Address; readonly file: string }): JSX.Element {
  const [isStep, setStep] = useState(true);
  const { value, failure } = useDocument(requests.test(address.id, isStep));
  return (
    <section class="block" aria-labelledby="keep-test">
      <h3 id="keep-test">Test as Rust code</h3>
      <p>A test that passes while the program behaves as recorded. One line is missing: the one that builds the graph.</p>
      <Check checked={isStep} onChecked={setStep}>
        Only the superstep that made step {address.step}, not the whole turn
      </Check>
      {failure !== null && value === null && <FailureSentence failure={failure} />}
      {value === null && failure === null && <Sentence>Writing the test …</Sentence>}
      {value !== null && (
        <>
          <div class="fields-end">
            <CopyButton text={value.code} what="the test" />
            <span class="dim">{counted(value.supersteps, "superstep")}</span>
          </div>
          {value.secrets !== undefined && value.secrets.length > 0 && <p class="notice">It leaves out the secret fields {value.secrets.map(shown).join(", ")}.</p>}
          <pre class="code">{shown(value.code)}</pre>
        </>
      )}
      <CommandLine command={testCommand(file, address.readable, isStep)} />
    </section>
  );
}

function File({ thread, isOuter, file }: { readonly thread: string; readonly isOuter: boolean; readonly file: string }): JSX.Element {
  const { client } = useStudio();
  const [isRedacted, setRedacted] = useState(true);
  const [isSent, setSent] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const save = async () => {
    setSent(true);
    const result = await client.text(requests.exported(thread, isRedacted));
    setSent(false);
    setFailure(result.ok ? null : result.failure);
    if (result.ok) download(result.value, `${thread.replace(/[^A-Za-z0-9_.-]/g, "_")}.json`);
  };
  return (
    <section class="block" aria-labelledby="keep-file">
      <h3 id="keep-file">Thread as a file</h3>
      {isOuter ? (
        <>
          <p>One JSON document with all of {shown(thread)}: its branches, its past, its subgraphs, effects, questions and answers. The command import takes it into another file.</p>
          <Check checked={isRedacted} onChecked={setRedacted}>
            Replace the values of secret fields, also in other texts
          </Check>
          {!isRedacted && <p class="notice">The file will contain the secrets of the thread.</p>}
          <div class="fields-end">
            <button type="button" class="button" disabled={isSent} onClick={() => void save()}>
              {isSent ? "Exporting …" : "Save the file"}
            </button>
          </div>
          <Refusal failure={failure} />
          <CommandLine command={exportCommand(file, thread, isRedacted)} />
        </>
      ) : (
        <p>A subgraph is exported with its outer thread. Select that thread.</p>
      )}
    </section>
  );
}

/** Has the browser save a text as a file. */
function download(text: string, name: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser has the file when the click has been handled.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

interface NameProps {
  readonly address: Address;
  readonly file: string;
  readonly canWrite: boolean;
  readonly names: readonly string[];
}

function Name({ address, file, canWrite, names }: NameProps): JSX.Element {
  const studio = useStudio();
  const [name, setName] = useState("");
  const [isChecked, setChecked] = useState(false);
  const { isSent, failure, send } = usePost();
  const problem = nameProblem(name);
  const store = async () => {
    setChecked(true);
    if (!canWrite || problem !== null) return;
    const stored = await send(requests.name(address.exact, name.trim()));
    if (stored === null) return;
    setName("");
    setChecked(false);
    studio.announcer.say(`Step ${address.step} has the name ${shown(name.trim())}`);
  };
  return (
    <section class="block" aria-labelledby="keep-name">
      <h3 id="keep-name">Name of the step</h3>
      <p>
        {names.length > 0 && <>It has the name {names.map(shown).join(", ")}. </>}
        Every verb takes {shown(address.thread)}@NAME for a checkpoint, and a checkpoint with a name is not pruned.
      </p>
      <form
        class="fields"
        onSubmit={submitted(() => void store())}
      >
        <div class="fields-row">
          <Labelled label="Name" problem={isChecked ? problem : null}>
            {(attributes) => <input {...attributes} class="field" value={name} placeholder="before-release" spellcheck={false} autocomplete="off" onInput={(event) => setName(event.currentTarget.value)} />}
          </Labelled>
          {canWrite && (
            <button type="submit" class="button" disabled={isSent}>
              Store the name
            </button>
          )}
        </div>
        {!canWrite && problem === null && <CommandLine command={nameCommand(file, address.readable, name.trim())} />}
        <Refusal failure={failure} />
      </form>
    </section>
  );
}

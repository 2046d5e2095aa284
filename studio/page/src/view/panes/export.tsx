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
import { Check, CommandLine, CopyButton, Form, LineField, Refusal, Submit, useWriting } from "../forms";
import { Block, drawn } from "../parts";
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
    <Block title="Link to this view">
      <p>Shows the same step, pane, path and marks while this studio runs. The link has no token: it opens in a tab in which the studio is open.</p>
      <CommandLine command={link} what="the link" />
    </Block>
  );
}

function TestCode({ address, file }: { readonly address: Address; readonly file: string }): JSX.Element {
  const [isStep, setStep] = useState(true);
  const test = useDocument(requests.test(address.id, isStep));
  return (
    <Block title="Test as Rust code">
      <p>A test that passes while the program behaves as recorded. One line is missing: the one that builds the graph.</p>
      <Check checked={isStep} onChecked={setStep}>
        Only the superstep that made step {address.step}, not the whole turn
      </Check>
      {drawn(test, "Writing the test …", ({ code, supersteps, secrets = [] }) => (
        <>
          <div class="fields-end">
            <CopyButton text={code} what="the test" />
            <span class="dim">{counted(supersteps, "superstep")}</span>
          </div>
          {secrets.length > 0 && <p class="notice">It leaves out the secret fields {secrets.map(shown).join(", ")}.</p>}
          <pre class="code">{shown(code)}</pre>
        </>
      ))}
      <CommandLine command={testCommand(file, address.readable, isStep)} />
    </Block>
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
    <Block title="Thread as a file">
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
    </Block>
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
    <Block title="Name of the step">
      <p>
        {names.length > 0 && <>It has the name {names.map(shown).join(", ")}. </>}
        Every verb takes {shown(address.thread)}@NAME for a checkpoint, and a checkpoint with a name is not pruned.
      </p>
      <Form run={() => void store()}>
        <div class="fields-row">
          <LineField label="Name" problem={isChecked ? problem : null} value={name} onValue={setName} class="field" placeholder="before-release" />
          {canWrite && (
            <Submit isPlain isSent={isSent}>
              Store the name
            </Submit>
          )}
        </div>
        {!canWrite && problem === null && <CommandLine command={nameCommand(file, address.readable, name.trim())} />}
        <Refusal failure={failure} />
      </Form>
    </Block>
  );
}

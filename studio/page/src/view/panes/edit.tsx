// Edit: other values for the selected step, stored as a new checkpoint.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { editCommand } from "../../model/commands";
import { differences } from "../../model/difference";
import { type Edit, type Entry, editOf, entryAt, isUntouched } from "../../model/edits";
import { nextOf } from "../../model/cases";
import { planWords } from "../../model/storing";
import { counted, shortId, shown } from "../../model/words";
import type { Failure } from "../../wire/client";
import type { Difference, Show } from "../../wire/documents";
import { print } from "../../wire/json";
import * as requests from "../../wire/requests";
import { useDocument, useShared, useStudio } from "../context";
import { DifferenceList } from "../differences";
import { Check, Form, Refusal, Sentences, Submit, useWriting } from "../forms";
import { Block, FailureSentence, Sentence } from "../parts";
import { usePost } from "../post";
import { DestinationCommands, DestinationFields, useDestination } from "./destination";
import { AsNodeFields, useAsNode } from "./edit_as";
import { EntryFields } from "./edit_entry";
import { useOpenQuestions } from "./fork";
import type { PaneProps } from "./registry";
import { type Address, useAddress, useFixed } from "./selection";

export function EditPane({ thread, row }: PaneProps): JSX.Element {
  useFixed(row);
  const address = useAddress(thread, row);
  const writing = useWriting("edit");
  const { value, failure } = useDocument(row === null ? null : requests.show(row.id));
  if (failure !== null && value === null) return <FailureSentence failure={failure} />;
  if (address === null || writing === null || value === null || value.id !== address.id) return <Sentence>Reading the state …</Sentence>;
  return <EditForm key={address.id} address={address} document={value} file={writing.file} canWrite={writing.canWrite} />;
}

interface Props {
  readonly address: Address;
  readonly document: Show;
  readonly file: string;
  readonly canWrite: boolean;
}

function EditForm({ address, document, file, canWrite }: Props): JSX.Element {
  const { studio, page } = useShared();
  const { thread, step, isHead } = address;
  const { state, next } = document;
  const [entries, put] = useEntries(document);
  const destination = useDestination("edit", address.id);
  const asNode = useAsNode(address.id);
  const open = useOpenQuestions(thread);
  const [isChecked, setChecked] = useState(false);
  const [isForced, setForced] = useState(false);
  const { isSent, failure, send } = usePost();
  const edit = editOf(state, entries);
  const { name, problem } = destination;
  const isOnTop = isHead && name === null;
  const as = asNode.as === null ? undefined : asNode.as;
  const options = { as: as?.node, case: as?.case, force: isForced || undefined };
  const preview = usePreview(address.exact, edit, state, canWrite, options);
  const isEmpty = preview.found.length === 0 && as === undefined;

  const store = async () => {
    setChecked(true);
    if (!canWrite || problem !== null || edit.problems.size > 0 || isEmpty) return;
    const edited = await send(requests.edit(address.exact, edit.assignments, { ...options, name: name ?? undefined }));
    if (edited === null) return;
    const where = edited.new_thread ? `Thread ${shown(edited.thread)} began` : edited.branch ? `A branch of ${shown(edited.thread)} began` : `${shown(edited.thread)} was edited`;
    const pending = edited.pending ? " The state changes when the other tasks of the step have finished." : "";
    const sentence = `${where}: step ${edited.step}, as checkpoint ${shortId(edited.checkpoint)}. ${nextOf(edited.next)}${pending}`;
    studio.drafts.stored.of(edited.checkpoint).value = sentence;
    studio.announcer.say(sentence);
    studio.drafts.edits.of(address.id).value = null;
    destination.put({ isThread: false, name: "" });
    asNode.put(null);
    studio.follow(edited.thread, { pane: "run", front: "detail" });
    page.focusPane(true);
  };
  return (
    <Form look="padded fields" run={() => void store()}>
      <EntryFields state={state} entries={entries} put={put} problems={edit.problems} isChecked={isChecked} />
      <AsNodeFields thread={thread} choice={asNode} next={next} />
      <Preview {...preview} kinds={canWrite && !isForced ? [] : edit.kinds} />
      {(isForced || [preview.failure, failure].some(needsForce)) && (
        <Check checked={isForced} onChecked={setForced}>
          Store a value of another kind all the same
        </Check>
      )}
      <DestinationFields destination={destination} thread={thread} isOnTop={isHead} isChecked={isChecked} />
      <Sentences
        title={`What will be stored in ${shown(file)}`}
        words={isEmpty ? ["Nothing yet: no value is different."] : planWords({ verb: "edit", file, thread, row: { step, next }, isHead, name, open, as: as?.node ?? null })}
      />
      {canWrite ? (
        <div class="fields-end">
          <Submit isSent={isSent}>{isOnTop ? `Store it as step ${step + 1}` : name === null ? `Store it on a branch at step ${step}` : `Store it on thread ${shown(name) || "…"}`}</Submit>
        </div>
      ) : (
        <DestinationCommands
          command={editCommand(file, address.readable, edit.assignments, { name, as: as?.node ?? null, case: as?.case ?? null, force: edit.kinds.length > 0 })}
          thread={name ?? thread}
        />
      )}
      <Refusal failure={failure} />
    </Form>
  );
}

/** The entries of a checkpoint. The value that is selected in the state is one of them. */
function useEntries({ id, state }: Show): readonly [readonly Entry[], (entries: readonly Entry[]) => void] {
  const studio = useStudio();
  const { path } = studio.view.value.parameters;
  const kept = studio.drafts.edits.of(id);
  useEffect(() => {
    const before = kept.peek() ?? [];
    if (path === undefined || path === "." || before.some((entry) => entry.path === path)) return;
    kept.value = [...(before.every((entry) => isUntouched(state, entry)) ? [] : before), entryAt(state, path)];
  }, [path, kept]);
  const entries = kept.value ?? (path === undefined || path === "." ? [entryAt(state, "")] : [entryAt(state, path)]);
  return [entries, (next) => (kept.value = next)];
}

interface Previewed {
  readonly found: readonly Difference[];
  readonly failure: Failure | null;
}

/** The pause after the last letter, until the program is asked. */
const TYPING_MS = 250;

/** What the edit would change: the program's answer, or without it the same found here. */
function usePreview(checkpoint: string, edit: Edit, state: Show["state"], canWrite: boolean, options: requests.EditOptions): Previewed {
  const { client } = useStudio();
  const here = edit.assignments.length === 0 ? [] : differences(state, edit.state);
  const [answer, setAnswer] = useState<{ readonly asked: string; readonly value: Previewed } | null>(null);
  const isAsked = canWrite && edit.problems.size === 0 && (here.length > 0 || options.as !== undefined);
  const request = requests.preview(checkpoint, edit.assignments, options);
  const asked = isAsked ? print(request.body) : "";
  useEffect(() => {
    if (asked === "") return;
    let isLatest = true;
    const timer = setTimeout(() => {
      void client.post(request).then((result) => {
        if (!isLatest) return;
        setAnswer({ asked, value: result.ok ? { found: result.value.state, failure: null } : { found: here, failure: result.failure } });
      });
    }, TYPING_MS);
    return () => {
      isLatest = false;
      clearTimeout(timer);
    };
  }, [asked, client]);
  return asked !== "" && answer?.asked === asked ? answer.value : { found: here, failure: null };
}

/** Returns `true` for the error that a field would become another kind of JSON. */
function needsForce(failure: Failure | null): boolean {
  return failure?.kind === "refused" && failure.path === "force";
}

function Preview({ found, failure, kinds }: Previewed & { readonly kinds: readonly string[] }): JSX.Element {
  return (
    <Block title={<span role="status">{found.length === 0 ? "No difference yet" : counted(found.length, "difference")}</span>}>
      <DifferenceList differences={found} />
      {kinds.map((words) => (
        <p key={words} class="notice">
          {shown(words)}: the program may not be able to read it.
        </p>
      ))}
      <Refusal failure={failure} />
    </Block>
  );
}

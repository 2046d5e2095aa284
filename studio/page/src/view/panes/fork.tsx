// Fork: begins a branch or a thread at the selected step.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { forkCommand } from "../../model/commands";
import { planWords } from "../../model/storing";
import { shortId, shown } from "../../model/words";
import * as requests from "../../wire/requests";
import { useDocument, useShared } from "../context";
import { Refusal, Sentences, submitByKey, submitted, useWriting } from "../forms";
import { Sentence } from "../parts";
import { usePost } from "../post";
import { DestinationCommands, DestinationFields, useDestination } from "./destination";
import type { PaneProps } from "./registry";
import { type Address, useAddress, useFixed } from "./selection";

export function ForkPane({ thread, row }: PaneProps): JSX.Element {
  useFixed(row);
  const address = useAddress(thread, row);
  const writing = useWriting("fork");
  if (row === null || address === null || writing === null) return <Sentence>Reading …</Sentence>;
  return <ForkForm key={row.id} address={address} next={row.next} file={writing.file} canWrite={writing.canWrite} />;
}

interface Props {
  readonly address: Address;
  readonly next: readonly string[];
  readonly file: string;
  readonly canWrite: boolean;
}

function ForkForm({ address, next, file, canWrite }: Props): JSX.Element {
  const { studio, page } = useShared();
  const { thread, step, isHead } = address;
  const destination = useDestination("fork", address.id);
  const open = useOpenQuestions(thread);
  const [isChecked, setChecked] = useState(false);
  const { isSent, failure, send } = usePost();
  const { name, problem } = destination;
  const words = planWords({ verb: "fork", file, thread, row: { step, next: [...next] }, isHead, name, open, as: null });

  const fork = async () => {
    setChecked(true);
    if (!canWrite || problem !== null) return;
    const forked = await send(requests.fork(address.exact, name ?? undefined));
    if (forked === null) return;
    const sentence = forked.branch
      ? `A branch of ${shown(forked.thread)} began at step ${forked.step}, as checkpoint ${shortId(forked.checkpoint)}.`
      : `Thread ${shown(forked.thread)} began at step ${forked.step}, as checkpoint ${shortId(forked.checkpoint)}.`;
    studio.drafts.stored.of(forked.checkpoint).value = sentence;
    studio.announcer.say(sentence);
    destination.put({ isThread: false, name: "" });
    studio.follow(forked.thread, { pane: "run", front: "detail" });
    page.focusPane(true);
  };
  return (
    <form
      class="padded fields"
      onKeyDown={submitByKey}
      onSubmit={submitted(() => void fork())}
    >
      <DestinationFields destination={destination} thread={thread} isOnTop={false} isChecked={isChecked} focused />
      <Sentences title={`What will be stored in ${shown(file)}`} words={words} />
      {canWrite ? (
        <div class="fields-end">
          <button type="submit" class="button primary" disabled={isSent}>
            {name === null ? `Begin a branch at step ${step}` : `Begin thread ${shown(name) || "…"}`}
          </button>
        </div>
      ) : (
        <DestinationCommands command={forkCommand(file, address.readable, name)} thread={name ?? thread} />
      )}
      <Refusal failure={failure} />
    </form>
  );
}

/** The number of open questions on the latest checkpoint of a thread. */
export function useOpenQuestions(thread: string): number {
  const { value } = useDocument(requests.show(thread));
  return (value?.questions ?? []).filter(({ answer }) => answer === undefined).length;
}


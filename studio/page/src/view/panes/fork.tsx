// Fork: begins a branch or a thread at the selected step.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { forkCommand } from "../../model/commands";
import { openQuestions } from "../../model/standing";
import { planWords } from "../../model/storing";
import { shortId, shown } from "../../model/words";
import * as requests from "../../wire/requests";
import { useDocument, useShared } from "../context";
import { Form, Refusal, Sentences, Submit, useWriting } from "../forms";
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
    const sentence = `${forked.branch ? "A branch of" : "Thread"} ${shown(forked.thread)} began at step ${forked.step}, as checkpoint ${shortId(forked.checkpoint)}.`;
    studio.drafts.stored.of(forked.checkpoint).value = sentence;
    studio.announcer.say(sentence);
    destination.put({ isThread: false, name: "" });
    studio.follow(forked.thread, { pane: "run", front: "detail" });
    page.focusPane(true);
  };
  return (
    <Form look="padded fields" run={() => void fork()}>
      <DestinationFields destination={destination} thread={thread} isOnTop={false} isChecked={isChecked} focused />
      <Sentences title={`What will be stored in ${shown(file)}`} words={words} />
      {canWrite ? (
        <div class="fields-end">
          <Submit isSent={isSent}>{name === null ? `Begin a branch at step ${step}` : `Begin thread ${shown(name) || "…"}`}</Submit>
        </div>
      ) : (
        <DestinationCommands command={forkCommand(file, address.readable, name)} thread={name ?? thread} />
      )}
      <Refusal failure={failure} />
    </Form>
  );
}

/** The number of open questions on the latest checkpoint of a thread. */
export function useOpenQuestions(thread: string): number {
  const { value } = useDocument(requests.show(thread));
  return (value === null ? 0 : openQuestions(value).length);
}


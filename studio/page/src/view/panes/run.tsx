// Run: the live status of the thread, and runs that begin, continue, repeat or end.

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { rerunCommand, resumeCommand } from "../../model/commands";
import { type Standing, openQuestions, standingOf } from "../../model/standing";
import { grouped, shown, shownNode } from "../../model/words";
import type { Post } from "../../wire/client";
import type { Show } from "../../wire/documents";
import * as requests from "../../wire/requests";
import { useDocument, useStudio } from "../context";
import { CommandLine, Refusal, useWriting } from "../forms";
import { ViewLink } from "../links";
import { Block, FailureSentence, Sentence } from "../parts";
import { usePost } from "../post";
import { Icon } from "../status";
import type { PaneProps } from "./registry";
import { NewTurn } from "./run_input";
import { type Address, useAddress } from "./selection";

export function RunPane({ thread, row }: PaneProps): JSX.Element {
  const head = useDocument(requests.show(thread));
  const writing = useWriting("run");
  const address = useAddress(thread, row);
  if (head.failure !== null && head.value === null) return <FailureSentence failure={head.failure} />;
  if (head.value === null || writing === null) return <Sentence>Reading …</Sentence>;
  const standing = standingOf(head.value);
  return (
    <div class="padded">
      <Status thread={thread} head={head.value} standing={standing} />
      {!writing.canWrite && (
        <p class="notice">This page only reads the file. Runs need the program that wrote it: its own studio has the buttons, and its command line the commands below, with its name in place of PROGRAM.</p>
      )}
      <Resume key={`resume ${thread}`} thread={thread} head={head.value} standing={standing} canWrite={writing.canWrite} />
      {address !== null && <Rerun key={`rerun ${address.id}`} address={address} next={row?.next ?? []} canWrite={writing.canWrite} />}
      <Cancel key={`cancel ${thread}`} thread={thread} standing={standing} canWrite={writing.canWrite} />
      <NewTurn key={`run ${thread}`} thread={thread} canWrite={writing.canWrite} />
    </div>
  );
}

/** A first run, while no thread is selected. */
export function FirstRun(): JSX.Element {
  const writing = useWriting("run");
  return writing === null ? <Sentence>Reading …</Sentence> : <div class="padded"><NewTurn thread={null} canWrite={writing.canWrite} /></div>;
}

/** What the thread is doing now. It changes by itself. */
function Status({ thread, head, standing }: { readonly thread: string; readonly head: Show; readonly standing: Standing }): JSX.Element {
  const stored = useStudio().drafts.stored.of(head.id).value;
  const open = openQuestions(head);
  return (
    <div class="run-status" role="status" tabIndex={-1} data-focus="">
      {stored !== null && <p class="notice good">{stored}</p>}
      <p class="result-lead">
        <Icon tone={standing.tone} /> {shown(thread)}: {standing.words}
      </p>
      {open.length > 0 && (
        <ViewLink pane="answer" isButton>
          Answer
        </ViewLink>
      )}
    </div>
  );
}

interface VerbProps {
  readonly title: string;
  readonly button: string;
  readonly children: ComponentChildren;
  /** The reason why it is not possible now; `null` if it is. */
  readonly reason: string | null;
  readonly post: Post<unknown>;
  /** The command that does the same; `null` if there is none. */
  readonly command: string | null;
  readonly done: string;
  readonly canWrite: boolean;
  /** The thread that the verb changes: its latest step is followed then. */
  readonly thread: string;
}

/** A verb with its sentences, and its button. */
function Verb({ title, button, children, reason, post, command, done, canWrite, thread }: VerbProps): JSX.Element {
  const studio = useStudio();
  const { isSent, failure, send } = usePost();
  const [isDone, setDone] = useState(false);
  const start = async () => {
    setDone(false);
    const begun = await send(post);
    if (begun === null) return;
    setDone(true);
    studio.follow(thread);
    studio.announcer.say(done);
  };
  return (
    <Block look="verb" title={title}>
      {children}
      {!canWrite && command !== null && reason === null && <CommandLine command={command} />}
      {!canWrite && reason !== null && <p class="dim">{reason}</p>}
      {canWrite && (
        <div class="fields-end">
          <button type="button" class="button" disabled={isSent || reason !== null} onClick={() => void start()}>
            {button}
          </button>
          {reason !== null ? <span class="dim">{reason}</span> : isDone && <span class="dim">{done}</span>}
        </div>
      )}
      <Refusal failure={failure} />
    </Block>
  );
}

interface ResumeProps {
  readonly thread: string;
  readonly head: Show;
  readonly standing: Standing;
  readonly canWrite: boolean;
}

function Resume({ thread, head, standing, canWrite }: ResumeProps): JSX.Element {
  const reason = standing.canResume
    ? null
    : standing.isRunning
      ? "A run works on the thread already."
      : head.next.length === 0
        ? "The thread has finished: no node is next."
        : "It waits for an answer, which continues it.";
  return (
    <Verb thread={thread} title="Resume" button="Resume" reason={reason} post={requests.resume(thread)} command={resumeCommand(thread)} done="The run was accepted; its steps appear as they are stored." canWrite={canWrite}>
      <p>
        Continues {shown(thread)} after step {head.step}
        {head.next.length > 0 && `, at ${grouped(head.next.map(shownNode))}`}. Finished work is kept; model calls and other effects happen live, and each step is stored.
      </p>
    </Verb>
  );
}

function Rerun({ address, next, canWrite }: { readonly address: Address; readonly next: readonly string[]; readonly canWrite: boolean }): JSX.Element {
  const { step, thread } = address;
  return (
    <Verb
      thread={thread}
      title={`Rerun from step ${step}`}
      button={`Rerun from step ${step}`}
      reason={next.length === 0 ? "No node is next at this step: select an earlier one." : null}
      post={requests.rerun(address.exact)}
      command={rerunCommand(address.readable)}
      done="The run was accepted; its branch appears in the timeline."
      canWrite={canWrite}
    >
      <p>
        Begins a branch of {shown(thread)} at step {step}, and runs it live{next.length > 0 && ` from ${grouped(next.map(shownNode))} on`}: all effects after that step happen again. The present steps stay on their branch.
      </p>
    </Verb>
  );
}

function Cancel({ thread, standing, canWrite }: { readonly thread: string; readonly standing: Standing; readonly canWrite: boolean }): JSX.Element {
  return (
    <Verb thread={thread} title="Cancel" button="Cancel the run" reason={standing.isRunning ? null : "Nothing runs on this thread."} post={requests.cancel(thread)} command={null} done="The run is asked to stop." canWrite={canWrite}>
      <p>Stops the run of {shown(thread)} at a point from which it can be resumed. What is stored stays. {!canWrite && "In a terminal, Ctrl-C does the same."}</p>
    </Verb>
  );
}

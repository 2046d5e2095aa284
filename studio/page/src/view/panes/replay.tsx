// Replay: runs the recorded steps through the program's code, and compares the results.

import type { JSX } from "preact";
import { replayCommand } from "../../model/commands";
import { differenceWords, placeWords, unverifiedWords, verdictOf } from "../../model/replaying";
import { shownNode } from "../../model/words";
import type { Replay } from "../../wire/documents";
import * as requests from "../../wire/requests";
import { useDocument, useStudio, useTyped } from "../context";
import { Change } from "../differences";
import { Commands, Form, LineField, Refusal, Sentences, Submit, useWriting } from "../forms";
import { ThreadLink, ViewLink } from "../links";
import { Block, Sentence } from "../parts";
import { usePost } from "../post";
import { Icon } from "../status";
import type { PaneProps } from "./registry";
import { useAddress } from "./selection";

export function ReplayPane({ thread, checkpoint, row }: PaneProps): JSX.Element {
  const studio = useStudio();
  const writing = useWriting("replay");
  const address = useAddress(thread, row);
  const after = studio.view.value.parameters.after ?? "";
  const { isSent, failure, send } = usePost();
  const report = studio.drafts.replays.of(JSON.stringify([checkpoint, row?.id ?? null, after]));
  if (writing === null || address === null) return <Sentence>Reading …</Sentence>;
  const step = `step ${address.step}`;
  if (!writing.canWrite) {
    return (
      <div class="padded">
        <Commands commands={[replayCommand(address.readable, after || null)]} focused>
          A replay runs the recorded steps through the program's code, and only the file is open here. The program does it in its own studio, or on
          its command line:
        </Commands>
      </div>
    );
  }
  const replay = async () => {
    const result = await send(requests.replay(address.exact, after || undefined));
    if (result === null) return;
    report.value = result;
    studio.announcer.say(verdictOf(result).words);
  };
  return (
    <div class="padded">
      <Form run={() => void replay()}>
        <Sentences
          title="What happens"
          words={[
            `The steps that led to ${step} run again from what is recorded: effects and questions have their recorded outcomes, and the results are compared with the stored ones.`,
            "Nothing is called live, and nothing is stored.",
          ]}
        />
        <AfterField after={after} />
        <div class="fields-end">
          <Submit focused isSent={isSent}>
            {isSent ? "Replaying …" : `Replay up to ${step}`}
          </Submit>
        </div>
        <Refusal failure={failure} />
      </Form>
      {report.value !== null && <Report report={report.value} />}
    </div>
  );
}

function AfterField({ after }: { readonly after: string }): JSX.Element {
  const studio = useStudio();
  const [typed, setTyped] = useTyped(after);
  return (
    <LineField
      label="Only the steps after (optional)"
      description="An earlier step of the branch, such as rust@2 or its id; empty for all steps"
      value={typed}
      onValue={setTyped}
      onChange={(event) => studio.set({ after: event.currentTarget.value.trim() || null })}
    />
  );
}

function Report({ report }: { readonly report: Replay }): JSX.Element {
  const { tone, words } = verdictOf(report);
  const { first, unverified, other_topology: isOther } = report;
  return (
    <section class="block" aria-label="Result of the replay">
      <p class={`result-lead ${tone === "bad" ? "bad-words" : ""}`}>
        <Icon tone={tone} /> {words}
      </p>
      {first !== null && first !== undefined && <Divergence first={first} thread={report.thread} />}
      {isOther && <p class="notice">Some supersteps were recorded with another wiring of the graph. That alone is not a difference.</p>}
      {unverified.length > 0 && (
        <Block title="Not verified">
          <ul class="plain-list">
            {unverified.map(({ step, node, why }, at) => (
              <li key={at}>
                Step {step}, <span class="node">{shownNode(node)}</span>: {unverifiedWords(why)}
              </li>
            ))}
          </ul>
        </Block>
      )}
    </section>
  );
}

function Divergence({ first, thread }: { readonly first: NonNullable<Replay["first"]>; readonly thread: string }): JSX.Element {
  const { checkpoint, difference } = first;
  const parent = useDocument(requests.branch(checkpoint, 1, 1)).value?.checkpoints[0];
  return (
    <div class="card">
      <div class="card-head">
        <span class="tag bad">first divergence</span>
        <strong>{placeWords({ step: first.step, path: first.path, node: first.node ?? null })}</strong>
        {first.thread !== thread && <ThreadLink thread={first.thread} />}
      </div>
      <div class="card-body">
        <p>{differenceWords(difference)}</p>
        {difference.kind === "value" && (
          <>
            <p class="was">recorded → now</p>
            <Change from={difference.recorded ?? null} to={difference.replayed ?? null} />
          </>
        )}
      </div>
      <div class="card-actions">
        <ViewLink checkpoint={checkpoint} pane="diff" isButton>
          Show step {first.step}
        </ViewLink>
        {parent !== undefined && (
          <ViewLink checkpoint={parent.id} pane="run" isButton title="Select the step before, to run on from there with the present code">
            Rerun from step {parent.step}
          </ViewLink>
        )}
      </div>
    </div>
  );
}

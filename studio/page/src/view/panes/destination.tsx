// The destination of a fork or an edit: a branch of its thread, or a new thread.

import type { JSX } from "preact";
import type { DestinationDraft } from "../../model/drafts";
import { resumeCommand } from "../../model/commands";
import { nameProblem } from "../../model/storing";
import { shown } from "../../model/words";
import { useStudio } from "../context";
import { Choice, Commands, FOCUSED, LineField } from "../forms";

const FIRST: DestinationDraft = { isThread: false, name: "" };

export interface Destination {
  readonly draft: DestinationDraft;
  readonly put: (draft: DestinationDraft) => void;
  /** The name of the new thread; `null` for a branch. */
  readonly name: string | null;
  /** The error of the name. */
  readonly problem: string | null;
}

/** The destination that was chosen for a checkpoint. */
export function useDestination(verb: "fork" | "edit", checkpoint: string): Destination {
  const kept = useStudio().drafts.destinations.of(`${verb} ${checkpoint}`);
  const draft = kept.value ?? FIRST;
  const name = draft.isThread ? draft.name.trim() : null;
  return { draft, put: (next) => (kept.value = next), name, problem: name === null ? null : nameProblem(name) };
}

interface Props {
  readonly destination: Destination;
  readonly thread: string;
  /** `true` if an edit goes on top of the latest checkpoint, without a branch. */
  readonly isOnTop: boolean;
  /** `true` once errors are to be shown. */
  readonly isChecked: boolean;
  readonly focused?: boolean;
}

export function DestinationFields({ destination, thread, isOnTop, isChecked, focused = false }: Props): JSX.Element {
  const { draft, put, problem } = destination;
  return (
    <div class="destination">
      <Choice
        label="Where it is stored"
        options={[
          { value: "branch", words: isOnTop ? `As the next step of ${shown(thread)}` : `On a new branch of ${shown(thread)}` },
          { value: "thread", words: "On a new thread" },
        ]}
        value={draft.isThread ? "thread" : "branch"}
        onValue={(value) => put({ ...draft, isThread: value === "thread" })}
      />
      <LineField
        label="Name of the new thread"
        problem={isChecked ? problem : null}
        class="field"
        value={draft.name}
        placeholder="monday"
        {...(focused && FOCUSED)}
        // A name that is typed is meant.
        onValue={(name) => put({ isThread: name !== "" || draft.isThread, name })}
      />
    </div>
  );
}

/** The commands for a page that only reads: the verb, and one that continues its thread. */
export function DestinationCommands({ command, thread }: { readonly command: string; readonly thread: string }): JSX.Element {
  return (
    <Commands commands={[command, resumeCommand(thread)]}>
      This page only reads the file. These commands do it; the second one needs the program that wrote the file, in place of PROGRAM:
    </Commands>
  );
}

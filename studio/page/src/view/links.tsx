// Links within the page.

import type { ComponentChildren, JSX } from "preact";
import { type PaneName, type Parameter, type View, atThread, fragmentOf, withParameters } from "../model/address";
import { shortId, shown } from "../model/words";
import { useStudio } from "./context";

interface Target {
  readonly checkpoint?: string;
  readonly pane?: PaneName;
  readonly parameters?: { readonly [P in Parameter]?: string | null };
}

interface LinkProps extends Target {
  readonly children: ComponentChildren;
  readonly title?: string;
  /** `true` for a link that looks like a button. */
  readonly isButton?: boolean;
}

/** A link to another view of the same thread. */
export function ViewLink({ children, title, isButton = false, ...target }: LinkProps): JSX.Element {
  const studio = useStudio();
  return (
    <a class={isButton ? "button" : undefined} href={fragmentOf(targetOf(studio.view.value, target))} title={title}>
      {children}
    </a>
  );
}

function targetOf(view: View, { checkpoint = view.checkpoint ?? undefined, pane = view.pane, parameters = {} }: Target): View {
  return { ...withParameters(view, parameters), checkpoint: checkpoint ?? null, pane, front: "detail" };
}

/** A link to a checkpoint, which has its step or its short id as text. */
export function CheckpointLink({ checkpoint, step, pane }: { readonly checkpoint: string; readonly step?: number; readonly pane?: PaneName }): JSX.Element {
  return (
    <ViewLink checkpoint={checkpoint} title={shown(checkpoint)} {...(pane !== undefined && { pane })}>
      {step === undefined ? <span class="mono">{shortId(checkpoint)}</span> : `step ${step}`}
    </ViewLink>
  );
}

/** A link to the thread of a subgraph. */
export function ThreadLink({ thread }: { readonly thread: string }): JSX.Element {
  const studio = useStudio();
  return <a href={fragmentOf({ ...atThread(studio.view.value, thread), front: "timeline" })}>{shown(thread)}</a>;
}

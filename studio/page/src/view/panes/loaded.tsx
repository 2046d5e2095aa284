// Panes of the second file of the page.

import { signal } from "@preact/signals";
import { type JSX, h } from "preact";
import { Sentence } from "../parts";
import type { PANES } from "./later";

type Later = typeof PANES;

const file = signal<Later | "loading" | "failed" | null>(null);

/** Loads the second file, unless it is here. */
export async function loadLater(): Promise<void> {
  if (file.peek() !== null && file.peek() !== "failed") return;
  file.value = "loading";
  try {
    file.value = (await import("./later")).PANES;
  } catch {
    file.value = "failed";
  }
}

/** Returns a component that shows a pane of the second file once that is loaded. */
export function later<P extends object>(of: (panes: Later) => (props: P) => JSX.Element): (props: P) => JSX.Element {
  return (props) => {
    const panes = file.value;
    const isHere = panes !== "loading" && panes !== "failed" && panes !== null;
    if (isHere) return h(of(panes), props);
    if (panes !== "failed") return <Sentence>Loading …</Sentence>;
    return (
      <>
        <Sentence>This part of the page could not be loaded. Is the program still running?</Sentence>
        <button type="button" class="button after-sentence" data-focus="" onClick={() => void loadLater()}>
          Try again
        </button>
      </>
    );
  };
}

// Panes of the second file of the page.

import { signal } from "@preact/signals";
import { type JSX, h } from "preact";
import { Sentence } from "../parts";
import type { PANES } from "./later";

type Later = typeof PANES;

const file = signal<Later | "loading" | "failed">("loading");

/** Loads the second file. */
export async function loadLater(): Promise<void> {
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
    if (panes === "loading") return <Sentence>Loading …</Sentence>;
    if (panes !== "failed") return h(of(panes), props);
    // A browser does not ask again for a module that it could not load.
    return (
      <>
        <Sentence>This part of the page could not be loaded. Is the program still running?</Sentence>
        <button type="button" class="button after-sentence" data-focus="" onClick={() => location.reload()}>
          Reload
        </button>
      </>
    );
  };
}

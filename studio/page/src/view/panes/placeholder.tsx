// Stands in for a pane until it is built.

import type { JSX } from "preact";
import { Sentence } from "../parts";

export function placeholder(what: string): () => JSX.Element {
  return () => <Sentence>{what} is not built yet.</Sentence>;
}

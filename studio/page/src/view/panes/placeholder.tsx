// Stands in for a pane until it is built.

import type { JSX } from "preact";
import { Sentence } from "../parts";
import type { PaneProps } from "./registry";

export function placeholder(what: string): (props: PaneProps) => JSX.Element {
  return () => <Sentence>{what} is not built yet.</Sentence>;
}

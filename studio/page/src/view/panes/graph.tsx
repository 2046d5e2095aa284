// The graph of the thread.

import type { JSX } from "preact";
import * as requests from "../../wire/requests";
import { useDocument } from "../context";
import { FailureSentence, Sentence } from "../parts";
import type { PaneProps } from "./registry";

export function GraphPane({ thread }: PaneProps): JSX.Element {
  const { value, failure } = useDocument(requests.graph(thread));
  if (failure !== null) return <FailureSentence failure={failure} />;
  if (value === null) return <Sentence>Reading the graph …</Sentence>;
  return <p>{value.name}</p>;
}

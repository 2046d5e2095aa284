// Edits as a node: as if the node had run and written the values.

import type { JSX } from "preact";
import { type NodeCases, nodesFor } from "../../model/cases";
import type { NodeDraft } from "../../model/drafts";
import { shown, shownNode } from "../../model/words";
import * as requests from "../../wire/requests";
import { useDocument, useStudio } from "../context";
import { Labelled, Select } from "../forms";

export interface AsNode {
  /** The node, and the case that it chooses; `null` for an edit that no node made. */
  readonly as: { readonly node: string; readonly case: string | undefined } | null;
  readonly put: (draft: NodeDraft | null) => void;
}

export function useAsNode(checkpoint: string): AsNode {
  const kept = useStudio().drafts.nodes.of(checkpoint);
  const draft = kept.value;
  return {
    as: draft === null ? null : { node: draft.node, case: draft.case || undefined },
    put: (next) => (kept.value = next),
  };
}

interface Props {
  readonly thread: string;
  readonly choice: AsNode;
  readonly next: readonly string[];
}

export function AsNodeFields({ thread, choice, next }: Props): JSX.Element {
  const { as, put } = choice;
  const graph = useDocument(requests.graph(thread)).value;
  const nodes: readonly NodeCases[] = graph === null ? [] : nodesFor(graph, next);
  const cases = nodes.find(({ node }) => node === as?.node)?.cases ?? [];
  const choose = (node: string) => {
    const [first = ""] = nodes.find((each) => each.node === node)?.cases ?? [];
    put(node === "" ? null : { node, case: first });
  };
  return (
    <details class="as-node" open={as !== null}>
      <summary>As if a node had written it</summary>
      <div class="fields-row">
        <Labelled label="Node" description="The nodes that follow it are next">
          {(attributes) => (
            <Select
              attributes={attributes}
              value={as?.node ?? ""}
              options={[["", "no node: the same ones stay next"], ...nodes.map(({ node }) => [node, `${shownNode(node)}${next.includes(node) ? " (next)" : ""}`] as const)]}
              onValue={choose}
            />
          )}
        </Labelled>
        {as !== null && cases.length > 0 && (
          <Labelled label="Case that it chooses">
            {(attributes) => <Select attributes={attributes} value={as.case ?? ""} options={cases.map((name) => [name, shown(name)])} onValue={(chosen) => put({ node: as.node, case: chosen })} />}
          </Labelled>
        )}
      </div>
    </details>
  );
}

// The selected checkpoint, as commands and requests name it.

import { useEffect, useRef } from "preact/hooks";
import type { Row } from "../../wire/documents";
import * as requests from "../../wire/requests";
import { useDocument, useStudio } from "../context";

export interface Address {
  /** The id of the checkpoint. */
  readonly id: string;
  readonly step: number;
  /** For requests: names this checkpoint on the selected thread at any time. */
  readonly exact: string;
  /** For commands: `rust`, `rust@3`, or the id. */
  readonly readable: string;
  /** The thread to which a fork or an edit of this address belongs. */
  readonly thread: string;
  /** `true` for the latest checkpoint of the thread. */
  readonly isHead: boolean;
}

/** Selects the step that is shown, instead of following the latest one: a step that follows does not replace what is typed. */
export function useFixed(row: Row | null): void {
  const studio = useStudio();
  const { checkpoint } = studio.view.value;
  useEffect(() => {
    if (checkpoint === null && row !== null) studio.select(row.id, "replace");
  }, [checkpoint, row]);
}

/** Returns the address of the selected checkpoint; `null` until its row has been read. */
export function useAddress(thread: string, row: Row | null): Address | null {
  const last = useRef<Address | null>(null);
  const address = useFound(thread, row);
  if (address !== null) last.current = address;
  // It is looked up again when the step is no longer the latest one; a form stays meanwhile.
  return address ?? (last.current?.id === row?.id ? last.current : null);
}

function useFound(thread: string, row: Row | null): Address | null {
  const named = row === null || row.step < 0 ? null : `${thread}@${row.step}`;
  const isHead = row !== null && (row.head_of ?? []).includes(thread);
  // The past that threads share belongs to the first one; with the name of the other thread the address is on that.
  const { value, failure, isOld } = useDocument(isHead || named === null ? null : requests.branch(named, 0, 1));
  if (row === null) return null;
  const base = { id: row.id, step: row.step, isHead };
  const owner = row.name ?? row.thread;
  // With its id, a step that follows meanwhile is not edited in its place.
  if (isHead) return { ...base, exact: owner === thread ? row.id : thread, readable: thread, thread };
  if (value === null && failure === null && named !== null) return null;
  const isNamed = !isOld && named !== null && value?.checkpoints[0]?.id === row.id;
  const isOwn = owner === thread;
  return {
    ...base,
    exact: isNamed && !isOwn ? named : row.id,
    readable: isNamed ? named : row.id,
    thread: isNamed || isOwn ? thread : owner,
  };
}

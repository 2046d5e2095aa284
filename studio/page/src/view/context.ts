// What all components share: the store and the surroundings, and hooks for documents.

import { createContext } from "preact";
import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { act, type Surroundings } from "../model/actions";
import { type Held, NOTHING } from "../model/documents";
import type { Action } from "../model/keys";
import type { Studio } from "../model/studio";
import { type Get, queryText } from "../wire/client";
import type { Row } from "../wire/documents";

export interface Shared {
  readonly studio: Studio;
  readonly page: Surroundings;
}

export const SharedContext = createContext<Shared | null>(null);

export function useShared(): Shared {
  const shared = useContext(SharedContext);
  if (shared === null) throw new Error("the component is outside the studio");
  return shared;
}

export function useStudio(): Studio {
  return useShared().studio;
}

/** Returns a function that does what the key of an action does. */
export function useAct(): (action: Action) => void {
  const { studio, page } = useShared();
  return (action) => act(studio, action, page);
}

/** The time for which the document of the former step stays until the next one is here, against flicker. */
const HELD_MS = 150;

/**
 * Reads a document while the component is shown, and again whenever it changes. `null` reads nothing.
 * When the request changes, the former document stays for a moment; `isOld` says so.
 */
export function useDocument<T>(request: Get<T> | null): Held<T> & { readonly isOld: boolean } {
  const { documents } = useStudio();
  const name = request === null ? null : request.route + queryText(request.query);
  const [current, setCurrent] = useState<{ name: string | null; held: Held<T> }>({ name: null, held: NOTHING });
  const latest = useRef(name);
  latest.current = name;

  useEffect(() => {
    if (request === null) return;
    const { held, release } = documents.watch(request);
    let late: ReturnType<typeof setTimeout> | null = setTimeout(() => {
      late = null;
      setCurrent({ name, held: held.peek() });
    }, HELD_MS);
    const stop = held.subscribe((value) => {
      const isHere = value.value !== null || value.failure !== null;
      if (!isHere && late !== null) return;
      if (late !== null) clearTimeout(late);
      late = null;
      setCurrent({ name, held: value });
    });
    return () => {
      if (late !== null) clearTimeout(late);
      stop();
      release();
    };
  }, [name, documents]);

  if (name === null) return { ...NOTHING, isOld: false };
  if (current.name === name) return { ...current.held, isOld: false };
  const here = request === null ? NOTHING : documents.peek(request);
  if (here.value !== null) return { ...here, isOld: false };
  return { ...current.held, loading: true, isOld: current.name !== null };
}

/** Returns the rows of the timeline that have been read. */
export function useTimelineRows(): readonly Row[] {
  const rows = useStudio().timeline.value;
  const version = rows?.version.value;
  return useMemo(() => (rows?.all() ?? []).map(([, row]) => row), [rows, version]);
}

/** Returns what is typed in a field: it begins with a value, and follows it. */
export function useTyped<T>(value: T): [T, (typed: T) => void] {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  return [typed, setTyped];
}

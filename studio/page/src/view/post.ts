// Requests that write, from a component.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Failure, Post } from "../wire/client";
import { useStudio } from "./context";

/** A request that writes: before it, on the way, or refused. */
export interface Sending {
  readonly isSent: boolean;
  readonly failure: Failure | null;
}

const IDLE: Sending = { isSent: false, failure: null };

/** Returns the state of the latest request, and a function that sends one; the result is `null` if it failed. */
export function usePost(): Sending & { send<T>(post: Post<T>): Promise<T | null> } {
  const { client } = useStudio();
  const [state, setState] = useState(IDLE);
  const isSent = useRef(false);
  const isShown = useRef(true);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);

  const put = (next: Sending) => {
    if (isShown.current) setState(next);
  };
  return {
    ...state,
    send: async (post) => {
      // A button that is pressed twice sends once.
      if (isSent.current) return null;
      isSent.current = true;
      put({ isSent: true, failure: null });
      const result = await client.post(post);
      isSent.current = false;
      put({ isSent: false, failure: result.ok ? null : result.failure });
      return result.ok ? result.value : null;
    },
  };
}

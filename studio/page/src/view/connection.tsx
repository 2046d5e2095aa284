// Says that the connection is lost, or that the file is gone.

import type { JSX } from "preact";
import { sentence, shown, time } from "../model/words";
import { useStudio } from "./context";

export function ConnectionBar(): JSX.Element | null {
  const studio = useStudio();
  const connection = studio.connection.value;
  if (connection.state === "lost") {
    return (
      <div class="bar bad" role="alert">
        <span>
          The program has not answered since {time(connection.since.toISOString(), new Date())}. You see what was read until then. The page
          tries again by itself.
        </span>
        <button type="button" class="button" onClick={() => studio.reconnect()}>
          Try now
        </button>
      </div>
    );
  }
  if (connection.state === "gone" || connection.state === "refused") {
    return (
      <div class="bar bad" role="alert">
        <span>{sentence(shown(connection.text))} You see what was read before.</span>
        <button type="button" class="button" onClick={() => location.reload()}>
          Reload
        </button>
      </div>
    );
  }
  return null;
}

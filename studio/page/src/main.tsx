// Starts the page.

import { render } from "preact";
import "./style/page.css";
import { type Surroundings, act } from "./model/actions";
import { fragmentOf, tokenOf, viewOf } from "./model/address";
import { actionOf } from "./model/keys";
import { Studio } from "./model/studio";
import { SharedContext } from "./view/context";
import { Shell } from "./view/shell";
import { preparedTheme, switchTheme } from "./view/theme";
import { isSmall } from "./view/virtual";
import { Client } from "./wire/client";
import { clock } from "./wire/events";

/** The token is kept for the tab, so that a reload works, and removed from the address. */
const TOKEN = "studio-token";

/** Set if the keys of the page are switched off. */
const KEYS_OFF = "studio-keys-off";

function takeToken(otherwise: string): string | null {
  const { token, rest } = tokenOf(location.hash);
  if (token === null) return sessionStorage.getItem(TOKEN);
  sessionStorage.setItem(TOKEN, token);
  history.replaceState(null, "", rest || otherwise);
  return token;
}

function isField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button", "submit"].includes(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}

/** The frames for which a pane may read what it needs, until its place for the focus must be there. */
const FRAMES = 60;

/** Focuses the place that the pane names, once it is drawn; instead of a field for text the pane, unless `intoField`. */
function focusPane(intoField: boolean, frames: number): void {
  const before = document.activeElement;
  requestAnimationFrame(() => {
    const place = document.querySelector<HTMLElement>("#pane [data-focus]");
    const pane = document.getElementById("pane");
    // The focus may have been moved meanwhile.
    if (document.activeElement !== before && document.activeElement !== document.body) return;
    (isField(place) && !intoField ? pane : (place ?? pane))?.focus();
    if (place === null && frames > 1) focusPane(intoField, frames - 1);
  });
}

function start(): void {
  preparedTheme();
  const client = new Client("/studio/api", takeToken(fragmentOf(viewOf(""))), (input, init) => fetch(input, init));
  const studio = new Studio(
    client,
    {
      fragment: () => location.hash,
      push: (fragment) => history.pushState(null, "", fragment),
      replace: (fragment) => history.replaceState(null, "", fragment),
    },
    clock,
  );
  studio.keys.value = localStorage.getItem(KEYS_OFF) === null;
  const page: Surroundings = {
    switchTheme,
    useKeys: (on) => {
      studio.keys.value = on;
      if (on) localStorage.removeItem(KEYS_OFF);
      else localStorage.setItem(KEYS_OFF, "true");
    },
    copy: async (text) => {
      try {
        await navigator.clipboard.writeText(text);
        return true;
      } catch {
        return false;
      }
    },
    address: (fragment) => new URL(fragment, location.href).href,
    leaveField: () => {
      if (isField(document.activeElement) && document.activeElement instanceof HTMLElement) document.activeElement.blur();
    },
    isInPane: () => document.activeElement?.closest("#pane") != null,
    focusPane: (intoField) => focusPane(intoField, FRAMES),
    openInbox: () => {
      const inbox = document.getElementById("inbox");
      if (inbox === null) return studio.announcer.say("No question is open.");
      if (inbox.parentElement instanceof HTMLDetailsElement) inbox.parentElement.open = true;
      inbox.focus();
    },
    isSmall,
  };
  const follow = () => {
    if (tokenOf(location.hash).token !== null) {
      // The program was started again, and its new address opened in this tab.
      client.token = takeToken(fragmentOf(studio.view.peek()));
      studio.reconnect();
    }
    studio.followHistory();
  };
  addEventListener("popstate", follow);
  addEventListener("hashchange", follow);
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented) return;
    const action = actionOf(event, studio.keys.peek() && !isField(event.target));
    if (action === null) return;
    event.preventDefault();
    act(studio, action, page);
  });
  const root = document.getElementById("studio");
  if (root === null) throw new Error("the page has no element for the studio");
  root.replaceChildren();
  render(
    <SharedContext.Provider value={{ studio, page }}>
      <Shell />
    </SharedContext.Provider>,
    root,
  );
  studio.start();
}

start();

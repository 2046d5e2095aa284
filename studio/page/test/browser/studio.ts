// Opens the page of a studio in a real browser.
//
// `CHROMIUM` is the path of the browser, if it is not Debian's. `PAGE` is a folder whose files are served instead of
// those in the program, to try a new build.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, type TestContext } from "node:test";
import { type Browser, type BrowserContextOptions, type Locator, type Page, chromium } from "playwright-core";
import { type Server, afterwards, run } from "../served";

let browser: Promise<Browser> | null = null;
after(async () => (await browser)?.close());

interface TabOptions extends BrowserContextOptions {
  /** Called before the page is loaded. */
  readonly prepare?: (page: Page) => Promise<void>;
}

/** Runs in a page before its code: each event `flood` of the window is taken for the program's, as if the file had changed. */
export function flood(): void {
  const fetched = window.fetch;
  window.fetch = async (input, init) => {
    const response = await fetched(input, init);
    if (!response.url.endsWith("/events") || response.body === null) return response;
    const reader = response.body.getReader();
    const body = new ReadableStream<Uint8Array>({
      start: (stream) => {
        addEventListener("flood", () => stream.enqueue(new TextEncoder().encode("event: changed\ndata: {}\n\n")));
        const read = async (): Promise<void> => {
          const { done, value } = await reader.read();
          if (done) return stream.close();
          stream.enqueue(value);
          return read();
        };
        void read();
      },
    });
    return new Response(body, response);
  };
}

/** A tab with the page, and what must not happen in it. */
export class Tab {
  /** Requests to other origins, reports of the content policy, dialogs, and errors of scripts. */
  readonly forbidden: string[] = [];
  /** The requests that were sent to the API, without those for events. */
  readonly asked: string[] = [];

  private constructor(
    readonly page: Page,
    readonly server: Server,
  ) {}

  static async open(t: TestContext, server: Server, fragment: string, { prepare, ...options }: TabOptions = {}): Promise<Tab> {
    browser ??= chromium.launch({ executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
    const context = await (await browser).newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce", ...options });
    afterwards(t, async () => {
      await context.unrouteAll({ behavior: "ignoreErrors" });
      await context.close();
    });
    context.setDefaultTimeout(10_000);
    const tab = new Tab(await context.newPage(), server);
    await tab.guard();
    await prepare?.(tab.page);
    // Without a fragment, the address is not the one that was printed.
    await tab.page.goto(fragment === "" ? `${server.origin}/studio` : `${server.address}&${fragment.slice(1)}`);
    return tab;
  }

  private async guard(): Promise<void> {
    const { page, forbidden, server } = this;
    page.on("request", (request) => {
      const url = new URL(request.url());
      if (url.protocol !== "data:" && url.origin !== server.origin) forbidden.push(`request to ${url.origin}`);
      if (url.pathname.startsWith("/studio/api/") && !url.pathname.endsWith("/events")) this.asked.push(url.pathname.slice(12) + url.search);
    });
    page.on("pageerror", (error) => forbidden.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => {
      forbidden.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("console", (message) => {
      if (/content security policy/i.test(message.text())) forbidden.push(message.text());
    });
    const folder = process.env["PAGE"];
    if (folder === undefined) return;
    await page.route(/\/studio(\/[a-z]+\.(js|css))?$/, async (route) => {
      const response = await route.fetch();
      const name = new URL(route.request().url()).pathname.split("/").at(2) ?? "index.html";
      const headers = { ...response.headers(), "content-type": { js: "text/javascript", css: "text/css" }[name.split(".").at(-1) ?? ""] ?? "text/html" };
      await route.fulfill({ status: 200, headers, body: readFileSync(join(folder, name)) });
    });
  }

  /** Goes to another view, as a link does. */
  async go(fragment: string): Promise<void> {
    await this.page.evaluate((to) => {
      location.hash = to;
    }, fragment);
  }

  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  async type(text: string): Promise<void> {
    await this.page.keyboard.type(text);
  }

  /** Presses Tab until an element with this name has the focus. */
  async tabTo(name: string | RegExp): Promise<void> {
    for (let presses = 0; presses < 200; presses += 1) {
      if (matches(name, await this.focus())) return;
      await this.press("Tab");
    }
    throw new Error(`Tab does not lead to ${String(name)}`);
  }

  /** Resolves once an element with this name has the focus. */
  async focused(name: string | RegExp): Promise<void> {
    await this.until(async () => matches(name, await this.focus()), `the focus at ${String(name)}`);
  }

  /** The accessible name of the element with the focus. */
  async focus(): Promise<string> {
    const snapshot = await this.page.locator(":focus").or(this.page.locator("body")).last().ariaSnapshot();
    return /^- \S+ "((?:[^"\\]|\\.)*)"/.exec(snapshot)?.[1] ?? "";
  }

  /** Resolves once a condition holds, which is looked at after each frame. */
  async until(holds: () => Promise<boolean>, what: string): Promise<void> {
    const deadline = Date.now() + 10_000;
    while (!(await holds())) {
      assert.ok(Date.now() < deadline, `waited in vain for ${what}`);
      await this.page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    }
  }

  async isShown(text: string | RegExp): Promise<boolean> {
    return (await this.page.getByText(text).filter({ visible: true }).count()) > 0;
  }

  /** Returns the first text of the pane that matches and is not the former one. */
  async next(pattern: RegExp, former: string): Promise<string> {
    let found: string | undefined;
    const look = async () => {
      found = pattern.exec(await this.page.locator("#pane").innerText())?.[0];
      return found !== undefined && found !== former;
    };
    await this.until(look, String(pattern));
    return found ?? "";
  }

  /** Runs a command that the page shows. */
  async shell(command: string): Promise<void> {
    await this.page.getByText(command, { exact: true }).first().waitFor();
    await run("bash", ["-c", `superstep() { "$SUPERSTEP" "$@"; }; ${command}`]);
  }

  /** Resolves once an element with this role and name is visible. */
  async sees(role: Role, name: string | RegExp): Promise<Locator> {
    const found = this.page.getByRole(role, { name }).first();
    await found.waitFor();
    return found;
  }

  /** Resolves once a text is visible. */
  async reads(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).filter({ visible: true }).first().waitFor();
  }

  /** Resolves once nothing is read any more, and what was read is drawn. */
  async settled(): Promise<void> {
    const { page } = this;
    const drawn = () => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
    await drawn();
    const reading = () => page.evaluate(() => /(?:Reading|Checking|Comparing|Searching|Writing)[^.…]* …/.exec(document.querySelector("main")?.textContent ?? "Reading …")?.[0]);
    await this.until(async () => (await reading()) === undefined, `what is read at ${page.url()}`);
    await drawn();
  }

  /** The bytes that scripts use, after garbage was collected. */
  async heap(): Promise<number> {
    const session = await this.page.context().newCDPSession(this.page);
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    await session.detach();
    return usedSize;
  }

  /** Fails if anything happened that must not. */
  check(): void {
    assert.deepEqual(this.forbidden, []);
  }
}

function matches(wanted: string | RegExp, text: string): boolean {
  return typeof wanted === "string" ? wanted === text : wanted.test(text);
}

export type Role = Parameters<Page["getByRole"]>[0];

/** Names the destination of a fork of `visit`: the new thread `monday`. */
export async function typeMonday(tab: Tab): Promise<void> {
  await tab.tabTo("On a new branch of visit");
  await tab.press("ArrowDown");
  await tab.tabTo("Name of the new thread");
  await tab.type("monday");
}

/** Fills in an edit of `keep`, which mends the answer of `opening_hours`. */
export async function typeMend(tab: Tab): Promise<void> {
  await tab.focused("Path");
  await tab.type("keep");
  await tab.tabTo("JSON");
  await tab.press("Control+a");
  await tab.type('["except Mondays"]');
  await tab.reads("1 difference");
}

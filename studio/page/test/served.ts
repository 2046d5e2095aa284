// Runs programs for tests: the command line, and the studio of a file or of a program.
//
// `SUPERSTEP` is the path of a program `superstep` with the feature `studio`, and `RANDOM_FILES` that of the built
// example `random_files` of superstep-server, if it is elsewhere.

import assert from "node:assert/strict";
import { type ChildProcessByStdio, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import type { Readable } from "node:stream";
import { promisify } from "node:util";

export const program = process.env["SUPERSTEP"] ?? "";
assert.ok(existsSync(program), "set SUPERSTEP to the path of a program superstep with the feature studio");

export const run = promisify(execFile);

/** Runs a verb of the command line, and returns what it printed. */
export async function superstep(...given: readonly string[]): Promise<string> {
  const { stdout } = await run(program, given, { maxBuffer: 1 << 26 });
  return stdout;
}

const cleanups = new WeakMap<TestContext, (() => Promise<unknown>)[]>();

/** Calls a function after a test, and what was given first last: a tab is closed before its server is stopped. */
export function afterwards(t: TestContext, run: () => Promise<unknown>): void {
  const runs = cleanups.get(t) ?? [];
  if (runs.length === 0) {
    cleanups.set(t, runs);
    t.after(async () => {
      for (const each of runs.reverse()) await each();
    });
  }
  runs.push(run);
}

/** Exports of threads, which `npm run browser` reads. */
const FILES = join(process.env["STUDIO_FILES"] ?? "", "/");

/** Makes a file of these exported threads, in a folder that is removed after the test. */
export async function fileOf(t: TestContext, ...threads: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "studio-"));
  afterwards(t, () => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "museum.db");
  for (const thread of threads) await superstep("import", file, `${FILES}${thread}.json`);
  return file;
}

export interface Server {
  readonly origin: string;
  /** The address of the page, with its token. */
  readonly address: string;
  stop(): Promise<void>;
}

/** Starts the studio of a file with `superstep`. */
export function serverOf(t: TestContext, file: string, ...options: readonly string[]): Promise<Server> {
  return served(t, program, ["studio", file, ...(options.includes("--port") ? [] : ["--port", "0"]), ...options], {});
}

/** The folder with the built examples. */
export const EXAMPLES = process.env["SUPERSTEP_EXAMPLES"] ?? join(program, "..");

/** Runs an example in a folder of its own, and returns the checkpoint files that it left. */
export async function filesOf(t: TestContext, name: string, ...given: readonly string[]): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), "studio-"));
  afterwards(t, () => rm(folder, { recursive: true, force: true }));
  const env = { ...process.env, TMPDIR: folder, HOME: folder, XDG_DATA_HOME: folder };
  const example = run(join(EXAMPLES, name), given, { cwd: folder, env, timeout: 60_000 });
  example.child.stdin?.end();
  await example;
  const files = (await readdir(folder, { recursive: true })).filter((path) => path.endsWith(".db")).map((path) => join(folder, path));
  const isRead = await Promise.all(files.map((file) => superstep("threads", file).then(() => true, () => false)));
  return files.filter((_, at) => isRead[at] === true);
}

/** The program that writes files of random runs, which have secrets. */
const RANDOM_FILES = process.env["RANDOM_FILES"] ?? join(EXAMPLES, "examples/random_files");

/** Writes the files `SEED.db` of so many random runs into a folder that is removed after the test. */
export function randomFiles(t: TestContext, count: number, firstSeed: number): Promise<string> {
  return generated(t, String(count), String(firstSeed));
}

/** Writes the file `large.db`, of a long run in a large graph. */
export function largeFile(t: TestContext): Promise<string> {
  return generated(t, "large");
}

async function generated(t: TestContext, ...given: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "studio-"));
  afterwards(t, () => rm(folder, { recursive: true, force: true }));
  await run(RANDOM_FILES, [folder, ...given]);
  return folder;
}

/** Starts the studio of an example. Its file is in the folder; options come before its verb. */
export function programOf(t: TestContext, name: string, folder: string, ...options: readonly string[]): Promise<Server> {
  return served(t, join(EXAMPLES, name), [...options, "debug", "studio", "--port", "0"], { cwd: folder, env: { ...process.env, TMPDIR: folder } });
}

/** Starts the studio of the example `twins` of superstep-server, whose graphs ask, fail and take long. */
export async function twinsOf(t: TestContext, folder: string): Promise<Server> {
  const child = spawn(join(EXAMPLES, "examples/twins"), ["--file", join(folder, "twins.db"), "--port", "0", "--studio"], { stdio: ["ignore", "pipe", "inherit"] });
  return printed(t, child, (line) => /^The studio is at (.*)$/.exec(line)?.[1] ?? null);
}

async function served(t: TestContext, command: string, given: readonly string[], options: { cwd?: string; env?: NodeJS.ProcessEnv }): Promise<Server> {
  const child = spawn(command, [...given, "--no-open", "--json"], { ...options, stdio: ["ignore", "pipe", "inherit"] });
  return printed(t, child, (line) => String(JSON.parse(line).address));
}

/** Returns the server whose address is in a line that a program prints. */
async function printed(t: TestContext, child: ChildProcessByStdio<null, Readable, null>, addressOf: (line: string) => string | null): Promise<Server> {
  const ended = once(child, "exit");
  const stop = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  afterwards(t, stop);
  for await (const line of createInterface({ input: child.stdout })) {
    const address = addressOf(line);
    if (address !== null) return { address, origin: new URL(address).origin, stop };
  }
  throw new Error(`${child.spawnargs.join(" ")} ended before it was ready`);
}

// Command lines to copy, quoted for a shell.

import { type Json, print } from "../wire/json";
import type { Assignment } from "../wire/requests";
import { shown, shownJson } from "./words";

/** Words that need no quotes. A shell would read a tilde behind an equals sign. */
const PLAIN = /^[A-Za-z0-9_@%+:,./-]+(?:[A-Za-z0-9_@%+:,./=-]*|[A-Za-z0-9_@%+:,./~-]*)$/;

/** Returns a word as a shell reads it back. Invisible characters are written as escapes. */
export function quoted(word: string): string {
  if (PLAIN.test(word)) return word;
  if (shown(word) === word && !word.includes("\n")) return `'${word.replace(/'/g, `'\\''`)}'`;
  const escaped = [...word].map((letter) => {
    if (letter === "'" || letter === "\\") return `\\${letter}`;
    if (letter === "\n") return "\\n";
    return shown(letter) === letter ? letter : escapeOf(letter);
  });
  return `$'${escaped.join("")}'`;
}

function escapeOf(letter: string): string {
  const code = letter.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** Joins the words of a command. Names that begin with a dash stand behind `--`. */
function line(verb: readonly string[], names: readonly string[], options: readonly string[] = []): string {
  const isDashed = names.some((name) => name.startsWith("-"));
  const words = isDashed ? [...verb, ...options, "--", ...names] : [...verb, ...names, ...options];
  return words.map(quoted).join(" ");
}

function flag(name: string, isSet: boolean): readonly string[] {
  return isSet ? [name] : [];
}

/** Returns an option with its value, which may begin with a dash. */
function option(name: string, value: string | null | undefined): readonly string[] {
  if (value === null || value === undefined) return [];
  return value.startsWith("-") ? [`${name}=${value}`] : [name, value];
}

/** The values of an assignment, as one line of JSON without invisible characters. */
function assigned({ path, value }: Assignment): string {
  return `${path}=${shownJson(print(value))}`;
}

export function forkCommand(file: string, checkpoint: string, name: string | null): string {
  return line(["superstep", "fork", file], [checkpoint], option("--name", name));
}

interface EditOptions {
  readonly name: string | null;
  readonly as?: string | null;
  readonly case?: string | null;
  /** `true` to change a field to another kind of JSON. */
  readonly force?: boolean;
}

export function editCommand(file: string, checkpoint: string, set: readonly Assignment[], { name, as, case: chosen, force = false }: EditOptions): string {
  const sets = set.flatMap((each) => option("--set", assigned(each)));
  const options = [...sets, ...option("--as", as), ...option("--case", chosen), ...option("--name", name), ...flag("--force", force)];
  return line(["superstep", "edit", file], [checkpoint], options);
}

export function nameCommand(file: string, checkpoint: string, name: string): string {
  return line(["superstep", "name", file], [checkpoint, name]);
}

export function exportCommand(file: string, thread: string, redact: boolean): string {
  return line(["superstep", "export", file], [thread], flag("--redact", redact));
}

export function testCommand(file: string, checkpoint: string, step: boolean): string {
  return line(["superstep", "test", file], [checkpoint], flag("--step", step));
}

export function bisectCommand(file: string, checkpoint: string, path: string, is: string, linear: boolean): string {
  return line(["superstep", "bisect", file], [checkpoint], [...option("--path", path), ...option("--is", is), ...flag("--linear", linear)]);
}

/** The beginning of the commands of a program, whose name the file does not have. */
const DEBUGGER = ["PROGRAM", "debug"];

export function resumeCommand(thread: string): string {
  return line([...DEBUGGER, "resume"], [thread]);
}

export function rerunCommand(checkpoint: string): string {
  return line([...DEBUGGER, "rerun"], [checkpoint]);
}

export function runCommand(thread: string, input: Json, graph: string | null): string {
  return line([...DEBUGGER, "run"], [thread, shownJson(print(input))], option("--graph", graph));
}

export function answerCommand(thread: string, answers: readonly { readonly id: string | null; readonly value: Json }[]): string {
  const words = answers.map(({ id, value }) => `${id === null ? "" : `${id}=`}${shownJson(print(value))}`);
  return line([...DEBUGGER, "answer"], [thread, ...words]);
}

export function replayCommand(checkpoint: string, after: string | null): string {
  return line([...DEBUGGER, "replay"], [checkpoint], option("--after", after));
}

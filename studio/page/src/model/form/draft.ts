// What a person has filled in, and its conversion from and to a value.

import { equal } from "../difference";
import { type Json, isObject, kindOf, parse, print } from "../../wire/json";
import type { Bounds, Field } from "./field";

/** The content of a field. It has the shape of its field. */
export type Draft =
  /** The typed letters of a text, a number or JSON. */
  | { readonly is: "typed"; readonly text: string }
  /** The position of the chosen option; `null` before the choice. */
  | { readonly is: "chosen"; readonly at: number | null }
  | { readonly is: "list"; readonly items: readonly Draft[] }
  /** The members that are present. */
  | { readonly is: "object"; readonly members: Members }
  /** `null` if the value is left out. */
  | { readonly is: "optional"; readonly inner: Draft | null }
  | { readonly is: "variant"; readonly at: number | null; readonly inner: Draft | null }
  | { readonly is: "fixed" };

export type Members = ReadonlyMap<string, Draft>;

/** An error at a part of a value. */
export interface Problem {
  /** The path of the part, as the server writes it: `notes[2].text`; empty for the whole value. */
  readonly path: string;
  readonly text: string;
}

export type Filled = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly problems: readonly Problem[] };

/** Returns the path of a member of the value at a path. */
export function memberPath(path: string, name: string): string {
  if (!/^[A-Za-z0-9_]+$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === "" ? name : `${path}.${name}`;
}

export function itemPath(path: string, at: number): string {
  return `${path}[${at}]`;
}

/** Returns the content with which a field begins. */
export function blank(field: Field): Draft {
  const preset = field.preset === undefined ? null : draftOf(field, field.preset);
  return preset ?? empty(field);
}

function empty(field: Field): Draft {
  switch (field.is) {
    case "text":
    case "number":
    case "json":
      return { is: "typed", text: "" };
    case "choice":
      return { is: "chosen", at: null };
    case "list":
      return { is: "list", items: Array.from({ length: Math.min(field.fewest, PREPARED) }, () => blank(field.item())) };
    case "object": {
      const members = new Map<string, Draft>();
      for (const { name, isRequired, field: member } of field.members) if (isRequired) members.set(name, blank(member()));
      return { is: "object", members };
    }
    case "optional":
      return { is: "optional", inner: null };
    case "variants":
      return { is: "variant", at: null, inner: null };
    case "fixed":
      return { is: "fixed" };
  }
}

/** The most items with which a list begins. */
const PREPARED = 8;

/** Returns the content of a field for a value; `null` if the field cannot show it. */
export function draftOf(field: Field, value: Json): Draft | null {
  switch (field.is) {
    case "text":
      return typeof value === "string" ? { is: "typed", text: value } : null;
    case "number":
      return kindOf(value) === "number" ? { is: "typed", text: print(value) } : null;
    case "json":
      return { is: "typed", text: print(value, "indented") };
    case "choice": {
      const at = field.options.findIndex((option) => equal(option.value, value));
      return at < 0 ? null : { is: "chosen", at };
    }
    case "list": {
      if (!Array.isArray(value)) return null;
      const items = value.map((item) => draftOf(field.item(), item));
      const all = items.filter((item) => item !== null);
      return all.length === items.length ? { is: "list", items: all } : null;
    }
    case "object":
      return isObject(value) ? objectDraft(field, value) : null;
    case "optional": {
      if (value === null) return { is: "optional", inner: null };
      const inner = draftOf(field.inner(), value);
      return inner === null ? null : { is: "optional", inner };
    }
    case "variants": {
      for (const [at, variant] of field.variants.entries()) {
        const inner = draftOf(variant.field(), value);
        if (inner !== null) return { is: "variant", at, inner };
      }
      return null;
    }
    case "fixed":
      return equal(field.value, value) ? { is: "fixed" } : null;
  }
}

function objectDraft(field: Field & { is: "object" }, value: { [key: string]: Json }): Draft | null {
  const members = new Map<string, Draft>();
  for (const { name, isRequired, field: member } of field.members) {
    const held = Object.hasOwn(value, name) ? value[name] : undefined;
    const draft = held === undefined ? null : draftOf(member(), held);
    if (draft !== null) members.set(name, draft);
    else if (held !== undefined && !(held === null && !isRequired)) return null;
    else if (isRequired) return null;
  }
  const known = new Set(field.members.map(({ name }) => name));
  return Object.keys(value).every((key) => known.has(key)) ? { is: "object", members } : null;
}

/** Returns the value that is filled in, or all errors. */
export function valueOf(field: Field, draft: Draft): Filled {
  const problems: Problem[] = [];
  const value = read(field, draft, "", problems);
  return value === undefined || problems.length > 0 ? { ok: false, problems } : { ok: true, value };
}

/** Returns the value; `undefined` if it has an error. */
function read(field: Field, draft: Draft, path: string, problems: Problem[]): Json | undefined {
  const fault = (text: string): undefined => {
    problems.push({ path, text });
    return undefined;
  };
  switch (field.is) {
    case "text": {
      if (draft.is !== "typed") return fault(EMPTY);
      const problem = textProblem(field, draft.text);
      return problem === null ? draft.text : fault(problem);
    }
    case "number": {
      if (draft.is !== "typed" || draft.text.trim() === "") return fault("Enter a number.");
      const number = numberOf(draft.text.trim(), field);
      return typeof number === "string" ? fault(number) : number.value;
    }
    case "json": {
      if (draft.is !== "typed" || draft.text.trim() === "") return fault("Enter JSON; a text needs its quotes.");
      try {
        return parse(draft.text);
      } catch (error) {
        return fault(jsonProblem(error));
      }
    }
    case "choice": {
      const option = draft.is === "chosen" && draft.at !== null ? field.options[draft.at] : undefined;
      return option === undefined ? fault("Choose one.") : option.value;
    }
    case "list": {
      const items = draft.is === "list" ? draft.items : [];
      if (items.length < field.fewest) return fault(`It needs at least ${field.fewest}; there are ${items.length}.`);
      if (items.length > field.most) return fault(`It takes at most ${field.most}; there are ${items.length}.`);
      const values = items.map((item, at) => read(field.item(), item, itemPath(path, at), problems));
      return values.map((value) => value ?? null);
    }
    case "object": {
      const given: Members = draft.is === "object" ? draft.members : new Map<string, Draft>();
      const members: [string, Json][] = [];
      for (const { name, isRequired, field: member } of field.members) {
        const part = given.get(name) ?? (isRequired ? blank(member()) : undefined);
        const value = part === undefined ? undefined : read(member(), part, memberPath(path, name), problems);
        if (value !== undefined) members.push([name, value]);
      }
      return Object.fromEntries(members);
    }
    case "optional":
      return draft.is !== "optional" || draft.inner === null ? null : read(field.inner(), draft.inner, path, problems);
    case "variants": {
      const variant = draft.is === "variant" && draft.at !== null ? field.variants[draft.at] : undefined;
      if (variant === undefined || draft.is !== "variant") return fault("Choose one.");
      const inner = variant.field();
      return read(inner, draft.inner ?? blank(inner), path, problems);
    }
    case "fixed":
      return field.value;
  }
}

const EMPTY = "Enter a text.";

function textProblem({ shortest, longest, pattern }: Field & { is: "text" }, text: string): string | null {
  const letters = [...text].length;
  if (letters < shortest) return letters === 0 ? EMPTY : `It needs at least ${shortest} letters; it has ${letters}.`;
  if (letters > longest) return `It takes at most ${longest} letters; it has ${letters}.`;
  if (pattern !== null && !pattern.test(text)) return `It does not match ${pattern.source}.`;
  return null;
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

/** Reads a number as it is written, or returns what is wrong with it. */
function numberOf(text: string, { isInteger, ...bounds }: Bounds & { readonly isInteger: boolean }): string | { readonly value: Json } {
  if (!NUMBER.test(text)) return `${JSON.stringify(text)} is not a number.`;
  if (isInteger && !/^-?\d+$/.test(text)) return `${text} is not a whole number.`;
  return boundsProblem(Number(text), text, bounds) ?? { value: parse(text) };
}

function boundsProblem(number: number, text: string, { least, most, excludesLeast, excludesMost }: Bounds): string | null {
  if (!Number.isFinite(number)) return `${text} is too large.`;
  if (excludesLeast ? number <= least : number < least) return `It must be ${excludesLeast ? "more than" : "at least"} ${least}.`;
  if (excludesMost ? number >= most : number > most) return `It must be ${excludesMost ? "less than" : "at most"} ${most}.`;
  return null;
}

/** The error of a text that is not JSON, without the words of the browser, which differ. */
export function jsonProblem(error: unknown): string {
  const [, position] = (error instanceof Error && /position (\d+)/.exec(error.message)) || [];
  return `This is not JSON${position === undefined ? "" : `: see character ${Number(position) + 1}`}. Texts need quotes, and each brace and bracket its closing one.`;
}

/** Returns the content of a field whose part at a position was replaced. */
export function withItem(items: readonly Draft[], at: number, item: Draft): readonly Draft[] {
  return items.map((each, position) => (position === at ? item : each));
}

/** Returns members with one replaced; `null` leaves it out. */
export function withMember(members: Members, name: string, member: Draft | null): Members {
  const next = new Map(members);
  if (member === null) next.delete(name);
  else next.set(name, member);
  return next;
}


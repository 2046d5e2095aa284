// The fields of a form, made from a JSON Schema as schemars writes it.

import { type Json, Numeral, isObject, print } from "../../wire/json";
import { excerpt } from "../words";

/** A control of a form. Parts that may contain themselves are made when they are asked for. */
export type Field = Control & {
  /** The title of the schema; empty if it has none. */
  readonly title: string;
  readonly description: string;
  /** The value with which the field begins. */
  readonly preset?: Json;
};

type Control =
  | { readonly is: "text"; readonly shortest: number; readonly longest: number; readonly pattern: RegExp | null; readonly format: string }
  | ({ readonly is: "number"; readonly isInteger: boolean } & Bounds)
  | { readonly is: "choice"; readonly options: readonly Option[] }
  | { readonly is: "list"; readonly item: () => Field; readonly fewest: number; readonly most: number }
  | { readonly is: "object"; readonly members: readonly Member[]; readonly isClosed: boolean }
  /** A value or `null`. */
  | { readonly is: "optional"; readonly inner: () => Field }
  /** One of several shapes. */
  | { readonly is: "variants"; readonly variants: readonly Variant[] }
  /** A value without a choice, such as the tag of a variant. */
  | { readonly is: "fixed"; readonly value: Json }
  /** JSON, for schemas without another control. */
  | { readonly is: "json" };

export interface Bounds {
  readonly least: number;
  readonly most: number;
  /** `true` if the bound itself is too small, or too large. */
  readonly excludesLeast: boolean;
  readonly excludesMost: boolean;
}

export interface Option {
  readonly value: Json;
  readonly title: string;
  readonly description: string;
}

export interface Member {
  readonly name: string;
  /** An optional member that may also be `null` is left out instead. */
  readonly isRequired: boolean;
  readonly field: () => Field;
}

export interface Variant {
  readonly title: string;
  readonly description: string;
  readonly field: () => Field;
}

type Schema = { readonly [key: string]: Json };

/** The most references that lead from one to the next. */
const REFERENCES = 32;

/** Makes the field of a schema; without a schema, a field for JSON. */
export function fieldOf(schema: Json | undefined): Field {
  return schema === undefined ? JSON_FIELD : fieldIn(schema, schema);
}

const JSON_FIELD: Field = { is: "json", title: "", description: "" };

function fieldIn(given: Json, root: Json): Field {
  const schema = resolved(given, root);
  if (schema === null) return JSON_FIELD;
  const { control, preset } = controlOf(schema, root);
  return { ...control, title: textOf(schema, "title"), description: textOf(schema, "description"), ...(preset !== undefined && { preset }) };
}

/** Follows references, and joins a schema with the only one that it extends. `null` for one that allows every value. */
function resolved(given: Json, root: Json): Schema | null {
  let schema: Json = given;
  let outer: Schema = {};
  for (let left = REFERENCES; left > 0; left -= 1) {
    if (!isObject(schema)) return null;
    const { $ref: reference, allOf } = schema;
    const inner: Json | undefined = typeof reference === "string" ? target(reference, root) : onlyOf(allOf);
    if (inner === undefined) return typeof reference === "string" || allOf !== undefined ? null : { ...schema, ...outer };
    const { $ref: _, allOf: __, ...beside } = schema;
    outer = { ...beside, ...outer };
    schema = inner;
  }
  return null;
}

function target(reference: string, root: Json): Json | undefined {
  if (!reference.startsWith("#")) return undefined;
  let here: Json | undefined = root;
  for (const part of reference.slice(1).split("/").slice(1)) {
    const key = decoded(part).replace(/~1/g, "/").replace(/~0/g, "~");
    here = here !== undefined && isObject(here) && Object.hasOwn(here, key) ? here[key] : undefined;
  }
  return here;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function onlyOf(list: Json | undefined): Json | undefined {
  return Array.isArray(list) && list.length === 1 ? list[0] : undefined;
}

interface Made {
  readonly control: Control;
  readonly preset?: Json | undefined;
}

function controlOf(schema: Schema, root: Json): Made {
  const preset = schema["default"];
  const alternatives = alternativesOf(schema);
  if (alternatives !== null) {
    const others = alternatives.filter((each) => !allowsOnlyNull(each, root));
    const [only] = others;
    // A default that is null says the same as the empty field.
    if (others.length < alternatives.length && only !== undefined) {
      const inner = () => (others.length === 1 ? fieldIn(only, root) : { ...amongst(others, root), title: "", description: "" });
      return { control: { is: "optional", inner }, preset: preset === null ? undefined : preset };
    }
    if (others.length === 1 && only !== undefined) {
      const { title: _, description: __, ...made } = fieldIn(only, root);
      return { control: made, preset };
    }
    return { control: amongst(others, root), preset };
  }
  return { control: plain(schema, root), preset };
}

/** The alternatives of a schema; `null` if it is a single one. */
function alternativesOf(schema: Schema): readonly Json[] | null {
  const { oneOf, anyOf, type } = schema;
  // A schema that restricts its alternatives further is rare, and has no control of its own.
  if (Array.isArray(oneOf)) return oneOf;
  if (Array.isArray(anyOf)) return anyOf;
  if (Array.isArray(type) && type.length > 0) {
    const values = Array.isArray(schema["enum"]) ? schema["enum"] : null;
    const rest = type.map((each): Json => ({ ...schema, type: each }));
    if (values === null) return rest;
    // The values of an enum say more than the types.
    const { type: _, ...untyped } = schema;
    const present: Json = { ...untyped, enum: values.filter((value) => value !== null) };
    return type.includes("null") ? [present, { type: "null" }] : [present];
  }
  return null;
}

function allowsOnlyNull(given: Json, root: Json): boolean {
  const schema = resolved(given, root);
  if (schema === null) return false;
  const { type, enum: values } = schema;
  const constant = schema["const"];
  return type === "null" || constant === null || (Array.isArray(values) && values.length === 1 && values[0] === null);
}

/** The control for one of several schemas: a choice if each of them has a few values, otherwise variants. */
function amongst(alternatives: readonly Json[], root: Json): Control {
  const options: Option[] = [];
  for (const each of alternatives) {
    const schema = resolved(each, root);
    const values = schema === null ? null : valuesOf(schema);
    if (schema === null || values === null) return variantsOf(alternatives, root);
    const [title, description] = [textOf(schema, "title"), textOf(schema, "description")];
    for (const value of values) options.push({ value, title: (values.length === 1 && title) || titleOfValue(value), description });
  }
  return options.length === 0 ? { is: "json" } : { is: "choice", options };
}

function variantsOf(alternatives: readonly Json[], root: Json): Control {
  const variants = alternatives.map((each): Variant => {
    const schema = resolved(each, root);
    const title = schema === null ? "JSON" : titleOfVariant(schema, root);
    return { title, description: schema === null ? "" : textOf(schema, "description"), field: once(() => fieldIn(each, root)) };
  });
  return variants.length === 0 ? { is: "json" } : { is: "variants", variants };
}

/** The values that a schema allows, if it lists them. */
function valuesOf(schema: Schema): readonly Json[] | null {
  const constant = schema["const"];
  if (constant !== undefined) return [constant];
  const { enum: values } = schema;
  return Array.isArray(values) ? values : null;
}

function titleOfValue(value: Json): string {
  return typeof value === "string" && value !== "" ? value : print(value);
}

/** The name of a variant: its title, its tag, the only member that it must have, or its type. */
function titleOfVariant(schema: Schema, root: Json): string {
  const title = textOf(schema, "title");
  if (title !== "") return title;
  const constant = valuesOf(schema)?.[0];
  if (constant !== undefined) return titleOfValue(constant);
  const { properties, type } = schema;
  const members = properties !== undefined && isObject(properties) ? Object.entries(properties) : [];
  for (const [, member] of members) {
    const tag = resolved(member, root);
    const values = tag === null ? null : valuesOf(tag);
    if (values?.length === 1) return titleOfValue(values[0] ?? null);
  }
  const [only] = members;
  if (members.length === 1 && only !== undefined) return only[0];
  return typeof type === "string" ? (TYPES[type] ?? type) : "JSON";
}

const TYPES: { readonly [type: string]: string } = {
  string: "text",
  integer: "whole number",
  number: "number",
  boolean: "yes or no",
  array: "list",
  object: "object",
};

function plain(schema: Schema, root: Json): Control {
  const values = valuesOf(schema);
  if (values !== null && values.length > 0) {
    const [only] = values;
    if (values.length === 1 && only !== undefined) return { is: "fixed", value: only };
    return { is: "choice", options: values.map((value) => ({ value, title: titleOfValue(value), description: "" })) };
  }
  switch (schema["type"]) {
    case "string":
      return {
        is: "text",
        shortest: numberOf(schema, "minLength") ?? 0,
        longest: numberOf(schema, "maxLength") ?? Infinity,
        pattern: patternOf(schema["pattern"]),
        format: textOf(schema, "format"),
      };
    case "integer":
    case "number":
      return { is: "number", isInteger: schema["type"] === "integer", ...boundsOf(schema) };
    case "boolean":
      return { is: "choice", options: YES_NO };
    case "null":
      return { is: "fixed", value: null };
    case "array":
      return listOf(schema, root);
    case "object":
      return objectOf(schema, root);
    default:
      return { is: "json" };
  }
}

const YES_NO: readonly Option[] = [
  { value: true, title: "Yes", description: "" },
  { value: false, title: "No", description: "" },
];

function boundsOf(schema: Schema): Bounds {
  const [least, most] = [numberOf(schema, "minimum") ?? -Infinity, numberOf(schema, "maximum") ?? Infinity];
  const [above, below] = [numberOf(schema, "exclusiveMinimum") ?? -Infinity, numberOf(schema, "exclusiveMaximum") ?? Infinity];
  return { least: Math.max(least, above), most: Math.min(most, below), excludesLeast: above >= least && above > -Infinity, excludesMost: below <= most && below < Infinity };
}

/** Tuples, and lists whose items must differ, have no control. */
function listOf(schema: Schema, root: Json): Control {
  const { items, prefixItems, uniqueItems, contains } = schema;
  if (prefixItems !== undefined || uniqueItems === true || contains !== undefined) return { is: "json" };
  const item = once(() => (items === undefined ? JSON_FIELD : fieldIn(items, root)));
  return { is: "list", item, fewest: numberOf(schema, "minItems") ?? 0, most: numberOf(schema, "maxItems") ?? Infinity };
}

/** Objects with any keys have no control. */
function objectOf(schema: Schema, root: Json): Control {
  const { properties, required, additionalProperties, patternProperties } = schema;
  const isOpen = patternProperties !== undefined || (additionalProperties !== undefined && additionalProperties !== false);
  if (properties === undefined || !isObject(properties) || isOpen) {
    return properties === undefined && additionalProperties === false ? { is: "fixed", value: {} } : { is: "json" };
  }
  const names = Array.isArray(required) ? required : [];
  const members = Object.entries(properties).map(([name, member]): Member => {
    const isRequired = names.includes(name);
    const field = once(() => (isRequired ? fieldIn(member, root) : withoutNull(fieldIn(member, root))));
    return { name, isRequired, field };
  });
  // A name that has no schema may have any value.
  if (names.some((name) => !members.some((member) => member.name === name))) return { is: "json" };
  return { is: "object", members, isClosed: additionalProperties === false };
}

/** The field of an optional member, which is left out instead of being `null`. */
function withoutNull(field: Field): Field {
  if (field.is !== "optional") return field;
  const inner = field.inner();
  const preset = field.preset ?? inner.preset;
  return { ...inner, title: field.title || inner.title, description: field.description || inner.description, ...(preset !== undefined && { preset }) };
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

function textOf(schema: Schema, key: string): string {
  const text = schema[key];
  return typeof text === "string" ? text : "";
}

function numberOf(schema: Schema, key: string): number | null {
  const value = schema[key];
  if (typeof value === "number") return value;
  return value instanceof Numeral ? Number(value.source) : null;
}

/** A pattern that the browser cannot read is left to the server. */
function patternOf(pattern: Json | undefined): RegExp | null {
  if (typeof pattern !== "string") return null;
  try {
    return new RegExp(pattern, "u");
  } catch {
    return null;
  }
}

/** Returns the label of a field: its title, or the name of its member in words. */
export function labelOf(field: Field, name: string): string {
  return excerpt(field.title || name.replace(/_/g, " "), 80);
}

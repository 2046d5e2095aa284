import assert from "node:assert/strict";
import { test } from "node:test";
import { equal } from "../src/model/difference";
import { blank, draftOf, itemPath, memberPath, valueOf } from "../src/model/form/draft";
import { type Field, fieldOf, labelOf } from "../src/model/form/field";
import { type Json, isObject, parse, print } from "../src/wire/json";
import { Dice } from "./dice";

const TEXTS: [string, ...string[]] = ["", "a", "two words", "\u202e", "__proto__", '"', "ü 日本 😀", "null", "12"];
const NAMES: [string, ...string[]] = ["text", "two words", "__proto__", "a.b", "id", "Ä", "constructor", "items"];

interface Sample {
  readonly schema: Json;
  /** Makes a value that the schema allows. */
  readonly value: () => Json;
}

/** A schema as schemars writes it, with values for it. */
function sample(dice: Dice, depth: number): Sample {
  const kinds = depth === 0 ? 6 : 12;
  switch (dice.below(kinds)) {
    case 0:
      return { schema: { type: "string" }, value: () => dice.of(TEXTS) };
    case 1:
      return { schema: { type: "integer", format: "int64" }, value: () => parse(dice.of(["0", "-7", "12345678901234567890", "-9007199254740993"])) };
    case 2:
      return { schema: { type: "number", minimum: -10 }, value: () => parse(dice.of(["0.5", "1e3", "-2.50", "7", "1.0"])) };
    case 3:
      return { schema: { type: "boolean" }, value: () => dice.below(2) === 0 };
    case 4:
      return { schema: { type: "string", enum: ["a", "b", "__proto__"] }, value: () => dice.of(["a", "b", "__proto__"]) };
    case 5:
      return { schema: dice.of<Json>([true, {}, { description: "free" }]), value: () => dice.of<Json>([null, 1, "x", [], { a: [1] }]) };
    case 6: {
      const item = sample(dice, depth - 1);
      return { schema: { type: "array", items: item.schema }, value: () => Array.from({ length: dice.below(4) }, () => item.value()) };
    }
    case 7:
    case 8: {
      const names = [...new Set(Array.from({ length: dice.below(4) }, () => dice.of(NAMES)))];
      const members = names.map((name) => ({ name, isRequired: dice.below(2) === 0, ...sample(dice, depth - 1) }));
      const required = members.filter(({ isRequired }) => isRequired).map(({ name }) => name);
      const properties = Object.fromEntries(members.map(({ name, schema }): [string, Json] => [name, schema]));
      return {
        schema: { type: "object", properties, required, ...(dice.below(2) === 0 && { additionalProperties: false }) },
        value: () => Object.fromEntries(members.flatMap(({ name, isRequired, value }): [string, Json][] => (isRequired || dice.below(2) === 0 ? [[name, value()]] : []))),
      };
    }
    case 9: {
      const inner = sample(dice, depth - 1);
      const types = isObject(inner.schema) ? inner.schema["type"] : undefined;
      const isTyped = typeof types === "string" && isObject(inner.schema) && inner.schema["enum"] === undefined;
      const schema: Json = isTyped && isObject(inner.schema) ? { ...inner.schema, type: [types, "null"] } : { anyOf: [inner.schema, { type: "null" }] };
      return { schema, value: () => (dice.below(3) === 0 ? null : inner.value()) };
    }
    case 10: {
      const variant = (name: string) => ({ name, ...sample(dice, depth - 1) });
      const variants: [Sample & { name: string }, ...(Sample & { name: string })[]] = [variant("Accept"), variant("Change"), variant("Drop")];
      const external = (name: string, schema: Json): Json => ({ type: "object", properties: { [name]: schema }, required: [name], additionalProperties: false });
      const oneOf: Json[] = [...variants.map(({ name, schema }) => external(name, schema)), { type: "string", const: "Later", description: "Not now" }];
      return {
        schema: { oneOf },
        value: () => {
          const { name, value } = dice.of(variants);
          return dice.below(4) === 0 ? "Later" : { [name]: value() };
        },
      };
    }
    default:
      return {
        schema: { oneOf: ["yes", "no"].map((value) => ({ type: "string", const: value, description: value.toUpperCase() })) },
        value: () => dice.of(["yes", "no"]),
      };
  }
}

/** Optional members that are `null` are left out by the form. */
function withoutNulls(value: Json, field: Field): Json {
  if (field.is === "optional") return value === null ? null : withoutNulls(value, field.inner());
  if (field.is === "list" && Array.isArray(value)) return value.map((item) => withoutNulls(item, field.item()));
  if (field.is === "object" && isObject(value)) {
    const kept = field.members.flatMap(({ name, isRequired, field: member }): [string, Json][] => {
      const held = Object.hasOwn(value, name) ? value[name] : undefined;
      const isLeftOut = held === undefined || (!isRequired && held === null && draftOf(member(), null) === null);
      return isLeftOut ? [] : [[name, withoutNulls(held, member())]];
    });
    return Object.fromEntries(kept);
  }
  if (field.is === "variants") {
    for (const { field: inner } of field.variants) if (draftOf(inner(), value) !== null) return withoutNulls(value, inner());
  }
  return value;
}

test("a value comes back from the form of its schema", () => {
  for (let seed = 0; seed < 3_000; seed += 1) {
    const dice = new Dice(seed);
    const { schema, value } = sample(dice, 3);
    const field = fieldOf(schema);
    const given = value();
    const draft = draftOf(field, given);
    const told = `seed ${seed}: ${print(schema)} and ${print(given)}`;
    assert.ok(draft !== null, told);
    const filled = valueOf(field, draft);
    assert.ok(filled.ok, told);
    assert.ok(equal(filled.value, withoutNulls(given, field)), `${told} became ${print(filled.value)}`);
  }
});

test("a value that the form cannot show is not changed by it", () => {
  for (let seed = 0; seed < 3_000; seed += 1) {
    const dice = new Dice(seed);
    const field = fieldOf(sample(dice, 3).schema);
    const foreign = sample(dice, 3).value();
    const draft = draftOf(field, foreign);
    if (draft === null) continue;
    const filled = valueOf(field, draft);
    if (filled.ok) assert.ok(equal(filled.value, withoutNulls(foreign, field)), `seed ${seed}: ${print(foreign)} became ${print(filled.value)}`);
  }
});

test("an empty form names each field that needs a value", () => {
  for (let seed = 0; seed < 1_000; seed += 1) {
    const field = fieldOf(sample(new Dice(seed), 3).schema);
    const filled = valueOf(field, blank(field));
    if (filled.ok) continue;
    for (const { path, text } of filled.problems) assert.ok(text !== "" && !path.startsWith("."), `seed ${seed}: ${path}`);
  }
});

const REVIEW: Json = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Review",
  type: "object",
  properties: {
    verdict: { $ref: "#/$defs/Verdict", description: "The decision" },
    score: { type: "integer", format: "uint8", minimum: 0, maximum: 255 },
    weight: { type: ["number", "null"], exclusiveMinimum: 0 },
    notes: { type: "array", items: { $ref: "#/$defs/Note" }, maxItems: 2 },
    is_final: { type: "boolean", default: true },
  },
  required: ["verdict", "score", "notes", "is_final"],
  $defs: {
    Verdict: {
      oneOf: [
        { type: "string", const: "accept", description: "Publish it" },
        { type: "string", const: "reject" },
      ],
    },
    Note: {
      type: "object",
      properties: { text: { type: "string", minLength: 1 }, under: { anyOf: [{ $ref: "#/$defs/Note" }, { type: "null" }] } },
      required: ["text"],
    },
  },
};

test("fields of a schema", () => {
  const field = fieldOf(REVIEW);
  assert.ok(field.is === "object");
  const controls = field.members.map(({ name, isRequired, field: member }) => `${name}${isRequired ? "" : "?"} ${member().is}`);
  assert.deepEqual(controls, ["verdict choice", "score number", "weight? number", "notes list", "is_final choice"]);
  const verdict = field.members[0]?.field();
  assert.equal(verdict?.description, "The decision");
  assert.ok(verdict?.is === "choice");
  assert.deepEqual(verdict.options.map(({ title, description }) => [title, description]), [["accept", "Publish it"], ["reject", ""]]);
  assert.equal(labelOf(verdict, "the_verdict"), "the verdict");
});

test("errors are at their fields", () => {
  const field = fieldOf(REVIEW);
  const empty = valueOf(field, blank(field));
  assert.deepEqual(empty, { ok: false, problems: [{ path: "verdict", text: "Choose one." }, { path: "score", text: "Enter a number." }] });
  const drafted = draftOf(field, { verdict: "accept", score: 256, weight: 0, notes: [{ text: "", under: { text: "" } }, { text: "b" }, { text: "c" }], is_final: false });
  assert.ok(drafted !== null);
  const filled = valueOf(field, drafted);
  assert.ok(!filled.ok);
  assert.deepEqual(
    filled.problems.map(({ path, text }) => `${path}: ${text}`),
    ["score: It must be at most 255.", "weight: It must be more than 0.", "notes: It takes at most 2; there are 3."],
  );
  const nested = draftOf(field, { verdict: "accept", score: 1, notes: [{ text: "a", under: { text: "" } }], is_final: true });
  assert.deepEqual(nested && valueOf(field, nested), { ok: false, problems: [{ path: "notes[0].under.text", text: "Enter a text." }] });
});

test("numbers keep their digits, and other texts are none", () => {
  const field = fieldOf({ type: "integer" });
  const typed = (text: string) => valueOf(field, { is: "typed", text });
  const long = typed("12345678901234567890");
  assert.ok(long.ok && print(long.value) === "12345678901234567890");
  for (const text of ["", "1.5", "1e3", "0x10", "01", "one", "NaN", "--1", "1,000"]) assert.equal(typed(text).ok, false, text);
  assert.equal(valueOf(fieldOf({ type: "number" }), { is: "typed", text: "1e999" }).ok, false);
});

test("schemas that no control shows are JSON", () => {
  const odd: Json[] = [
    true,
    {},
    { type: "object", additionalProperties: { type: "string" } },
    { type: "array", prefixItems: [{ type: "string" }, { type: "number" }] },
    { $ref: "#/$defs/Missing" },
    { $ref: "#" },
    { $ref: "https://example.org/schema" },
    { allOf: [{ type: "string" }, { minLength: 2 }] },
    { type: "object", properties: {}, required: ["other"] },
    { not: { type: "string" } },
  ];
  for (const schema of odd) assert.equal(fieldOf(schema).is, "json", print(schema));
  assert.equal(fieldOf(undefined).is, "json");
  assert.equal(fieldOf({ type: "string", pattern: "(" }).is, "text", "a pattern that cannot be read is left to the server");
});

test("variants are named by their tags", () => {
  const tagged = (kind: string): Json => ({ type: "object", properties: { kind: { type: "string", const: kind }, n: { type: "integer" } }, required: ["kind", "n"] });
  const field = fieldOf({ oneOf: [tagged("add"), tagged("drop"), { type: "integer" }, { title: "Own", type: "boolean" }] });
  assert.ok(field.is === "variants");
  assert.deepEqual(field.variants.map(({ title }) => title), ["add", "drop", "whole number", "Own"]);
  const draft = draftOf(field, { kind: "drop", n: 3 });
  assert.ok(draft?.is === "variant" && draft.at === 1);
});

test("paths are those of the server", () => {
  assert.equal(memberPath("", "notes"), "notes");
  assert.equal(memberPath(itemPath("notes", 2), "two words"), 'notes[2]["two words"]');
});

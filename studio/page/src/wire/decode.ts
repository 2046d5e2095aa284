// Decoders: functions that check a JSON value and return it with its type.

import { type Json, Numeral, isObject } from "./json";

/** Checks a value, or throws a Mismatch that names its place. */
export type Decoder<T> = (value: Json, place: string) => T;

/** The type that a decoder returns. */
export type Of<D> = D extends Decoder<infer T> ? T : never;

/** A document that does not have the expected shape. */
export class Mismatch extends Error {
  constructor(place: string, wanted: string) {
    super(`${place || "the document"} is not ${wanted}`);
  }
}

export const json: Decoder<Json> = (value) => value;

export const text: Decoder<string> = (value, place) => {
  if (typeof value !== "string") throw new Mismatch(place, "a text");
  return value;
};

/** A number for arithmetic; one that is too long for it is rounded. */
export const number: Decoder<number> = (value, place) => {
  if (typeof value === "number") return value;
  if (value instanceof Numeral) return Number(value.source);
  throw new Mismatch(place, "a number");
};

export const flag: Decoder<boolean> = (value, place) => {
  if (typeof value !== "boolean") throw new Mismatch(place, "true or false");
  return value;
};

export function choice<T extends string>(...names: readonly T[]): Decoder<T> {
  return (value, place) => {
    const found = names.find((name) => name === value);
    if (found === undefined) throw new Mismatch(place, `one of ${names.join(", ")}`);
    return found;
  };
}

export function nullable<T>(inner: Decoder<T>): Decoder<T | null> {
  return (value, place) => (value === null ? null : inner(value, place));
}

export function list<T>(item: Decoder<T>): Decoder<T[]> {
  return (value, place) => {
    if (!Array.isArray(value)) throw new Mismatch(place, "a list");
    return value.map((each, position) => item(each, `${place}[${position}]`));
  };
}

export function pair<A, B>(first: Decoder<A>, second: Decoder<B>): Decoder<[A, B]> {
  return (value, place) => {
    if (!Array.isArray(value) || value.length !== 2) throw new Mismatch(place, "a pair");
    const [a = null, b = null] = value;
    return [first(a, `${place}[0]`), second(b, `${place}[1]`)];
  };
}

/** An object with keys that are not known before, in their order. */
export function entries<T>(member: Decoder<T>): Decoder<[string, T][]> {
  return (value, place) => {
    if (!isObject(value)) throw new Mismatch(place, "an object");
    return Object.entries(value).map(([key, each]) => [key, member(each, `${place}.${key}`)]);
  };
}

type Members = { [name: string]: Decoder<unknown> };
type Required<M> = { [K in keyof M]: Of<M[K]> };
type Optional<M> = { [K in keyof M]?: Of<M[K]> };

/** An object with these members; others are left out. */
export function object<M extends Members, N extends Members>(required: M, optional: N): Decoder<Required<M> & Optional<N>>;
export function object<M extends Members>(required: M): Decoder<Required<M>>;
export function object(required: Members, optional: Members = {}): Decoder<{ [name: string]: unknown }> {
  return (value, place) => {
    if (!isObject(value)) throw new Mismatch(place, "an object");
    const decoded: { [name: string]: unknown } = {};
    const at = (name: string) => (place ? `${place}.${name}` : name);
    for (const [name, member] of Object.entries({ ...required, ...optional })) {
      const held = Object.hasOwn(value, name) ? value[name] : undefined;
      if (held !== undefined) decoded[name] = member(held, at(name));
      else if (Object.hasOwn(required, name)) throw new Mismatch(at(name), "there");
    }
    return decoded;
  };
}

/** An object whose member `tag` tells its shape; it stays a member of the result. */
export function tagged<K extends string, V extends { [name: string]: Decoder<object> }>(
  tag: K,
  variants: V,
): Decoder<{ [N in keyof V & string]: { [T in K]: N } & Of<V[N]> }[keyof V & string]>;
export function tagged(tag: string, variants: { [name: string]: Decoder<object> }): Decoder<object> {
  return (value, place) => {
    const name = isObject(value) ? value[tag] : undefined;
    const variant = typeof name === "string" && Object.hasOwn(variants, name) ? variants[name] : undefined;
    if (variant === undefined) throw new Mismatch(`${place}.${tag}`, `one of ${Object.keys(variants).join(", ")}`);
    return { ...variant(value, place), [tag]: name };
  };
}

/** Both shapes in one object, as a flattened member of it. */
export function both<A extends object, B extends object>(first: Decoder<A>, second: Decoder<B>): Decoder<A & B> {
  return (value, place) => ({ ...first(value, place), ...second(value, place) });
}

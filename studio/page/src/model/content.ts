// The kinds of values for people: texts that are pictures or JSON, and secrets.

import { type Json, Numeral, isObject, kindOf, parse } from "../wire/json";
import { bytes, counted, shown, shownJson } from "./words";

export type Content =
  | { readonly is: "secret" }
  /** `address` is a data URI; nothing else is ever loaded. */
  | { readonly is: "picture"; readonly address: string; readonly type: string; readonly bytes: number }
  /** A text that is JSON. */
  | { readonly is: "json"; readonly value: Json }
  | { readonly is: "text" }
  | { readonly is: "other" };

/** What the server sends instead of a secret. */
const SECRET = "<secret>";

const PICTURE = /^data:(image\/(?:png|jpeg|gif|webp|avif|bmp|svg\+xml));base64,([A-Za-z0-9+/=_-]+)$/;
const PICTURE_TYPE = /^image\/(?:png|jpeg|gif|webp|avif|bmp|svg\+xml)$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Longer texts are not searched for JSON. */
const LONGEST_JSON = 1_000_000;

export function contentOf(value: Json): Content {
  if (typeof value === "string") return contentOfText(value);
  return (isObject(value) && pictureOf(value)) || { is: "other" };
}

function contentOfText(text: string): Content {
  if (text === SECRET) return { is: "secret" };
  if (text.startsWith("data:image/")) {
    const [, type, data] = PICTURE.exec(text) ?? [];
    if (type !== undefined && data !== undefined) return { is: "picture", address: text, type, bytes: bytesOf(data) };
  }
  if (/^\s*[[{]/.test(text) && text.length <= LONGEST_JSON) {
    try {
      return { is: "json", value: parse(text) };
    } catch {
      // A text that only begins like JSON.
    }
  }
  return { is: "text" };
}

/** An object with the bytes of a picture, as messages have it. */
function pictureOf(value: { readonly [key: string]: Json }): Content | null {
  const { data } = value;
  const type = value["media_type"] ?? value["mime_type"];
  if (typeof type !== "string" || typeof data !== "string" || !PICTURE_TYPE.test(type) || !BASE64.test(data)) return null;
  return { is: "picture", address: `data:${type};base64,${data}`, type, bytes: bytesOf(data) };
}

function bytesOf(base64: string): number {
  return Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
}

/** Returns the kind of a value with its size. */
export function kindWords(value: Json, content: Content = contentOf(value)): string {
  switch (content.is) {
    case "secret":
      return "secret";
    case "picture":
      return `picture, ${content.type}, ${bytes(content.bytes)}`;
    case "json":
      return `JSON in a text, ${letters(value)}`;
    case "text":
      return `text, ${letters(value)}`;
    case "other":
      return Array.isArray(value)
        ? `list, ${counted(value.length, "item")}`
        : isObject(value)
          ? `object, ${counted(Object.keys(value).length, "member")}`
          : kindOf(value);
  }
}

/** Counts code points, as people do; of very long texts, UTF-16 units. */
function letters(value: Json): string {
  const text = typeof value === "string" ? value : "";
  return counted(text.length > 100_000 ? text.length : [...text].length, "letter");
}

/** Returns a value on one line, cut to about a number of characters. It reads only as much of the value as is shown. */
export function preview(value: Json, longest: number): string {
  const parts: string[] = [];
  const isWhole = collect(value, { room: longest, parts });
  return parts.join("") + (isWhole ? "" : "…");
}

/** The letters of a text that are always shown. */
const FEWEST = 16;

interface Room {
  room: number;
  readonly parts: string[];
}

/** Adds a value to the parts; `false` if there was no room for all of it. */
function collect(value: Json, to: Room): boolean {
  if (typeof value === "string") {
    const isLong = value.length > Math.max(to.room, FEWEST);
    put(shownJson(JSON.stringify(isLong ? value.slice(0, Math.max(to.room, FEWEST)) : value)), to);
    return !isLong;
  }
  if (value instanceof Numeral) return put(value.source, to);
  if (value === null || typeof value !== "object") return put(String(value), to);
  const isList = Array.isArray(value);
  put(isList ? "[" : "{", to);
  let isFirst = true;
  for (const [key, member] of isList ? value.entries() : Object.entries(value)) {
    if (to.room <= 0) return false;
    if (!isFirst) put(", ", to);
    isFirst = false;
    if (!isList) put(`${shown(String(key))}: `, to);
    if (!collect(member, to)) return false;
  }
  return put(isList ? "]" : "}", to);
}

function put(text: string, to: Room): boolean {
  to.parts.push(text);
  to.room -= text.length;
  return true;
}

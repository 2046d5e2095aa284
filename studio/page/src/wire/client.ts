// Requests to the API. Errors are values: a Failure with a text for people.

import { type Decoder, Mismatch } from "./decode";
import { type Json, isObject, parse, print } from "./json";

export type Query = { readonly [name: string]: string | number | boolean | null | undefined };

/** A request for a document. */
export interface Get<T> {
  readonly route: string;
  readonly query: Query;
  readonly decode: Decoder<T>;
  /** `true` if the document never changes, as it is about the past of one checkpoint. */
  readonly lasting: boolean;
}

/** A request that writes. */
export interface Post<T> {
  readonly route: string;
  readonly body: { [name: string]: Json };
  readonly decode: Decoder<T>;
}

/** A request that failed. */
export type Failure =
  /** No answer came. */
  | { readonly kind: "unreachable"; readonly text: string }
  /** The server refused the request; `path` names the part of the body to which its text refers. */
  | { readonly kind: "refused"; readonly status: number; readonly text: string; readonly path?: string }
  /** The answer has an unexpected shape. */
  | { readonly kind: "unreadable"; readonly text: string };

export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: Failure };

/** Thrown by a request that its caller aborted. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

export class Client {
  /** `request` is `fetch`, or a replacement for tests. */
  constructor(
    private readonly base: string,
    private readonly token: string | null,
    private readonly request: typeof fetch,
  ) {}

  /** Rejects only if it is aborted. */
  async get<T>({ route, query, decode }: Get<T>, signal?: AbortSignal): Promise<Result<T>> {
    return this.ask(`${route}${queryText(query)}`, { method: "GET", ...(signal && { signal }) }, decode);
  }

  async post<T>({ route, body, decode }: Post<T>): Promise<Result<T>> {
    const headers = { "content-type": "application/json" };
    return this.ask(route, { method: "POST", headers, body: print(body) }, decode);
  }

  /** Opens the event stream. Rejects if the server cannot be reached. */
  async stream(route: string, signal: AbortSignal): Promise<Response> {
    const call = this.request;
    return call(`${this.base}/${route}`, { headers: this.headers({ accept: "text/event-stream" }), signal, cache: "no-store" });
  }

  private headers(more: { [name: string]: string }): { [name: string]: string } {
    return this.token === null ? more : { ...more, authorization: `Bearer ${this.token}` };
  }

  private async ask<T>(path: string, init: RequestInit & { headers?: { [name: string]: string } }, decode: Decoder<T>): Promise<Result<T>> {
    const call = this.request;
    let response: Response;
    let body: string;
    try {
      response = await call(`${this.base}/${path}`, { ...init, headers: this.headers(init.headers ?? {}), cache: "no-store" });
      body = await response.text();
    } catch (error) {
      if (isAbort(error)) throw error;
      return failed({ kind: "unreachable", text: "The program did not answer. It may have ended, or the connection is lost." });
    }
    let document: Json;
    try {
      document = parse(body);
    } catch {
      return failed(response.ok ? unreadable("it is not JSON") : refused(response.status, null));
    }
    if (!response.ok) return failed(refused(response.status, document));
    try {
      return { ok: true, value: decode(document, "") };
    } catch (error) {
      if (error instanceof Mismatch) return failed(unreadable(error.message));
      throw error;
    }
  }
}

function failed(failure: Failure): { ok: false; failure: Failure } {
  return { ok: false, failure };
}

function unreadable(why: string): Failure {
  return {
    kind: "unreadable",
    text: `This page cannot read the answer of the program: ${why}. Reload the page; the program may have been replaced by another version.`,
  };
}

function refused(status: number, body: Json): Failure {
  const members = isObject(body) ? body : {};
  const { detail, path } = members;
  const text = typeof detail === "string" ? detail : `The program refused the request with status ${status}.`;
  return { kind: "refused", status, text, ...(typeof path === "string" && { path }) };
}

/** Returns the query of an address, with its question mark; absent members are left out. */
export function queryText(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "" && value !== false) parameters.append(name, String(value));
  }
  const text = parameters.toString();
  return text && `?${text}`;
}

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
    /** The token of the API; `null` if the address of the page had none. */
    public token: string | null,
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
  async stream(route: string, signal: AbortSignal): Promise<{ readonly response: Response; readonly failure: Failure | null }> {
    const call = this.request;
    const response = await call(`${this.base}/${route}`, { headers: this.headers({ accept: "text/event-stream" }), signal, cache: "no-store" });
    return { response, failure: response.ok ? null : this.refused(response.status, parsed(await response.text())) };
  }

  private headers(more: { [name: string]: string }): { [name: string]: string } {
    return this.token === null ? more : { ...more, authorization: `Bearer ${this.token}` };
  }

  /** Returns the text of a document as it was sent. Rejects only if it is aborted. */
  async text({ route, query }: Get<unknown>, signal?: AbortSignal): Promise<Result<string>> {
    return this.body(`${route}${queryText(query)}`, { method: "GET", ...(signal && { signal }) });
  }

  private async ask<T>(path: string, init: Init, decode: Decoder<T>): Promise<Result<T>> {
    const body = await this.body(path, init);
    if (!body.ok) return body;
    try {
      return { ok: true, value: decode(parse(body.value), "") };
    } catch (error) {
      if (error instanceof Mismatch) return failed(unreadable(error.message));
      if (error instanceof SyntaxError) return failed(unreadable("it is not JSON"));
      throw error;
    }
  }

  private refused(status: number, body: Json): Failure {
    const { detail, path } = isObject(body) ? body : {};
    const told = typeof detail === "string" ? detail : `The program refused the request with status ${status}.`;
    const text = status !== 401 ? told : this.token === null ? NO_TOKEN : UNKNOWN_TOKEN;
    return { kind: "refused", status, text, ...(typeof path === "string" && { path }) };
  }

  private async body(path: string, init: Init): Promise<Result<string>> {
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
    return response.ok ? { ok: true, value: body } : failed(this.refused(response.status, parsed(body)));
  }
}

type Init = RequestInit & { headers?: { [name: string]: string } };

const NO_TOKEN = "This page has no token. Open the address that the program printed when it started.";
const UNKNOWN_TOKEN =
  "The program does not know the token of this page. Open the address that it printed when it started; it may have been started again since.";

/** Returns the document of an error; `null` if it is none. */
function parsed(body: string): Json {
  try {
    return parse(body);
  } catch {
    return null;
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

/** Returns the query of an address, with its question mark; absent members are left out. */
export function queryText(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "" && value !== false) parameters.append(name, String(value));
  }
  const text = parameters.toString();
  return text && `?${text}`;
}

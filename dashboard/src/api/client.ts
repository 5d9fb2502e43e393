import createClient from "openapi-fetch";
import { ApiError } from "./errors";
import type { components, paths } from "./schema";

/** The base path of the gateway (BASE_PATH), e.g. "/gate"; "" without one. */
export const BASE = location.pathname.split("/admin/dashboard")[0] ?? "";

/** The generated client. Paths are as in the OpenAPI document, e.g. `api.GET("/admin/api/v1/models")`. */
export const api = createClient<paths>({ baseUrl: BASE, credentials: "same-origin" });

/** A schema of the OpenAPI document by name, e.g. `Schema<"KeyView">`. */
export type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name];

/** The query parameters of a GET, e.g. `Query<"/admin/api/v1/auth-keys">`. */
export type Query<Path extends keyof paths> = paths[Path] extends { get: { parameters: { query?: infer Parameters } } } ? NonNullable<Parameters> : never;

/** Prefix of the admin API, for addresses that the client does not build (downloads, streams). */
export const ADMIN = `${BASE}/admin/api/v1`;

type Answer<T> = { data?: T; error?: unknown; response: Response };

let onSignedOut: () => void = () => {};

/** Sets what happens when a request is answered 401: the session is over. */
export function setSignedOutHandler(handler: () => void) {
  onSignedOut = handler;
}

/** The body of an answer; throws ApiError for any error answer. */
export async function unwrap<T>(answer: Promise<Answer<T>>): Promise<T> {
  return (await unwrapTagged(answer)).value;
}

/** The body of an answer with its ETag, for a write with If-Match. */
export async function unwrapTagged<T>(answer: Promise<Answer<T>>): Promise<{ value: T; etag: string | null }> {
  const { data, error, response } = await answer;
  if (!response.ok) throw failure(response, error);
  return { value: data as T, etag: response.headers.get("etag") };
}

/** A request outside the generated client (streams, text answers); throws ApiError. */
export async function request(path: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(path, { credentials: "same-origin", ...init });
  if (response.ok) return response;
  const body: unknown = await response.json().catch(() => null);
  throw failure(response, body);
}

function failure(response: Response, body: unknown): ApiError {
  const error = new ApiError(response.status, body, response.headers.get("x-request-id"));
  if (error.status === 401) onSignedOut();
  return error;
}

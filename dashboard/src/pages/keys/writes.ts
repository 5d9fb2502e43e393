import { api, unwrap, type Schema } from "@/api/client";
import { useSave } from "@/api/save";
import { bodyOf, draftOf, newBody, type Draft } from "./draft";
import type { Key, NewKey } from "./queries";

const LISTS = [["auth-keys"], ["auth-key"]];
const put = (id: string, body: Partial<Schema<"EditKey">>, headers: Record<string, string> = {}) =>
  api.PUT("/admin/api/v1/auth-keys/{id}", { params: { path: { id } }, body: body as Schema<"EditKey">, headers });

type OnError = (param: string, message: string) => boolean;
const field = (onError: OnError) => (error: { param: string | null; message: string }) => error.param !== null && onError(error.param, error.message);

/** Creates a key; its value comes back once. */
export function useCreateKey(onSuccess: (key: NewKey) => void, onError: OnError) {
  return useSave<Draft, NewKey>({
    write: (draft) => api.POST("/admin/api/v1/auth-keys", { body: newBody(draft) }),
    invalidates: LISTS,
    onSuccess,
    onError: field(onError),
  });
}

/** Changes a key; Undo writes the fields from before. */
export function useEditKey(before: Key | undefined, onSuccess: () => void, onError: OnError) {
  return useSave<Draft, Key>({
    write: (draft, headers) => put(before!.id, bodyOf(draft) as Schema<"EditKey">, headers),
    invalidates: LISTS,
    what: "this key",
    done: (key) => ({ title: `${key.name} saved`, detail: key.warnings?.join(" ") }),
    undo: () => unwrap(put(before!.id, bodyOf(draftOf(before!)) as Schema<"EditKey">)),
    onSuccess,
    onError: field(onError),
  });
}

/** Rotates a key: a new value, and the old one for a while. */
export function useRotateKey(onSuccess: (key: NewKey) => void) {
  return useSave<{ id: string; overlap: number }, NewKey>({
    write: ({ id, overlap }) => api.POST("/admin/api/v1/auth-keys/{id}/rotate", { params: { path: { id } }, body: { overlap_seconds: overlap } }),
    invalidates: LISTS,
    onSuccess,
  });
}

/** Deactivates or reactivates a key; Undo does the contrary. */
export function useSwitchKey(onSuccess?: () => void) {
  return useSave<{ key: Key; enabled: boolean }, Key>({
    write: ({ key, enabled }) =>
      enabled ? put(key.id, { enabled: true }) : api.POST("/admin/api/v1/auth-keys/{id}/deactivate", { params: { path: { id: key.id } } }),
    invalidates: LISTS,
    done: (_, { key, enabled }) =>
      enabled ? `${key.name} is active again` : { title: `${key.name} is deactivated`, detail: "Its calls are refused from now on." },
    undo: (_, { key, enabled }) => unwrap(put(key.id, { enabled: !enabled })),
    onSuccess,
  });
}

/** Deletes a key for good. */
export function useDeleteKey(onSuccess: () => void) {
  return useSave<Key>({
    write: (key) => api.DELETE("/admin/api/v1/auth-keys/{id}", { params: { path: { id: key.id } } }),
    invalidates: LISTS,
    done: (_, key) => ({ title: `${key.name} deleted`, detail: "Its past usage is kept." }),
    onSuccess,
  });
}

import { useEffect, useState } from "react";
import { unwrap } from "./client";
import { useResource } from "./query";
import { useSave } from "./save";
import type { QueryKey } from "@tanstack/react-query";

type Answer<T> = { data?: T; error?: unknown; response: Response };
type Headers = Record<string, string>;

/** Reads and writes a named document of the admin API. `Body` has the writable fields of `View`. */
export type DocumentKind<View, Body> = {
  /** First part of the query key; the list has the same one. */
  key: string;
  /** As in messages: "alias". */
  noun: string;
  read: (name: string, signal: AbortSignal) => Promise<Answer<View>>;
  write: (name: string, body: Body, headers?: Headers) => Promise<Answer<View>>;
  /** Creates and refuses a name that is taken; without it, `write` is used. */
  create?: (name: string, body: Body) => Promise<Answer<View>>;
  remove: (name: string, headers?: Headers) => Promise<Answer<unknown>>;
  bodyOf: (view: View) => Body;
  /** Members of the body that have a field, for errors that name one. */
  fields: readonly string[];
  /** Keys of other queries that a write makes stale. */
  alsoStale?: QueryKey[];
  /** False when a deleted document cannot be made again, because it holds a secret. */
  restorable?: boolean;
};

/**
 * One document in a form: reads it (`name` null: a new one), saves with If-Match, Undo and errors by field, deletes.
 * After a 412 the stored version is read again and the edit is kept, so that the difference shows both.
 */
export function useDocument<View, Body>(kind: DocumentKind<View, Body>, name: string | null, onDone: (name: string | null) => void) {
  const [errors, setErrors] = useState<Record<string, string>>({});
  const stored = useResource([kind.key, "one", name], (signal) => kind.read(name ?? "", signal), { enabled: name !== null, staleTime: 0 });
  const before = stored.data === undefined || name === null ? null : kind.bodyOf(stored.data);
  const stale = [[kind.key], ...(kind.alsoStale ?? [])];

  const saving = useSave<{ name: string; body: Body }, View>({
    write: (input, headers) => (name === null && kind.create ? kind.create(input.name, input.body) : kind.write(input.name, input.body, headers)),
    invalidates: stale,
    what: `this ${kind.noun}`,
    done: (_, input) => ({ title: name === null ? `${input.name} is created` : `${input.name} is saved` }),
    undo: (_, input) => (before === null ? unwrap(kind.remove(input.name)) : unwrap(kind.write(input.name, before))),
    onSuccess: (_, input) => onDone(input.name),
    onError: (error) => {
      const root = error.param?.split(/[.[]/)[0];
      if (!root || !kind.fields.includes(root)) return false;
      setErrors({ [root]: error.message });
      return true;
    },
  });
  const deleting = useSave<{ name: string }>({
    write: (input, headers) => kind.remove(input.name, headers),
    invalidates: stale,
    gone: (input) => [kind.key, "one", input.name],
    what: `this ${kind.noun}`,
    done: (_, input) => ({ title: `${input.name} is deleted` }),
    undo: kind.restorable === false || before === null ? undefined : (_, input) => unwrap(kind.write(input.name, before)),
    onSuccess: () => onDone(null),
  });

  const conflict = saving.conflict !== null;
  const { refetch } = stored;
  useEffect(() => {
    if (conflict) void refetch();
  }, [conflict, refetch]);

  return {
    /** The stored view; undefined while it is read, or for a new one. */
    view: stored.data,
    before,
    loading: name !== null && stored.isPending,
    error: stored.error,
    retry: () => void stored.refetch(),
    errors,
    conflict,
    busy: saving.busy,
    deleting: deleting.busy,
    save: (to: string, body: Body) => {
      setErrors({});
      saving.mutate({ input: { name: to, body }, etag: stored.etag });
    },
    remove: () => name !== null && deleting.mutate({ input: { name }, etag: stored.etag }),
  };
}

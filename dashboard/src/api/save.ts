import { hashKey, useMutation, useQueryClient, type QueryKey } from "@tanstack/react-query";
import { useState } from "react";
import { toast } from "@/components/Toast";
import { unwrapTagged } from "./client";
import { ApiError, messageOf } from "./errors";

type Answer<T> = { data?: T; error?: unknown; response: Response };

type SaveOptions<Input, T> = {
  /** Sends the write; pass `ifMatch` as the If-Match header when the object was read before. */
  write: (input: Input, headers: Record<string, string>) => Promise<Answer<T>>;
  /** Keys of queries that the write makes stale. */
  invalidates?: QueryKey[];
  /** Key of the query of an object that the write deletes: a form that is still open must not read it again. */
  gone?: (input: Input) => QueryKey;
  /** Title of the toast after success; no toast without it. */
  done?: (value: T, input: Input) => { title: string; detail?: string } | string;
  /** Takes the write back; adds Undo to the toast. */
  undo?: (value: T, input: Input) => Promise<unknown>;
  /** Name of the object for conflict messages, e.g. "this key". */
  what?: string;
  /** Shows the difference between the edit and what is stored now; adds Compare to the conflict toast. */
  onCompare?: (input: Input) => void;
  onSuccess?: (value: T, input: Input) => void;
  /** Handles an error itself (e.g. beside a field); return true to suppress the toast. */
  onError?: (error: ApiError, input: Input) => boolean | void;
};

/**
 * A write with If-Match, toasts, undo and conflict handling: `save.mutate({ input, etag })`.
 * A 412 keeps the edit: `save.conflict` holds it until `clearConflict`, and the form is not closed.
 */
export function useSave<Input, T = unknown>(options: SaveOptions<Input, T>) {
  const client = useQueryClient();
  const [conflict, setConflict] = useState<Input | null>(null);
  const refresh = (gone?: QueryKey) => {
    if (gone) void client.invalidateQueries({ queryKey: gone, exact: true, refetchType: "none" });
    const stays = ({ queryKey }: { queryKey: QueryKey }) => !gone || hashKey(queryKey) !== hashKey(gone);
    return Promise.all((options.invalidates ?? []).map((queryKey) => client.invalidateQueries({ queryKey, predicate: stays })));
  };

  const mutation = useMutation({
    mutationFn: async ({ input, etag }: { input: Input; etag?: string | null }) => {
      const headers: Record<string, string> = etag ? { "If-Match": etag } : {};
      return (await unwrapTagged(options.write(input, headers))).value;
    },
    onSuccess: async (value, { input }) => {
      setConflict(null);
      options.onSuccess?.(value, input);
      await refresh(options.gone?.(input));
      if (!options.done) return;
      const said = options.done(value, input);
      const { title, detail } = typeof said === "string" ? { title: said, detail: undefined } : said;
      const undo = options.undo;
      toast({ kind: "ok", title, detail, undo: undo ? () => undo(value, input).then(() => refresh()) : undefined });
    },
    onError: (error, { input }) => {
      if (error instanceof ApiError && error.status === 412) {
        setConflict(input);
        const compare = options.onCompare;
        toast({ kind: "bad", title: `Not saved: ${options.what ?? "this"} was changed after you opened it`, detail: "412 · your edits are kept here.", action: compare && { label: "Compare", run: () => compare(input) } });
        return;
      }
      if (error instanceof ApiError && options.onError?.(error, input)) return;
      const detail = error instanceof ApiError ? `${error.status} ${error.code}${error.param ? ` · ${error.param}` : ""}` : undefined;
      toast({ kind: "bad", title: messageOf(error), detail });
    },
  });

  return { ...mutation, busy: mutation.isPending, conflict, clearConflict: () => setConflict(null) };
}

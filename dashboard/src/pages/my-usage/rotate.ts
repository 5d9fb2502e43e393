import { useState } from "react";
import { api, type Schema } from "@/api/client";
import { ApiError } from "@/api/errors";
import { useSave } from "@/api/save";

type Input = { value: string; overlap_seconds: number };

/**
 * Gives the caller's own key a new value. A session may not do this, only the key itself: its value is sent with
 * these requests and not kept. The value of another key is refused before anything is changed.
 */
export function useRotateOwn(id: string | null | undefined, onRotated: (key: Schema<"CreatedKey">) => void) {
  const [error, setError] = useState<string | null>(null);
  const rotate = useSave<Input, Schema<"CreatedKey">>({
    write: async ({ value, overlap_seconds }) => {
      const headers = { authorization: `Bearer ${value}` };
      const owner = await api.GET("/admin/api/v1/usage/me", { params: { query: { days: 1 } }, headers });
      // A wrong value must not end the session, as other answers with 401 do.
      if (owner.response.status === 401) throw refused("The gateway does not know this value.");
      if (owner.data && owner.data.auth_key_id !== id) throw refused("This is the value of another key.");
      return api.POST("/admin/api/v1/auth-keys/me/rotate", { body: { overlap_seconds }, headers });
    },
    onSuccess: onRotated,
    onError: (failed) => {
      setError(failed.message);
      return true;
    },
  });
  const run = (overlap_seconds: number, value: string) => {
    setError(null);
    rotate.mutate({ input: { value, overlap_seconds } });
  };
  return { busy: rotate.busy, error, run, clear: () => setError(null) };
}

const refused = (message: string) => new ApiError(400, { error: { message } }, null);

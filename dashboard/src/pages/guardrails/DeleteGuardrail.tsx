import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { unwrap } from "@/api/client";
import type { ApiError } from "@/api/errors";
import { useSave } from "@/api/save";
import { ConfirmDialog } from "@/components/Dialog";
import { plural } from "@/format";
import { bodyOf, deleteGuardrail, GUARDRAILS, putGuardrail, type Guardrail, type Use } from "./queries";

/** Asks before a guardrail is deleted, and names what refers to it. */
export function DeleteGuardrail({ guardrail, uses, onClose, onDeleted }: { guardrail: Guardrail; uses: Use[]; onClose: () => void; onDeleted: () => void }) {
  const [failed, setFailed] = useState<ApiError | null>(null);
  const { name } = guardrail;
  const remove = useSave({
    write: () => deleteGuardrail(name),
    invalidates: [GUARDRAILS, ["changes"]],
    gone: () => [...GUARDRAILS, "one", name],
    done: () => `${name} is deleted`,
    undo: () => unwrap(putGuardrail(name, bodyOf(guardrail))),
    onSuccess: () => {
      onDeleted();
      onClose();
    },
    onError: (error) => {
      setFailed(error);
      return true;
    },
  });
  const references = uses.length > 0 && (
    <span className="mt-1 block">
      {uses.map((use) => (
        <Link key={use.id} to="/workflows" search={{ open: use.id } as never} className="link mr-3 [overflow-wrap:anywhere]">
          {use.name} ({use.scope})
        </Link>
      ))}
    </span>
  );
  return (
    <ConfirmDialog
      title={`Delete the guardrail ${name}?`}
      body="Calls are no longer inspected by it."
      warning={
        failed ? (
          <span role="alert">
            <strong className="font-medium">Not deleted.</strong> {failed.message} Take it out of the workflow first.
            {references}
          </span>
        ) : references ? (
          <>
            <strong className="font-medium">Used by {plural(uses.length, "workflow")}.</strong> It can be deleted once no workflow in force refers to it.
            {references}
          </>
        ) : undefined
      }
      confirm="Delete guardrail"
      busy={remove.busy}
      onConfirm={() => remove.mutate({ input: null })}
      onClose={onClose}
    />
  );
}

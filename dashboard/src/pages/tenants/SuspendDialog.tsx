import { unwrap } from "@/api/client";
import { useSave } from "@/api/save";
import { ConfirmDialog } from "@/components/Dialog";
import { activateTenant, suspendTenant, TENANTS, type Tenant } from "./queries";

/** Asks before a tenant is suspended. */
export function SuspendDialog({ tenant, onClose }: { tenant: Tenant; onClose: () => void }) {
  const name = tenant.name || tenant.slug;
  const suspend = useSave({
    write: () => suspendTenant(tenant.id),
    invalidates: [TENANTS, ["changes"]],
    done: () => ({ title: `${name} is suspended`, detail: "Its keys are refused with 403." }),
    undo: () => unwrap(activateTenant(tenant.id)),
    onSuccess: onClose,
  });
  return <ConfirmDialog title={`Suspend ${name}?`} body="Calls with its keys are refused with 403 at once. Nothing is deleted, and it can be activated again." confirm="Suspend tenant" busy={suspend.busy} onConfirm={() => suspend.mutate({ input: null })} onClose={onClose} />;
}

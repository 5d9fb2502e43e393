import { Ban, Check, Minus } from "lucide-react";
import { cx } from "@/components/cx";
import type { Effect, Permission } from "./queries";
import { ACTIONS, effective, ownEffect, withEffect, type Action } from "./rules";

type TableProps = { resources: readonly string[]; rules: readonly Permission[]; onChange: (rules: Permission[]) => void; readOnly?: boolean };

const NEXT = (effect: Effect | null): Effect | null => (effect === null ? "allow" : effect === "allow" ? "deny" : null);

function Cell({ resource, action, rules, onChange, readOnly }: { resource: string; action: Action } & Omit<TableProps, "resources">) {
  const own = ownEffect(rules, resource, action);
  const result = effective(rules, resource, action);
  const inherited = own === null && resource !== "*" && result === "allow";
  const overruled = own === "allow" && result === "deny";
  const word = own ?? (inherited ? "allow, from all" : "not set");
  const Icon = own === "deny" ? Ban : own === "allow" || inherited ? Check : Minus;
  return (
    <button
      type="button"
      disabled={readOnly}
      aria-label={`${action} ${resource === "*" ? "everything" : resource}: ${word}${overruled ? ", denied by another rule" : ""}`}
      onClick={() => onChange(withEffect(rules, resource, action, NEXT(own)))}
      className={cx(
        "inline-flex h-7 w-full items-center justify-center gap-1.5 rounded-md border text-small phone:h-10",
        own === "allow" ? (overruled ? "border-ok-line text-ink-3 line-through" : "border-ok-line bg-ok-soft text-ok") : own === "deny" ? "border-bad-line bg-bad-soft text-bad" : "border-transparent text-ink-3",
        !readOnly && "hover:border-line-control",
      )}
    >
      <Icon aria-hidden className="size-3.5" />
      {own === "allow" ? "Allow" : own === "deny" ? "Deny" : inherited ? "from all" : ""}
    </button>
  );
}

/** The rules of a role as a table: each cell goes from not set to allow, to deny, and back. */
export function PermissionTable({ resources, rules, onChange, readOnly }: TableProps) {
  return (
    <div className="overflow-hidden rounded-md border border-line">
      <table aria-label="Permissions" className="w-full border-collapse">
        <thead>
          <tr className="text-left text-small text-ink-3">
            <th scope="col" className="border-b border-line px-3 py-1.5 font-medium">Area</th>
            {ACTIONS.map((action) => (
              <th key={action} scope="col" className="w-28 border-b border-line px-2 py-1.5 text-center font-medium">
                {action === "read" ? "Read" : "Write"}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {resources.map((resource) => (
            <tr key={resource} className={cx("border-b border-line last:border-0", resource === "*" && "bg-well")}>
              <th scope="row" className={cx("px-3 text-left font-regular", resource !== "*" && "font-mono text-small")}>
                {resource === "*" ? <span className="font-medium">Everything</span> : resource}
              </th>
              {ACTIONS.map((action) => (
                <td key={action} className="px-1 py-0.5">
                  <Cell resource={resource} action={action} rules={rules} onChange={onChange} readOnly={readOnly} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

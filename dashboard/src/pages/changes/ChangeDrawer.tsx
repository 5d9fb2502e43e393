import { Link } from "@tanstack/react-router";
import { Filter } from "lucide-react";
import { ADMIN } from "@/api/client";
import { Button, buttonClass } from "@/components/Button";
import { CopyAs } from "@/components/CopyAs";
import { DiffView } from "@/components/DiffView";
import { Drawer } from "@/components/Drawer";
import { KeyValues } from "@/components/Panel";
import { Tag } from "@/components/Status";
import { ago, moment } from "@/format";
import { kindTitle, pageOf } from "./kinds";
import type { Change, ChangeFilters } from "./queries";
import { titleOf } from "./summary";

/** The action of a change: create, update or delete. */
export function ActionTag({ action }: { action: string }) {
  return <Tag kind={action === "create" ? "ok" : action === "delete" ? "bad" : "neutral"}>{action}</Tag>;
}

/** One change: facts, and the difference between before and after. */
export function ChangeDrawer({ change, onClose, onFilter }: { change: Change; onClose: () => void; onFilter: (filters: Partial<ChangeFilters>) => void }) {
  const target = pageOf(change);
  return (
    <Drawer
      inspector
      title={<span className="truncate">{titleOf(change)}</span>}
      sub={kindTitle(change.kind)}
      onClose={onClose}
      actions={<CopyAs call={{ method: "GET", path: `${ADMIN}/changes?kind=${encodeURIComponent(change.kind)}&name=${encodeURIComponent(change.name)}` }} yaml={change} />}
      footer={
        <>
          <Button icon={Filter} onClick={() => onFilter({ kind: change.kind, name: change.name, actor: "" })}>
            {change.kind === "settings" ? "History of settings" : `History of this ${kindTitle(change.kind).toLowerCase()}`}
          </Button>
          <Button look="quiet" onClick={() => onFilter({ actor: change.actor, kind: "", name: "" })}>
            All by {change.actor}
          </Button>
          {target && change.action !== "delete" && (
            <Link to={target.to} search={target.search as never} className={buttonClass({ className: "ml-auto" })}>
              Open
            </Link>
          )}
        </>
      }
    >
      <KeyValues
        className="mb-5"
        items={[
          { label: "When", value: `${moment(change.at)} · ${ago(change.at)}` },
          { label: "Changed by", value: change.actor },
          { label: "Action", value: <ActionTag action={change.action} /> },
          { label: "Kind", value: change.kind, mono: true },
          { label: "Name", value: change.name, mono: true },
          { label: "Revision", value: change.revision, mono: true },
        ]}
      />
      <h3 className="mb-2 text-small font-medium">{change.before == null ? "Created" : change.after == null ? "Deleted" : "Before and after"}</h3>
      <DiffView before={change.before} after={change.after} className="max-h-none!" />
      <p className="mt-2 text-small text-ink-3">Secrets are masked.</p>
    </Drawer>
  );
}

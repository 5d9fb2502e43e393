import { Plus, ShieldCheck } from "lucide-react";
import { useState } from "react";
import { useFilters } from "@/app/filters";
import { Page } from "@/app/Page";
import { useSession } from "@/app/session";
import { useShortcut } from "@/app/shortcuts";
import { Button } from "@/components/Button";
import { EmptyState } from "@/components/EmptyState";
import { usePhone } from "@/components/media";
import { Note } from "@/components/Note";
import { SideList } from "@/components/SideList";
import { SplitView } from "@/components/SplitView";
import { Tag } from "@/components/Status";
import { DeleteGuardrail } from "./DeleteGuardrail";
import { GuardrailEditor } from "./GuardrailEditor";
import { GuardrailWork } from "./GuardrailWork";
import { kindOf } from "./kinds";
import { useActiveWorkflows, useGuardrails, usesOf } from "./queries";

type Doing = { edit: string | null } | { remove: string } | null;

export default function GuardrailsPage() {
  const [filters, setFilters] = useFilters({ open: "", tab: "test" }, { tab: ["test", "settings"] });
  const [doing, setDoing] = useState<Doing>(null);
  const list = useGuardrails();
  const workflows = useActiveWorkflows();
  const phone = usePhone();
  const { can, feature } = useSession();
  const writable = can("admin:guardrails:write");
  const rows = list.data ?? [];
  const chosen = rows.find((row) => row.name === filters.open) ?? (phone ? undefined : rows[0]);
  const create = () => setDoing({ edit: null });
  useShortcut("c", create, writable);
  const off = feature("guardrails")?.enabled === false;

  const add = writable && (
    <Button look="primary" icon={Plus} shortcut="C" onClick={create}>
      Create guardrail
    </Button>
  );
  const empty = (
    <EmptyState icon={ShieldCheck} title="No guardrails yet" actions={add}>
      A guardrail inspects requests and answers: it removes personal data, refuses secrets, or adds instructions. Workflows say which calls it applies to.
    </EmptyState>
  );
  return (
    <Page title="Guardrails" actions={rows.length > 0 && add} flush>
      {off && (
        <Note kind="warn" className="m-3">
          Guardrails are switched off by <code>GUARDRAILS_ENABLED</code>: calls are not inspected.
        </Note>
      )}
      {list.data && !rows.length ? (
        <div className="flex-1 bg-surface">{empty}</div>
      ) : (
        <SplitView
          label={chosen?.name ?? "Guardrail"}
          open={Boolean(chosen)}
          back="Guardrails"
          onBack={() => setFilters({ open: null, tab: null })}
          list={
            <SideList
              label="Guardrails"
              rows={rows}
              rowKey={(row) => row.name}
              selected={chosen?.name ?? null}
              onSelect={(row) => setFilters({ open: row.name }, { push: phone })}
              icon={(row) => {
                const { icon: Icon } = kindOf(row.type);
                return <Icon aria-hidden />;
              }}
              title={(row) => row.name}
              sub={(row) => `${kindOf(row.type).label} · ${row.direction}`}
              end={(row) => <Tag kind={row.mode === "enforce" ? "accent" : "neutral"}>{row.mode === "enforce" ? "Enforce" : "Monitor"}</Tag>}
              loading={list.isPending}
              error={list.error}
              onRetry={() => void list.refetch()}
            />
          }
        >
          {chosen && (
            <GuardrailWork
              key={chosen.name}
              guardrail={chosen}
              uses={usesOf(chosen.name, workflows.data)}
              usesKnown={workflows.data !== undefined}
              tab={filters.tab === "settings" ? "settings" : "test"}
              onTab={(tab) => setFilters({ tab })}
              onEdit={writable ? () => setDoing({ edit: chosen.name }) : undefined}
              onDelete={writable ? () => setDoing({ remove: chosen.name }) : undefined}
            />
          )}
        </SplitView>
      )}
      {doing && "edit" in doing && <GuardrailEditor name={doing.edit} taken={rows.map((row) => row.name)} onClose={() => setDoing(null)} onSaved={(name) => setFilters({ open: name })} />}
      {doing && "remove" in doing && chosen && <DeleteGuardrail guardrail={chosen} uses={usesOf(chosen.name, workflows.data)} onClose={() => setDoing(null)} onDeleted={() => setFilters({ open: null })} />}
    </Page>
  );
}

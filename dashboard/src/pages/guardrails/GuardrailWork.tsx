import { Link } from "@tanstack/react-router";
import { Pencil, Trash2 } from "lucide-react";
import { ADMIN } from "@/api/client";
import { Button } from "@/components/Button";
import { CopyAs } from "@/components/CopyAs";
import { Menu } from "@/components/Menu";
import { Note } from "@/components/Note";
import { KeyValues } from "@/components/Panel";
import { labelOf } from "@/components/schema/types";
import { SplitHead } from "@/components/SplitView";
import { Tag } from "@/components/Status";
import { Tabs } from "@/components/Tabs";
import { moment, plural } from "@/format";
import { directionWords } from "./kinds";
import { bodyOf, type Guardrail, type Use } from "./queries";
import { TestBox } from "./TestBox";

type WorkProps = { guardrail: Guardrail; uses: Use[]; usesKnown: boolean; tab: "test" | "settings"; onTab: (tab: "test" | "settings") => void; onEdit?: () => void; onDelete?: () => void };

/** One guardrail: its test box and its settings. */
export function GuardrailWork({ guardrail, uses, usesKnown, tab, onTab, onEdit, onDelete }: WorkProps) {
  const body = bodyOf(guardrail);
  return (
    <>
      <SplitHead
        title={guardrail.name}
        sub={
          <>
            <code>{guardrail.type}</code>
            {usesKnown && <> · {uses.length ? <Link to="/workflows" search={{ open: uses[0]?.id } as never} className="link">used by {plural(uses.length, "workflow")}</Link> : "not used by a workflow"}</>}
            {guardrail.source === "file" && " · from the configuration file"}
          </>
        }
        actions={
          <>
            <CopyAs call={{ method: "PUT", path: `${ADMIN}/guardrails/${encodeURIComponent(guardrail.name)}`, body }} yaml={{ guardrails: { [guardrail.name]: body } }} />
            {onEdit && (
              <Button icon={Pencil} onClick={onEdit}>
                Edit
              </Button>
            )}
            {onDelete && <Menu label={`More for ${guardrail.name}`} items={[{ label: "Delete guardrail", icon: Trash2, danger: true, run: onDelete }]} />}
          </>
        }
      />
      {usesKnown && !uses.length && guardrail.direction !== "log" && (
        <Note kind="info" className="mb-4">
          No call passes this guardrail yet. <Link to="/workflows" className="link">Add it to a workflow</Link> to say which ones do.
        </Note>
      )}
      {guardrail.description && <p className="mb-3 max-w-[80ch] text-ink-2 [overflow-wrap:anywhere]">{guardrail.description}</p>}
      <Tabs label="Views of the guardrail" value={tab} onChange={onTab} tabs={[{ value: "test", label: "Test" }, { value: "settings", label: "Settings" }]}>
        {tab === "test" ? <TestBox guardrail={guardrail} /> : <SettingsTab guardrail={guardrail} uses={uses} />}
      </Tabs>
    </>
  );
}

function SettingsTab({ guardrail, uses }: { guardrail: Guardrail; uses: Use[] }) {
  const config = guardrail.config as Record<string, unknown>;
  return (
    <div className="grid max-w-[960px] grid-cols-2 gap-x-10 gap-y-6 narrow:grid-cols-1">
      <section>
        <h3 className="mb-2 font-strong">Configuration</h3>
        <KeyValues items={Object.entries(config).map(([name, value]) => ({ label: labelOf(name, {}), value: <ConfigValue value={value} /> }))} />
      </section>
      <section>
        <h3 className="mb-2 font-strong">Behaviour</h3>
        <KeyValues
          items={[
            { label: "Inspects", value: directionWords(guardrail.direction) },
            { label: "Mode", value: guardrail.mode === "enforce" ? "Enforce: verdicts take effect" : "Monitor: verdicts are only recorded" },
            { label: "If it fails", value: guardrail.on_error === "block" ? "Block the call" : "Let the call through" },
            { label: "Unreadable parts", value: guardrail.on_unreadable === "block" ? "Block the call" : "Let through" },
            { label: "Owner path", value: guardrail.user_path ?? "everyone", mono: guardrail.user_path != null },
            { label: "Used by", value: uses.length ? uses.map((use) => <Link key={use.id} to="/workflows" search={{ open: use.id } as never} className="link mr-2">{use.name} ({use.scope})</Link>) : "no workflow" },
            { label: "Source", value: guardrail.source === "file" ? "configuration file" : "admin API" },
            { label: "Changed", value: <Link to="/changes" search={{ kind: "guardrail", name: guardrail.name } as never} className="link">{moment(guardrail.updated_at)}</Link> },
          ]}
        />
      </section>
    </div>
  );
}

function ConfigValue({ value }: { value: unknown }) {
  if (Array.isArray(value)) {
    if (!value.length) return <span className="text-ink-3">default</span>;
    return (
      <span className="flex flex-wrap gap-1.5">
        {value.map((each, i) => (
          <Tag key={i} mono>
            <span className="max-w-80 truncate">{typeof each === "string" ? each : JSON.stringify(each)}</span>
          </Tag>
        ))}
      </span>
    );
  }
  if (value === null || value === undefined || value === "") return <span className="text-ink-3">not set</span>;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "object") return <code className="[overflow-wrap:anywhere]">{JSON.stringify(value)}</code>;
  return <span className="whitespace-pre-wrap">{String(value)}</span>;
}

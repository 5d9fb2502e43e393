import { CirclePause, Pencil } from "lucide-react";
import { useState } from "react";
import { ADMIN, unwrap } from "@/api/client";
import { useSave } from "@/api/save";
import { Button } from "@/components/Button";
import { CopyAs } from "@/components/CopyAs";
import { ConfirmDialog } from "@/components/Dialog";
import { EmptyState } from "@/components/EmptyState";
import { Menu } from "@/components/Menu";
import { Note } from "@/components/Note";
import { SplitHead } from "@/components/SplitView";
import { Tabs } from "@/components/Tabs";
import { ago } from "@/format";
import { activate, bodyOf, deactivate, WORKFLOWS, type Version } from "./queries";
import { StepsTab } from "./StepsTab";
import type { ScopeNode } from "./tree";
import { VersionDrawer } from "./VersionDrawer";
import { VersionsTable } from "./VersionsTable";

type ScopeWorkProps = { node: ScopeNode; tab: "steps" | "versions"; onTab: (tab: "steps" | "versions") => void; version: string; onVersion: (id: string | null) => void; onEdit?: (from: Version) => void };

/** One scope: the version in force step by step, and all versions. */
export function ScopeWork({ node, tab, onTab, version, onVersion, onEdit }: ScopeWorkProps) {
  const [stopping, setStopping] = useState(false);
  const { active, versions } = node;
  const shown = active ?? versions[0] ?? null;
  const opened = versions.find((each) => each.id === version);
  const stop = useSave({
    write: (current: Version) => deactivate(current.id),
    invalidates: [WORKFLOWS, ["changes"]],
    done: () => ({ title: `${node.title} has no workflow of its own now`, detail: "Its calls follow the next scope above." }),
    undo: (_, current) => unwrap(activate(current.id)),
    onSuccess: () => setStopping(false),
  });
  const global = node.scope.scope_user_path == null && node.scope.scope_provider_name == null;
  return (
    <>
      <SplitHead
        title={node.title}
        sub={shown && (active ? `${active.name} · ${active.managed_default ? "built in" : `version ${active.version}`}${active.created_at ? ` · ${ago(active.created_at)} by ${active.created_by}` : ""}` : "no version is in force")}
        actions={
          shown && (
            <>
              <CopyAs call={{ method: "POST", path: `${ADMIN}/workflows`, body: bodyOf(shown) }} yaml={{ workflows: [bodyOf(shown)] }} />
              {onEdit && (
                <Button icon={Pencil} onClick={() => onEdit(shown)}>
                  Edit as new version
                </Button>
              )}
              {onEdit && active && !global && <Menu label={`More for ${node.title}`} items={[{ label: "Deactivate workflow", icon: CirclePause, run: () => setStopping(true) }]} />}
            </>
          )
        }
      />
      {node.unreadable.map((each) => (
        <Note key={each.id} kind="bad" className="mb-3">
          The version <code>{each.id}</code> cannot be read and is not used. {each.error}
        </Note>
      ))}
      {active?.error && (
        <Note kind="bad" className="mb-3">
          The version in force does not compile: {active.error} Edit it as a new version, or activate another one.
        </Note>
      )}
      {shown ? (
        <Tabs label="Views of the workflow" value={tab} onChange={onTab} tabs={[{ value: "steps", label: "Steps" }, { value: "versions", label: "Versions", count: versions.length }]}>
          {tab === "steps" ? <StepsTab version={shown} /> : <VersionsTable versions={versions} selected={version || null} onOpen={(each) => onVersion(each.id)} />}
        </Tabs>
      ) : (
        <EmptyState title="No version can be shown" />
      )}
      {opened && <VersionDrawer key={opened.id} version={opened} active={active} onClose={() => onVersion(null)} onEdit={onEdit} />}
      {stopping && active && (
        <ConfirmDialog
          title={`Deactivate the workflow of ${node.title}?`}
          body="Its calls follow the next scope above from now on. Its versions stay, and each can be activated again."
          confirm="Deactivate workflow"
          busy={stop.busy}
          onConfirm={() => stop.mutate({ input: active })}
          onClose={() => setStopping(false)}
        />
      )}
    </>
  );
}

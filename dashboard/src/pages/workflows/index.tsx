import { Folder, Globe, Plus, Server, Workflow } from "lucide-react";
import { useState } from "react";
import { useFilters } from "@/app/filters";
import { Page } from "@/app/Page";
import { useSession } from "@/app/session";
import { useShortcut } from "@/app/shortcuts";
import { Button } from "@/components/Button";
import { EmptyState } from "@/components/EmptyState";
import { usePhone } from "@/components/media";
import { SideList } from "@/components/SideList";
import { SplitView } from "@/components/SplitView";
import { StatusIcon, Tag } from "@/components/Status";
import { plural } from "@/format";
import { useVersions, type Version } from "./queries";
import { ScopeWork } from "./ScopeWork";
import { scopeTree, type ScopeNode } from "./tree";
import { WorkflowEditor } from "./WorkflowEditor";

const TABS = ["steps", "versions"] as const;

function describe({ active, versions, unreadable }: ScopeNode): string {
  if (!active) return versions.length ? `${plural(versions.length, "version")}, none in force` : plural(unreadable.length, "unreadable version");
  const guards = active.workflow_payload.guardrails?.length ?? 0;
  return [active.name, guards ? plural(guards, "guardrail") : "no guardrails"].join(" · ");
}

export default function WorkflowsPage() {
  const [filters, setFilters] = useFilters({ open: "", tab: "steps", version: "" }, { tab: TABS });
  const [editing, setEditing] = useState<{ from: Version | null } | null>(null);
  const versions = useVersions();
  const phone = usePhone();
  const { can } = useSession();
  const writable = can("admin:workflows:write");
  const nodes = scopeTree(versions.data ?? []);
  // `open` is the key of a scope, or the id of one of its versions, which links from other pages have.
  const found = nodes.find((node) => node.key === filters.open || node.versions.some((version) => version.id === filters.open));
  const chosen = found ?? (phone ? undefined : nodes[0]);
  const create = () => setEditing({ from: null });
  useShortcut("c", create, writable);

  return (
    <Page
      title="Workflows"
      sub="The most specific scope applies: the deepest path, then provider and model, provider, all calls."
      actions={
        writable && (
          <Button look="primary" icon={Plus} shortcut="C" onClick={create}>
            Create workflow
          </Button>
        )
      }
      flush
    >
      <SplitView
        label={chosen?.title ?? "Workflow"}
        open={Boolean(chosen)}
        back="Workflows"
        onBack={() => setFilters({ open: null, tab: null, version: null })}
        list={
          <SideList
            label="Scopes"
            rows={nodes}
            rowKey={(node) => node.key}
            selected={chosen?.key ?? null}
            onSelect={(node) => setFilters({ open: node.key, version: null }, { push: phone })}
            level={(node) => node.level}
            icon={(node) => (node.scope.scope_provider_name ? <Server aria-hidden /> : node.scope.scope_user_path ? <Folder aria-hidden /> : <Globe aria-hidden />)}
            title={(node) => node.short}
            sub={describe}
            end={(node) => (node.active?.error || node.unreadable.length ? <StatusIcon kind="bad" /> : node.active ? <Tag>{node.active.managed_default ? "built in" : `v${node.active.version}`}</Tag> : <Tag>off</Tag>)}
            loading={versions.isPending}
            error={versions.error}
            onRetry={() => void versions.refetch()}
            empty={<EmptyState icon={Workflow} title="No workflows yet" />}
          />
        }
      >
        {chosen && (
          <ScopeWork
            key={chosen.key}
            node={chosen}
            tab={filters.tab === "versions" ? "versions" : "steps"}
            onTab={(tab) => setFilters({ tab })}
            version={filters.version}
            onVersion={(version) => setFilters({ version })}
            onEdit={writable ? (from) => setEditing({ from }) : undefined}
          />
        )}
      </SplitView>
      {editing && <WorkflowEditor from={editing.from} onClose={() => setEditing(null)} onSaved={(id) => setFilters({ open: id, version: null })} />}
    </Page>
  );
}

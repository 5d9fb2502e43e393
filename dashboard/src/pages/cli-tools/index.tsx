import { Link } from "@tanstack/react-router";
import { ExternalLink, Play, Undo2 } from "lucide-react";
import { useState } from "react";
import { api } from "@/api/client";
import type { ApiError } from "@/api/errors";
import { useSave } from "@/api/save";
import { useFilters } from "@/app/filters";
import { Page } from "@/app/Page";
import { useSession } from "@/app/session";
import { Button, buttonClass } from "@/components/Button";
import { CopyAs } from "@/components/CopyAs";
import { cx } from "@/components/cx";
import { ConfirmDialog } from "@/components/Dialog";
import { ErrorNote } from "@/components/EmptyState";
import { Prose } from "@/components/Prose";
import { Note } from "@/components/Note";
import { SkeletonRows } from "@/components/Skeleton";
import { Mark, Tag } from "@/components/Status";
import { handedKey } from "./key";
import { Preview } from "./Preview";
import { bodyOf, useTools, type CliTool, type Connection } from "./queries";
import { ToolForm } from "./ToolForm";

const EMPTY: Connection = { api_key: "", base_url: "", model: "", model_overrides: {}, models: [] };

/** Connects coding agents: what to put in which file, and for some the gateway writes it. */
export default function CliToolsPage() {
  const [filters, setFilters] = useFilters({ tool: "" });
  const tools = useTools();
  const [connection, setConnection] = useState<Connection>({ ...EMPTY, api_key: handedKey() });
  const chosen = tools.data?.find((tool) => tool.id === filters.tool) ?? tools.data?.[0];
  const change = (next: Partial<Connection>) => setConnection((before) => ({ ...before, ...next }));
  return (
    <Page flush title="CLI tools" sub="Connect a coding agent to this gateway">
      {tools.error && !tools.data ? (
        <ErrorNote error={tools.error} onRetry={() => void tools.refetch()} />
      ) : !tools.data ? (
        <SkeletonRows rows={10} columns={3} />
      ) : (
        <div className="grid min-h-0 flex-1 grid-cols-[280px_minmax(0,1fr)] phone:grid-cols-1">
          <nav aria-label="Tools" className="border-r border-line py-2 phone:flex phone:overflow-x-auto phone:border-r-0 phone:border-b phone:px-2">
            {tools.data.map((tool) => (
              <button
                key={tool.id}
                type="button"
                aria-current={tool.id === chosen?.id || undefined}
                onClick={() => {
                  setFilters({ tool: tool.id }, { push: true });
                  change({ model_overrides: {} });
                }}
                className={cx("flex h-10 w-full items-center gap-2.5 px-6 text-left hover:bg-hover phone:w-auto phone:flex-none phone:rounded-md phone:px-3", tool.id === chosen?.id && "bg-selected font-medium")}
              >
                <Mark name={tool.name} />
                <span className="min-w-0 flex-1 truncate">{tool.name}</span>
                {tool.can_apply && <span className="phone:hidden"><Tag>can be applied</Tag></span>}
              </button>
            ))}
          </nav>
          {chosen && <ToolView key={chosen.id} tool={chosen} connection={connection} onChange={change} />}
        </div>
      )}
    </Page>
  );
}

function ToolView({ tool, connection, onChange }: { tool: CliTool; connection: Connection; onChange: (change: Partial<Connection>) => void }) {
  return (
    <div className="min-w-0 bg-surface px-7 pt-5 pb-8 phone:px-4">
      <div className="max-w-[860px] space-y-5">
        <header className="flex flex-wrap items-start gap-3">
          <div className="min-w-0 flex-1 phone:basis-full">
            <h2 className="text-heading font-strong">{tool.name}</h2>
            <p className="mt-0.5 text-ink-2">{tool.description}</p>
          </div>
          <CopyAs call={{ method: "POST", path: `/admin/api/v1/cli-tools/${tool.id}/preview`, body: { ...bodyOf(connection), api_key: "your-gateway-key" } }} />
          {tool.docs_url && (
            <a href={tool.docs_url} target="_blank" rel="noreferrer" className={buttonClass({ look: "quiet" })}>
              <ExternalLink aria-hidden />
              Documentation
            </a>
          )}
        </header>
        <ToolForm tool={tool} value={connection} onChange={onChange} />
        {tool.notes.map((note) => (
          <Note key={note} className="text-small"><Prose text={note} /></Note>
        ))}
        {tool.can_apply && <ApplyBar tool={tool} connection={connection} />}
        <Preview tool={tool} connection={connection} />
      </div>
    </div>
  );
}

/** Writes the files on the gateway's own machine, or puts them back. */
function ApplyBar({ tool, connection }: { tool: CliTool; connection: Connection }) {
  const session = useSession();
  const [asking, setAsking] = useState<"apply" | "reset" | null>(null);
  const [refused, setRefused] = useState<ApiError | null>(null);
  const params = { path: { tool: tool.id } };
  const reset = () => api.POST("/admin/api/v1/cli-tools/{tool}/reset", { params });
  const onError = (error: ApiError) => {
    setRefused(error);
    setAsking(null);
    return true;
  };
  const onSuccess = () => {
    setRefused(null);
    setAsking(null);
  };
  const apply = useSave({
    write: () => api.POST("/admin/api/v1/cli-tools/{tool}/apply", { params, body: bodyOf(connection) }),
    done: (result) => ({ title: result.applied ? `Wrote ${result.path}` : "The files had this content already", detail: result.backup_path ? `Backup: ${result.backup_path}` : undefined }),
    undo: () => reset(),
    onSuccess,
    onError,
  });
  const undo = useSave({ write: reset, done: (result) => ({ title: "Put back as before", detail: [...result.restored, ...result.removed.map((path) => `${path} removed`)].join(", ") }), onSuccess, onError });
  if (!session.can("admin:cli-tools:write")) return null;
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <Button look="primary" icon={Play} disabled={!connection.api_key} onClick={() => setAsking("apply")}>
          Apply on this machine
        </Button>
        <Button icon={Undo2} onClick={() => setAsking("reset")}>
          Reset
        </Button>
        <span className="text-small text-ink-3">{connection.api_key ? <>Writes <code>{tool.config_path}</code> where the gateway runs, with a backup.</> : "Needs a gateway key."}</span>
      </div>
      {refused && (
        <Note kind="bad" action={refused.code === "cli_apply_disabled" ? <Link to="/settings" search={{ search: "CLI_TOOLS_APPLY_ENABLED" }} className="link whitespace-nowrap">Open settings</Link> : undefined}>
          {refused.message}
        </Note>
      )}
      {asking === "apply" && <ConfirmDialog danger={false} title={`Apply ${tool.name}`} body={<>Writes the files below on the machine of the gateway, for the user it runs as. Existing files are kept as a backup; Reset restores them.</>} confirm="Apply" busy={apply.busy} onConfirm={() => apply.mutate({ input: undefined })} onClose={() => setAsking(null)} />}
      {asking === "reset" && <ConfirmDialog title={`Reset ${tool.name}`} body="Puts the files back as they were before the last time they were applied." confirm="Reset files" busy={undo.busy} onConfirm={() => undo.mutate({ input: undefined })} onClose={() => setAsking(null)} />}
    </>
  );
}

import { History } from "lucide-react";
import { useState } from "react";
import { api, type Schema } from "@/api/client";
import { useResource } from "@/api/query";
import { useSave } from "@/api/save";
import { Button } from "@/components/Button";
import { ConfirmDialog } from "@/components/Dialog";
import { Drawer } from "@/components/Drawer";
import { EmptyState, ErrorNote } from "@/components/EmptyState";
import { SkeletonRows } from "@/components/Skeleton";
import { moment } from "@/format";
import { rates } from "./queries";

type Revision = Schema<"RevisionView">;

/** Changes of price overrides, newest first; each state can be restored. */
export function PriceHistory({ writable, onClose }: { writable: boolean; onClose: () => void }) {
  const [asking, setAsking] = useState<Revision | null>(null);
  const list = useResource(["model-pricing", "revisions"], (signal) => api.GET("/admin/api/v1/model-pricing/revisions", { params: { query: { limit: 100 } }, signal }));
  const restore = useSave<number, Schema<"RestoreResult">>({
    write: (id) => api.POST("/admin/api/v1/model-pricing/revisions/{id}/restore", { params: { path: { id } } as never }),
    invalidates: [["model-pricing"], ["models"]],
    done: (result) => ({ title: `Prices are as after revision ${result.restored}`, detail: `${result.created} created, ${result.updated} updated, ${result.deleted} deleted.` }),
    onSuccess: () => setAsking(null),
  });
  if (asking) return <ConfirmDialog danger={false} title={`Restore revision ${asking.revision}?`} body={<p>All overrides become as they were after {moment(asking.at)}. Later changes stay in the history, so this can be taken back.</p>} confirm="Restore" busy={restore.busy} onConfirm={() => restore.mutate({ input: asking.revision })} onClose={() => setAsking(null)} />;
  const rows = list.data?.entries ?? [];
  return (
    <Drawer title="History of prices" onClose={onClose}>
      {list.error ? (
        <ErrorNote error={list.error} onRetry={() => void list.refetch()} />
      ) : list.isPending ? (
        <SkeletonRows rows={6} columns={2} />
      ) : rows.length === 0 ? (
        <EmptyState small icon={History} title="No changes yet">Every change of an override is kept here.</EmptyState>
      ) : (
        <ol className="-mt-2">
          {rows.map((row) => (
            <li key={row.revision} className="flex items-start gap-3 border-b border-line py-2.5 last:border-0">
              <div className="min-w-0 flex-1">
                <div className="[overflow-wrap:anywhere]"><span className="font-medium">{row.selector}</span> <span className="text-ink-2">{row.action}</span></div>
                <div className="num text-small text-ink-2">{row.before ? rates(row.before) : "–"} → {row.after ? rates(row.after) : "–"}</div>
                <div className="text-small text-ink-3">{moment(row.at)} · {row.actor}</div>
              </div>
              {writable && <Button size="sm" onClick={() => setAsking(row)}>Restore</Button>}
            </li>
          ))}
        </ol>
      )}
    </Drawer>
  );
}

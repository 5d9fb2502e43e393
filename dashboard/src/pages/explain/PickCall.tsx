import { useState } from "react";
import { Drawer } from "@/components/Drawer";
import { EmptyState } from "@/components/EmptyState";
import { SearchInput } from "@/components/Input";
import { httpKind, Status } from "@/components/Status";
import { Table, type Column } from "@/components/Table";
import { time } from "@/format";
import { callerName } from "@/pages/audit/columns";
import type { Entry } from "@/pages/audit/types";
import { useCalls } from "./queries";

const COLUMNS: Column<Entry>[] = [
  { key: "time", title: "Time", phone: "sub", className: "num text-ink-2", cell: (row) => time(row.timestamp) },
  { key: "status", title: "Status", phone: "end", cell: (row) => <Status kind={httpKind(row.status_code)} className="num">{row.status_code}</Status> },
  { key: "model", title: "Model", phone: "title", cell: (row) => <span className="block max-w-44 truncate font-medium">{row.requested_model}</span> },
  { key: "caller", title: "Caller", phone: "sub", cell: (row) => <span className="block max-w-36 truncate text-ink-2">{callerName(row)}</span> },
];

/** The newest audited calls with a body, to explain one of them again. */
export function PickCall({ onPick, onClose }: { onPick: (id: string) => void; onClose: () => void }) {
  const [search, setSearch] = useState("");
  const calls = useCalls(search);
  return (
    <Drawer title="Pick a call" sub="Its body, route and key are filled in" onClose={onClose}>
      <SearchInput label="Request id, model, path, error" value={search} onChange={setSearch} className="mb-3 max-w-none!" />
      <Table label="Calls" rows={(calls.data?.entries ?? []).filter((row) => row.method === "POST" && row.data.request_body != null)} columns={COLUMNS} rowKey={(row) => row.id} loading={calls.isPending} error={calls.error} onRetry={() => void calls.refetch()} onOpen={(row) => onPick(row.id)} empty={<EmptyState small title="No calls with a body">Bodies are recorded with <code>LOGGING_LOG_BODIES</code>.</EmptyState>} />
    </Drawer>
  );
}

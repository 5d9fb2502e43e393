import { Status } from "@/components/Status";
import { Table, type Column } from "@/components/Table";
import { ago, moment } from "@/format";
import type { Version } from "./queries";

const COLUMNS: Column<Version>[] = [
  { key: "version", title: "Version", cell: (row) => <span className="num">{row.managed_default ? "built in" : `v${row.version}`}</span>, phone: "title" },
  { key: "name", title: "Name", cell: (row) => <span className="block max-w-72 truncate">{row.name}{row.description && <span className="text-ink-3"> · {row.description}</span>}</span>, phone: "sub" },
  { key: "by", title: "Created by", cell: (row) => row.created_by },
  { key: "at", title: "Created", align: "right", cell: (row) => <span title={moment(row.created_at)}>{row.created_at ? ago(row.created_at) : "with the gateway"}</span>, phone: "subEnd" },
  { key: "state", title: "State", cell: (row) => (row.error ? <Status kind="bad">Does not compile</Status> : row.active ? <Status kind="ok">In force</Status> : <span className="text-ink-3">–</span>), phone: "end" },
];

/** The versions of a scope, newest first; one opens with its difference from the version in force. */
export function VersionsTable({ versions, selected, onOpen }: { versions: Version[]; selected: string | null; onOpen: (version: Version) => void }) {
  return (
    <div className="overflow-hidden rounded-lg border border-line">
      <Table label="Versions" rows={versions} columns={COLUMNS} rowKey={(row) => row.id} selected={selected} onOpen={onOpen} />
    </div>
  );
}

import { Lock, RotateCw } from "lucide-react";
import { Tag } from "@/components/Status";
import { Table, type Column } from "@/components/Table";
import { shownValue, type Setting } from "./queries";
import { Prose } from "@/components/Prose";

const SOURCES: Record<Setting["source"], string> = { default: "default", file: "file", admin: "dashboard or API", env: "environment" };

/** The source of a setting's value. */
export function Source({ setting }: { setting: Setting }) {
  return <Tag kind={setting.source === "admin" ? "accent" : "neutral"}>{SOURCES[setting.source]}</Tag>;
}

const COLUMNS: Column<Setting>[] = [
  {
    key: "name",
    title: "Setting",
    phone: "title",
    className: "max-w-0 w-[52%]",
    cell: (row) => (
      <span className="block min-w-0 py-1.5">
        <code className="block truncate text-ink">{row.name}</code>
        <span className="block truncate text-small text-ink-3 phone:hidden" title={row.description}>
          <Prose text={row.description} />
        </span>
      </span>
    ),
  },
  { key: "value", title: "Value", phone: "end", className: "max-w-44", cell: (row) => <code className={row.value === "" ? "text-ink-3" : "block truncate"}>{row.secret && row.value !== "" ? "set" : shownValue(row.value)}</code> },
  { key: "default", title: "Default", className: "max-w-32 narrow:hidden", cell: (row) => <code className="block truncate text-ink-3">{row.value === row.default ? "same" : shownValue(row.default)}</code> },
  { key: "source", title: "Source", phone: "sub", cell: (row) => <Source setting={row} /> },
  {
    key: "state",
    title: "Change",
    phone: "subEnd",
    cell: (row) =>
      row.restart_pending ? (
        <Tag kind="warn" icon={RotateCw}>
          restart to apply
        </Tag>
      ) : row.locked ? (
        <span className="inline-flex items-center gap-1.5 align-middle text-small text-ink-3">
          <Lock aria-hidden className="size-3.5" /> locked
        </span>
      ) : (
        <span className="text-small text-ink-2">{row.restart_required ? "after a restart" : "live"}</span>
      ),
  },
];

/** Settings with value, default, source and lock. */
export function SettingsTable({ rows, selected, onOpen }: { rows: Setting[]; selected: string | null; onOpen: (setting: Setting) => void }) {
  return (
    <div className="overflow-hidden rounded-lg border border-line">
      <Table label="Settings" rows={rows} columns={COLUMNS} rowKey={(row) => row.name} selected={selected} onOpen={onOpen} rowHeight={52} />
    </div>
  );
}

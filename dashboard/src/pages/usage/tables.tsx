import { Link } from "@tanstack/react-router";
import { Bar } from "@/components/LimitBar";
import { PhoneUnit } from "@/components/PhoneUnit";
import { httpKind, Status, Tag } from "@/components/Status";
import type { Column } from "@/components/Table";
import type { Schema } from "@/api/client";
import { ago, callCost, compact, count, money, NONE, percent, time, day } from "@/format";
import type { Call, Group, Row } from "./queries";

export const GROUPS: Record<Group, { title: string; filter: "model" | "provider" | "user_path" | "key" }> = {
  model: { title: "Model", filter: "model" },
  provider: { title: "Provider", filter: "provider" },
  user_path: { title: "Path", filter: "user_path" },
  auth_key: { title: "Key", filter: "key" },
};

export const valueOf = (row: Row, by: Group) =>
  (by === "model" ? row.model : by === "provider" ? row.provider_name : by === "user_path" ? row.user_path : row.auth_key_id) ?? "";

/** The columns of sums by group; each name leads to its calls. */
export function groupColumns(by: Group, total: number, search: Record<string, string | undefined>, nameOf: (name: string) => string): Column<Row>[] {
  const { title, filter } = GROUPS[by];
  const none = by === "auth_key" ? "master key" : "refused before one was chosen";
  return [
    {
      key: "name",
      title,
      phone: "title",
      className: "max-w-0 w-2/5",
      cell: (row) => {
        const value = valueOf(row, by);
        return value ? (
          <Link to="/usage" search={{ ...search, by: "calls", [filter]: value }} className="block truncate font-medium hover:underline" title={value}>
            {nameOf(value)}
          </Link>
        ) : (
          <span className="text-ink-3">{none}</span>
        );
      },
    },
    { key: "requests", title: "Requests", align: "right", phone: "sub", cell: (row) => <>{count(row.requests)}<PhoneUnit>requests</PhoneUnit></> },
    { key: "input", title: "Input tokens", align: "right", cell: (row) => compact(row.input_tokens) },
    { key: "output", title: "Output tokens", align: "right", cell: (row) => compact(row.output_tokens) },
    {
      key: "cost",
      title: "Cost",
      align: "right",
      phone: "end",
      cell: (row) =>
        row.total_cost == null ? <Tag kind={row.total_tokens ? "warn" : "neutral"}>{row.total_tokens ? "unpriced" : "no tokens"}</Tag> : money(row.total_cost),
    },
    {
      key: "share",
      title: "Share",
      align: "right",
      phone: "subEnd",
      cell: (row) => <span className="text-ink-2">{percent(total && row.total_cost != null ? row.total_cost / total : null)}</span>,
    },
    { key: "bar", title: "", className: "w-32", cell: (row) => <Bar share={total ? (row.total_cost ?? 0) / total : 0} /> },
  ];
}

export const CALL_COLUMNS: Column<Call>[] = [
  {
    key: "time",
    title: "Time",
    phone: "sub",
    cell: (row) => (
      <span className="num text-ink-2">
        {day(row.timestamp)} {time(row.timestamp)}
      </span>
    ),
  },
  {
    key: "status",
    title: "Status",
    phone: "end",
    cell: (row) => (
      <Status kind={httpKind(row.status_code)}>
        <span className="num">{row.status_code}</span>
      </Status>
    ),
  },
  {
    key: "model",
    title: "Model",
    phone: "title",
    className: "max-w-64",
    cell: (row) => (
      <span className="block truncate" title={`${row.provider_name}/${row.model}`}>
        {row.model || row.requested_model || NONE} <span className="text-small text-ink-3">{row.provider_name}</span>
      </span>
    ),
  },
  { key: "path", title: "Path", className: "max-w-56", cell: (row) => <span className="block truncate text-ink-2">{row.user_path}</span> },
  { key: "cache", title: "Cache", cell: (row) => (row.cache_type ? <Tag>{row.cache_type}</Tag> : <span className="text-ink-3">{NONE}</span>) },
  { key: "input", title: "Input", align: "right", cell: (row) => count(row.input_tokens) },
  { key: "output", title: "Output", align: "right", cell: (row) => count(row.output_tokens) },
  {
    key: "cost",
    title: "Cost",
    align: "right",
    phone: "subEnd",
    cell: (row) =>
      row.total_tokens || row.total_cost != null ? <span title={row.caveat ?? undefined}>{callCost(row.total_cost, { estimated: row.estimated })}</span> : NONE,
  },
];

export const UNPRICED_COLUMNS: Column<Schema<"UnpricedView">>[] = [
  { key: "model", title: "Model", phone: "title", cell: (row) => <b className="font-medium">{row.model}</b> },
  { key: "provider", title: "Provider", phone: "sub", cell: (row) => row.provider_name },
  { key: "requests", title: "Requests", align: "right", phone: "end", cell: (row) => <>{count(row.requests)}<PhoneUnit>requests</PhoneUnit></> },
  { key: "input", title: "Input tokens", align: "right", cell: (row) => compact(row.input_tokens) },
  { key: "output", title: "Output tokens", align: "right", cell: (row) => compact(row.output_tokens) },
  { key: "seen", title: "Last seen", align: "right", phone: "subEnd", cell: (row) => <span className="text-ink-2">{ago(row.last_seen)}</span> },
  {
    key: "fix",
    title: "",
    align: "right",
    cell: (row) => (
      <Link className="link" to="/models" search={{ tab: "pricing", search: row.model }}>
        Set a price
      </Link>
    ),
  },
];

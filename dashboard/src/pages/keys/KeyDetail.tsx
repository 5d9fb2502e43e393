import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { useSession } from "@/app/session";
import { Button } from "@/components/Button";
import { BarChart } from "@/components/charts/BarChart";
import { allDays, dayTime, shiftDay } from "@/components/charts/days";
import { CopyAs } from "@/components/CopyAs";
import { Drawer } from "@/components/Drawer";
import { EmptyState, ErrorNote } from "@/components/EmptyState";
import { Facts, KeyValues } from "@/components/Panel";
import { Segmented } from "@/components/Segmented";
import { SkeletonRows } from "@/components/Skeleton";
import { ago, compact, count, day, isoDay, moment, money, NONE, zoneLabel } from "@/format";
import { bodyOf, draftOf } from "./draft";
import { useKey, useKeyStats, type Key } from "./queries";
import { KeyLimits, KeyState } from "./state";

export type KeyAction = "edit" | "rotate" | "switch" | "delete";

/** The inspector of a key: its rules, limits, and usage by day and model. */
export function KeyDetail({
  id,
  listed,
  onClose,
  onAction,
}: {
  id: string;
  listed: Key | undefined;
  onClose: () => void;
  onAction: (action: KeyAction, key: Key) => void;
}) {
  const read = useKey(id, !listed);
  const key = listed ?? read.data;
  const may = useSession().can("admin:auth-keys:write");
  return (
    <Drawer
      inspector
      title={key?.name ?? "Key"}
      sub={key && <code>{key.redacted_value}</code>}
      onClose={onClose}
      footer={
        key && (
          <>
            <CopyAs call={{ method: "GET", path: `/admin/api/v1/auth-keys/${key.id}` }} yaml={bodyOf(draftOf(key))} />
            {may && (
              <span className="ml-auto flex flex-wrap justify-end gap-2">
                <Button look="danger" onClick={() => onAction("delete", key)}>
                  Delete key
                </Button>
                <Button onClick={() => onAction("switch", key)}>{key.enabled ? "Deactivate" : "Reactivate"}</Button>
                <Button onClick={() => onAction("rotate", key)}>Rotate</Button>
                <Button look="primary" onClick={() => onAction("edit", key)}>
                  Edit
                </Button>
              </span>
            )}
          </>
        )
      }
    >
      {key ? (
        <div className="space-y-5">
          <Rules state={key} />
          <section aria-label="Limits">
            <h3 className="mb-1 font-strong">Limits now</h3>
            <KeyLimits state={key} most={5} />
          </section>
          <Stats id={id} />
        </div>
      ) : read.error ? (
        <ErrorNote error={read.error} onRetry={() => void read.refetch()} />
      ) : (
        <SkeletonRows rows={6} columns={2} />
      )}
    </Drawer>
  );
}

const list = (values: string[] | null | undefined, none: string) => (values == null ? none : values.length ? values.join(", ") : "nothing");

function Rules({ state: key }: { state: Key }) {
  const items = [
    { label: "State", value: <KeyState state={key} /> },
    { label: "Id", value: key.id, mono: true },
    ...(key.description ? [{ label: "Description", value: key.description }] : []),
    {
      label: "Path",
      value: (
        <Link className="link" to="/usage" search={{ user_path: key.user_path ?? "/" }}>
          {key.user_path ?? "/"}
        </Link>
      ),
    },
    ...(key.tenant_id ? [{ label: "Tenant", value: key.tenant_id, mono: true }] : []),
    { label: "Scopes", value: key.scopes.join(", "), mono: true },
    { label: "Models", value: list(key.allowed_models, "all") },
    ...(key.denied_models?.length ? [{ label: "Denied models", value: list(key.denied_models, "none") }] : []),
    ...(key.allowed_providers ? [{ label: "Providers", value: list(key.allowed_providers, "all") }] : []),
    ...(key.provider_pool_id ? [{ label: "Pool", value: key.provider_pool_id }] : []),
    { label: "Ends", value: key.expiry ? moment(key.expiry) : "never" },
    { label: "Last used", value: key.last_used_at ? `${ago(key.last_used_at)}, ${moment(key.last_used_at)}` : "never" },
    { label: "Created", value: moment(key.created_at) },
    ...(key.previous ?? []).map((old) => ({
      label: "Old value",
      value: (
        <>
          <code>{old.redacted_value}</code> until {moment(old.valid_until)}
        </>
      ),
    })),
  ];
  return <KeyValues items={items} />;
}

const RANGES = [
  { value: "7", label: "7 d" },
  { value: "30", label: "30 d" },
  { value: "90", label: "90 d" },
] as const;

function Stats({ id }: { id: string }) {
  const [days, setDays] = useState<"7" | "30" | "90">("30");
  const stats = useKeyStats(id, Number(days));
  const data = stats.data;
  const chart = useMemo(() => {
    const today = isoDay(Date.now());
    const all = allDays(data?.daily ?? [], shiftDay(today, 1 - Number(days)), today);
    return { times: all.map((each) => dayTime(each.date)), series: [{ name: "Requests", values: all.map((each) => each.row?.requests ?? 0) }] };
  }, [data, days]);
  const calls = { by: "calls", key: id, days };
  return (
    <section aria-label="Usage">
      <div className="mb-3 flex items-center gap-3 border-t border-line pt-4">
        <h3 className="font-strong">Usage</h3>
        <span className="text-small text-ink-3">days in {zoneLabel()}</span>
        <Segmented label="Range" size="sm" className="ml-auto" value={days} onChange={setDays} options={RANGES} />
      </div>
      {stats.error ? (
        <ErrorNote error={stats.error} onRetry={() => void stats.refetch()} />
      ) : !data ? (
        <SkeletonRows rows={4} columns={3} />
      ) : !data.requests ? (
        <EmptyState small title="No calls in this range">
          The first call with this key appears here.
        </EmptyState>
      ) : (
        <>
          <Facts
            items={[
              {
                label: "Requests",
                value: (
                  <Link className="hover:underline" to="/usage" search={calls}>
                    {count(data.requests)}
                  </Link>
                ),
              },
              {
                label: "Errors",
                value: (
                  <Link className="hover:underline" to="/audit" search={{ auth_key_id: id, status: "error", days }}>
                    {count(data.errors)}
                  </Link>
                ),
              },
              { label: "Tokens", value: compact(data.total_tokens) },
              { label: "Cost", value: money(data.total_cost) },
            ]}
          />
          <div className="mt-3">
            <BarChart
              label={`Requests per day, ${count(data.requests)} in ${days} days`}
              {...chart}
              format={count}
              axisFormat={compact}
              timeLabel={(seconds) => day(seconds * 1000)}
              lastLabel="Today"
              running
              height={140}
            />
          </div>
          <table className="mt-3 w-full" aria-label="By model">
            <thead>
              <tr className="text-small text-ink-3 [&>th]:h-7 [&>th]:font-medium">
                <th scope="col" className="text-left">
                  Model
                </th>
                <th scope="col" className="text-right">
                  Requests
                </th>
                <th scope="col" className="text-right">
                  Tokens
                </th>
                <th scope="col" className="text-right">
                  Cost
                </th>
              </tr>
            </thead>
            <tbody>
              {data.by_model.map((row) => (
                <tr key={`${row.provider_name}/${row.model}`} className="border-t border-line [&>td]:h-8">
                  <td className="max-w-0 w-full truncate">
                    {row.model ? (
                      <Link className="hover:underline" to="/usage" search={{ ...calls, model: row.model }}>
                        {row.model}
                      </Link>
                    ) : (
                      <span className="text-ink-3">refused before a model was chosen</span>
                    )}{" "}
                    <span className="text-small text-ink-3">{row.provider_name}</span>
                  </td>
                  <td className="num pl-4 text-right">{count(row.requests)}</td>
                  <td className="num pl-4 text-right">{compact(row.total_tokens)}</td>
                  <td className="num pl-4 text-right">{row.model ? money(row.total_cost) : NONE}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
    </section>
  );
}

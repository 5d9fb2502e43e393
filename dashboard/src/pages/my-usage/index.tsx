import { useMemo, useState } from "react";
import { RotateCw } from "lucide-react";
import { api, type Schema } from "@/api/client";
import { useResource } from "@/api/query";
import { useFilters } from "@/app/filters";
import { Page } from "@/app/Page";
import { Button } from "@/components/Button";
import { BarChart } from "@/components/charts/BarChart";
import { allDays, dayTime, shiftDay } from "@/components/charts/days";
import { CopyAs } from "@/components/CopyAs";
import { EmptyState, ErrorNote } from "@/components/EmptyState";
import { FigureStrip } from "@/components/FigureStrip";
import { Bar, LimitBar } from "@/components/LimitBar";
import { usePhone } from "@/components/media";
import { KeyValues, Panel } from "@/components/Panel";
import { PhoneUnit } from "@/components/PhoneUnit";
import { RevealKey } from "@/components/RevealKey";
import { RotateDialog } from "@/components/RotateDialog";
import { Segmented } from "@/components/Segmented";
import { SkeletonRows } from "@/components/Skeleton";
import { Table, type Column } from "@/components/Table";
import { ago, compact, compactParts, count, day, isoDay, moment, money, moneyFigure, NONE, percent, zone, zoneLabel } from "@/format";
import { useRotateOwn } from "./rotate";

type Own = Schema<"OwnUsage">;
const DAYS = [
  { value: "7", label: "7 d" },
  { value: "30", label: "30 d" },
  { value: "90", label: "90 d" },
] as const;
const LIMIT_NAMES: Record<string, string> = {
  requests_per_minute: "Req/min",
  requests_per_day: "Req/day",
  tokens_per_minute: "Tok/min",
  tokens_per_day: "Tok/day",
  max_parallel_requests: "Parallel",
};
const FORMATS = { requests: count, tokens: count, cost: money };
type Shown = keyof typeof FORMATS;

const COLUMNS: Column<Own["by_model"][number]>[] = [
  {
    key: "model",
    title: "Model",
    phone: "title",
    cell: (row) =>
      row.model ? (
        <>
          {row.model} <span className="text-small text-ink-3">{row.provider_name}</span>
        </>
      ) : (
        <span className="text-ink-3">refused before a model was chosen</span>
      ),
  },
  { key: "requests", title: "Requests", align: "right", phone: "sub", cell: (row) => <>{count(row.requests)}<PhoneUnit>requests</PhoneUnit></> },
  { key: "tokens", title: "Tokens", align: "right", phone: "subEnd", cell: (row) => <>{compact(row.total_tokens)}<PhoneUnit>tokens</PhoneUnit></> },
  { key: "cost", title: "Cost", align: "right", phone: "end", cell: (row) => (row.total_tokens ? money(row.total_cost) : NONE) },
];

/** Usage, limits and budgets of the caller's own key, and its rotation. */
export default function MyUsagePage() {
  const [filters, setFilters] = useFilters({ days: "30", figure: "requests" }, { days: DAYS.map((each) => each.value), figure: Object.keys(FORMATS) });
  const query = { days: Number(filters.days), timezone: zone(), cache_mode: "all" as const };
  const own = useResource(["usage-me", query], (signal) => api.GET("/admin/api/v1/usage/me", { params: { query }, signal }), {
    keepPrevious: true,
    refetchInterval: 30_000,
  });
  const [asking, setAsking] = useState(false);
  const [made, setMade] = useState<Schema<"CreatedKey"> | null>(null);
  const rotate = useRotateOwn(own.data?.auth_key_id, (key) => {
    setAsking(false);
    setMade(key);
  });
  const close = () => {
    setAsking(false);
    rotate.clear();
  };
  const range = <Segmented label="Range" value={filters.days} onChange={(days) => setFilters({ days })} options={DAYS} />;
  const data = own.data;
  return (
    <Page
      title="My usage"
      toolbar={range}
      actions={
        <>
          <span className="text-small text-ink-3 phone:hidden">days in {zoneLabel()}</span>
          {data?.auth_key_id && (
            <Button icon={RotateCw} onClick={() => setAsking(true)}>
              Rotate key
            </Button>
          )}
        </>
      }
    >
      {made && (
        <RevealKey title="Your key has a new value. Copy it now; it is shown this once." value={made.key} onClose={() => setMade(null)}>
          {made.previous?.length ? `The old value works until ${moment(made.previous.at(-1)?.valid_until)}.` : "The old value has ended."}
        </RevealKey>
      )}
      <div className="mb-3 hidden phone:block">{range}</div>
      {own.error && !data ? (
        <ErrorNote error={own.error} onRetry={() => void own.refetch()} />
      ) : !data ? (
        <div className="rounded-lg border border-line bg-surface">
          <SkeletonRows rows={8} columns={4} />
        </div>
      ) : (
        <Content own={data} days={Number(filters.days)} figure={filters.figure as Shown} onFigure={(figure) => setFilters({ figure })} />
      )}
      {asking && data && (
        <RotateDialog name={data.name} busy={rotate.busy} asksValue error={rotate.error} onClose={close} onRotate={rotate.run} />
      )}
    </Page>
  );
}

function Content({ own, days, figure, onFigure }: { own: Own; days: number; figure: Shown; onFigure: (figure: string) => void }) {
  const phone = usePhone();
  const chart = useMemo(() => {
    const today = isoDay(Date.now());
    const all = allDays(own.daily, shiftDay(today, 1 - days), today);
    const value = (row: Own["daily"][number] | undefined) =>
      figure === "cost" ? (row ? (row.total_cost ?? null) : 0) : ((figure === "tokens" ? row?.total_tokens : row?.requests) ?? 0);
    return {
      times: all.map((each) => dayTime(each.date)),
      series: [{ name: figure.charAt(0).toUpperCase() + figure.slice(1), values: all.map((each) => value(each.row)) }],
    };
  }, [own, days, figure]);
  const figures = [
    {
      name: "requests",
      label: "Requests",
      ...compactParts(own.requests),
      delta: own.errors ? (
        <span>
          {count(own.errors)} failed ({percent(own.errors / own.requests)})
        </span>
      ) : undefined,
    },
    {
      name: "tokens",
      label: "Tokens",
      ...compactParts(own.total_tokens),
      delta: (
        <span>
          {compact(own.input_tokens)} in, {compact(own.output_tokens)} out
        </span>
      ),
    },
    { name: "cost", label: "Cost", value: own.requests && own.total_tokens ? moneyFigure(own.total_cost) : moneyFigure(own.total_cost ?? 0) },
  ];
  return (
    <div className="grid grid-cols-3 gap-4 narrow:grid-cols-1 phone:gap-3 [&>*]:min-w-0">
      <section aria-label="My usage over time" className="col-span-2 rounded-lg border border-line bg-surface narrow:col-span-1">
        <FigureStrip label="Figure shown in the chart" figures={figures} picked={figure} onPick={onFigure} className="phone:grid-cols-3" />
        <div role="tabpanel" aria-label={figure} className="px-4 py-3">
          {own.requests ? (
            <BarChart
              label={`${figure} per day`}
              {...chart}
              format={FORMATS[figure]}
              axisFormat={figure === "cost" ? money : compact}
              timeLabel={(seconds) => day(seconds * 1000)}
              lastLabel="Today"
              running
              height={200}
              phone={phone}
            />
          ) : (
            <EmptyState small title="No calls in this range">
              Calls with your key appear here.
            </EmptyState>
          )}
        </div>
      </section>
      <Panel title="Your key" actions={<CopyAs label="Copy as…" call={{ method: "GET", path: "/admin/api/v1/usage/me" }} yaml={own} />}>
        <KeyValues
          className="px-4 pb-4"
          items={[
            { label: "Name", value: own.name },
            { label: "Path", value: own.user_path },
            { label: "Ends", value: own.expires_at ? moment(own.expires_at) : "never" },
            { label: "Id", value: own.auth_key_id ?? NONE, mono: true },
          ]}
        />
        <h3 className="border-t border-line px-4 pt-3 pb-2 font-strong">Limits now</h3>
        <div className="space-y-1 px-4 pb-4">
          {own.limits.length ? (
            own.limits.map((limit) => (
              <LimitBar key={limit.scope} label={LIMIT_NAMES[limit.scope] ?? limit.scope} used={limit.limit - limit.remaining} limit={limit.limit} />
            ))
          ) : (
            <p className="text-ink-3">Your key has no limits.</p>
          )}
        </div>
      </Panel>
      <Panel title="By model" className="col-span-2 overflow-hidden narrow:col-span-1">
        <Table
          label="Usage by model"
          rows={own.by_model}
          columns={COLUMNS}
          rowKey={(row) => `${row.provider_name}/${row.model}`}
          empty={<EmptyState small title="No calls in this range" />}
        />
      </Panel>
      <Panel title="Budgets" sub="that apply to your calls">
        <ul className="px-4 pb-3">
          {own.budgets.map((budget) => (
            <li key={`${budget.user_path} ${budget.period_label}`} className="border-line py-2 not-first:border-t">
              <div className="mb-1 flex items-baseline gap-2">
                <b className="truncate font-medium">{budget.user_path}</b>
                <span className="text-small text-ink-3">
                  {budget.period_label}, ends {ago(budget.period_end)}
                </span>
                {budget.remaining != null && <span className="num ml-auto whitespace-nowrap">{money(budget.remaining)} left</span>}
              </div>
              {budget.amount != null && budget.spent != null ? (
                <>
                  <Bar
                    share={budget.spent / budget.amount}
                    tone={budget.spent >= budget.amount ? "bad" : budget.spent >= 0.8 * budget.amount ? "warn" : "accent"}
                  />
                  <p className="num mt-1 text-small text-ink-3">
                    {money(budget.spent)} of {money(budget.amount)}
                    {budget.reserved ? `, ${money(budget.reserved)} held` : ""}
                  </p>
                </>
              ) : (
                <p className="text-small text-ink-3">{budget.fits ? "Not used up. The path above yours keeps its figures." : "Used up."}</p>
              )}
            </li>
          ))}
          {!own.budgets.length && <li className="py-2 text-ink-3">No budget applies to your path.</li>}
        </ul>
      </Panel>
    </div>
  );
}

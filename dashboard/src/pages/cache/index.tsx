import { Link } from "@tanstack/react-router";
import { Trash2 } from "lucide-react";
import { useMemo, useState } from "react";
import { api, type Schema } from "@/api/client";
import { ApiError } from "@/api/errors";
import { useResource } from "@/api/query";
import { useSave } from "@/api/save";
import { useFilters } from "@/app/filters";
import { Page } from "@/app/Page";
import { useSession } from "@/app/session";
import { Button, buttonClass } from "@/components/Button";
import { BarChart } from "@/components/charts/BarChart";
import { allDays, dayTime, shiftDay } from "@/components/charts/days";
import { swatch } from "@/components/charts/plot";
import { Dialog } from "@/components/Dialog";
import { EmptyState, ErrorNote } from "@/components/EmptyState";
import { Field, Form } from "@/components/Field";
import { FigureStrip } from "@/components/FigureStrip";
import { FilterChip } from "@/components/FilterChip";
import { Input } from "@/components/Input";
import { usePhone } from "@/components/media";
import { Segmented } from "@/components/Segmented";
import { SkeletonRows } from "@/components/Skeleton";
import { compact, compactParts, count, day, isoDay, moneyFigure, percent, plural, zone, zoneLabel } from "@/format";
import { Debugger } from "./Debugger";

const DAYS = [
  { value: "7", label: "7 d" },
  { value: "30", label: "30 d" },
  { value: "90", label: "90 d" },
] as const;

/** Hits, misses and savings of the response cache; purge; and why a call hits or misses. */
export default function CachePage() {
  const session = useSession();
  const [filters, setFilters] = useFilters({ days: "30", user_path: "" }, { days: DAYS.map((each) => each.value) });
  const [purging, setPurging] = useState(false);
  const query = { days: Number(filters.days), timezone: zone(), ...(filters.user_path && { user_path: filters.user_path }) };
  const cache = useResource(["cache-overview", query], (signal) => api.GET("/admin/api/v1/cache/overview", { params: { query }, signal }), {
    keepPrevious: true,
  });
  const range = <Segmented label="Range" value={filters.days} onChange={(days) => setFilters({ days })} options={DAYS} />;
  const off = cache.error instanceof ApiError && cache.error.unavailable;
  return (
    <Page
      title="Cache"
      toolbar={
        <>
          {range}
          <FilterChip label="Path" value={filters.user_path} onChange={(user_path) => setFilters({ user_path })} placeholder="/search" />
        </>
      }
      actions={
        <>
          <span className="text-small text-ink-3 phone:hidden">days in {zoneLabel()}</span>
          {session.can("admin:cache:write") && !off && (
            <Button look="danger" icon={Trash2} onClick={() => setPurging(true)}>
              Purge
            </Button>
          )}
        </>
      }
    >
      <div className="mb-3 hidden phone:block">{range}</div>
      {cache.error && !cache.data ? (
        <div className="rounded-lg border border-line bg-surface">
          <ErrorNote
            error={cache.error}
            onRetry={() => void cache.refetch()}
            actions={
              off ? (
                <Link to="/settings" search={{ search: "RESPONSE_CACHE_ENABLED" }} className={buttonClass({ look: "primary" })}>
                  Open the setting
                </Link>
              ) : undefined
            }
          />
        </div>
      ) : !cache.data ? (
        <div className="rounded-lg border border-line bg-surface">
          <SkeletonRows rows={8} columns={5} />
        </div>
      ) : (
        <div className="space-y-4">
          <CacheChart data={cache.data} days={Number(filters.days)} path={filters.user_path} />
          <Debugger />
        </div>
      )}
      {purging && <PurgeDialog onClose={() => setPurging(false)} />}
    </Page>
  );
}

function CacheChart({ data, days, path }: { data: Schema<"CacheOverviewView">; days: number; path: string }) {
  const phone = usePhone();
  const { summary } = data;
  const chart = useMemo(() => {
    const today = isoDay(Date.now());
    const all = allDays(data.daily, shiftDay(today, 1 - days), today);
    const of = (pick: (row: Schema<"CachePeriodView">) => number) => all.map((each) => (each.row ? pick(each.row) : 0));
    return {
      times: all.map((each) => dayTime(each.date)),
      series: [
        { name: "Exact hits", values: of((row) => row.exact_hits) },
        { name: "Semantic hits", values: of((row) => row.semantic_hits) },
        { name: "Misses", values: of((row) => row.misses), other: true },
      ],
    };
  }, [data, days]);
  const rows = { to: "/usage", search: { by: "calls", days: String(days), user_path: path || undefined } };
  const searched = summary.total_hits + summary.misses;
  const figures = [
    {
      name: "rate",
      label: "Hit rate",
      value: searched ? (summary.hit_rate * 100).toFixed(1) : "–",
      unit: searched ? "%" : "",
      delta: <span>{plural(searched, "search", "searches")}</span>,
      go: rows,
    },
    {
      name: "hits",
      label: "Hits",
      ...compactParts(summary.total_hits),
      delta: (
        <span>
          {count(summary.exact_hits)} exact, {count(summary.semantic_hits)} semantic
        </span>
      ),
      go: rows,
    },
    {
      name: "saved",
      label: "Saved",
      value: summary.total_hits ? moneyFigure(summary.total_saved_cost) : "$0",
      delta: <span>cost avoided by hits</span>,
      go: rows,
    },
    {
      name: "tokens",
      label: "Tokens saved",
      ...compactParts(summary.total_tokens),
      delta: <span>{compact(summary.total_output_tokens)} output</span>,
      go: rows,
    },
    {
      name: "false",
      label: "Wrong semantic hits",
      value: summary.false_hit_rate == null ? "–" : `≈ ${percent(summary.false_hit_rate)}`,
      delta: (
        <span>
          {summary.rechecks ? plural(summary.rechecks, "recheck") : "no rechecks"}
          {summary.shadow_hits ? `, ${count(summary.shadow_hits)} in shadow` : ""}
        </span>
      ),
    },
  ];
  return (
    <section aria-label="Cache over time" className="rounded-lg border border-line bg-surface">
      <FigureStrip label="Figures of the cache" figures={figures} />
      <div className="px-4 py-3">
        <div className="flex min-h-6 flex-wrap items-center gap-x-4 text-small text-ink-3">
          <b className="text-body font-medium text-ink">Searches by day</b>
          <span className="ml-auto flex flex-wrap gap-3">
            {chart.series.map((each, i) => (
              <span key={each.name} className="inline-flex items-center gap-1.5">
                <span aria-hidden className={swatch(i, Boolean(each.other))} />
                {each.name}
              </span>
            ))}
          </span>
        </div>
        {searched ? (
          <BarChart
            label={`Searches of the cache per day, ${count(summary.total_hits)} hits and ${count(summary.misses)} misses`}
            {...chart}
            format={count}
            axisFormat={compact}
            timeLabel={(seconds) => day(seconds * 1000)}
            lastLabel="Today"
            running
            height={200}
            phone={phone}
          />
        ) : (
          <EmptyState small title="The cache was not searched in this range">
            Calls that can be cached are counted from the first one on.
          </EmptyState>
        )}
      </div>
    </section>
  );
}

function PurgeDialog({ onClose }: { onClose: () => void }) {
  const [path, setPath] = useState("");
  const [model, setModel] = useState("");
  const [typed, setTyped] = useState("");
  const all = !path && !model;
  const purge = useSave<Record<string, string>, Schema<"CachePurgeResult">>({
    write: (body) => api.POST("/admin/api/v1/cache/purge", { body: body as Schema<"CachePurgeRequest"> }),
    invalidates: [["cache-overview"]],
    done: (result) => `${plural(result.purged, "answer")} removed`,
    onSuccess: onClose,
  });
  const ready = !all || typed === "purge";
  const submit = () => ready && !purge.busy && purge.mutate({ input: { ...(path && { user_path: path }), ...(model && { model }) } });
  return (
    <Dialog
      title="Purge the cache"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="danger-solid" disabled={!ready} busy={purge.busy} onClick={submit}>
            {all ? "Purge everything" : "Purge these"}
          </Button>
        </>
      }
    >
      <Form className="mt-2" onSubmit={submit}>
        <p className="text-ink-2">Stored answers are removed and cannot be brought back; the next calls go to the providers again.</p>
        <Field label="Path" aside="empty: all" hint="Answers for this path and those below.">
          <Input value={path} placeholder="/search" onChange={(event) => setPath(event.target.value)} />
        </Field>
        <Field label="Model" aside="empty: all" hint="Its name at the provider.">
          <Input value={model} onChange={(event) => setModel(event.target.value)} />
        </Field>
        {all && (
          <Field
            label={
              <>
                Type <code className="mx-0.5">purge</code> to confirm
              </>
            }
          >
            <Input autoComplete="off" value={typed} onChange={(event) => setTyped(event.target.value)} />
          </Field>
        )}
      </Form>
    </Dialog>
  );
}

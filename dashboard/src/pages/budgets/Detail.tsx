import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { useSession } from "@/app/session";
import { Button } from "@/components/Button";
import { BarChart } from "@/components/charts/BarChart";
import { CopyAs } from "@/components/CopyAs";
import { Drawer } from "@/components/Drawer";
import { EmptyState, ErrorNote } from "@/components/EmptyState";
import { Note } from "@/components/Note";
import { Facts, KeyValues } from "@/components/Panel";
import { SkeletonRows } from "@/components/Skeleton";
import { ago, clock, day, moment, money, percent } from "@/format";
import { bodyOf, draftOf, pathOf, periodOf, useForecast, useHistory, type Budget } from "./queries";
import { BudgetState, SpendBar } from "./Spend";

export type BudgetAction = "edit" | "reset" | "delete";

/** The inspector of a budget: state, forecast, closed windows, rules. */
export function BudgetDetail({ budget, onClose, onAction }: { budget: Budget; onClose: () => void; onAction: (action: BudgetAction, budget: Budget) => void }) {
  const may = useSession().can("admin:budgets:write");
  const draft = draftOf(budget);
  return (
    <Drawer
      inspector
      title={budget.user_path}
      sub={`${budget.period_label}, ends ${ago(budget.period_end)}`}
      onClose={onClose}
      footer={
        <>
          <CopyAs
            call={{ method: "PUT", path: pathOf(draft), body: bodyOf(draft) }}
            yaml={{ user_path: draft.user_path, period: draft.period, ...bodyOf(draft) }}
          />
          {may && (
            <span className="ml-auto flex gap-2">
              {budget.source === "manual" && !budget.parent && (
                <Button look="danger" onClick={() => onAction("delete", budget)}>
                  Delete budget
                </Button>
              )}
              <Button onClick={() => onAction("reset", budget)}>Reset</Button>
              <Button look="primary" onClick={() => onAction("edit", budget)}>
                Edit
              </Button>
            </span>
          )}
        </>
      }
    >
      <div className="space-y-5">
        <div>
          <Facts
            items={[
              {
                label: "Spent",
                value: (
                  <Link className="hover:underline" to="/usage" search={{ user_path: budget.user_path, by: "calls" }}>
                    {money(budget.spent)}
                  </Link>
                ),
                sub: percent(budget.usage_ratio),
              },
              { label: "Held", value: money(budget.reserved) },
              { label: "Left", value: money(budget.remaining) },
              { label: "Amount", value: money(budget.amount) },
            ]}
          />
          <div className="mt-3 flex items-center gap-3">
            <SpendBar budget={budget} className="w-full" />
            <BudgetState budget={budget} />
          </div>
        </div>
        <Outlook budget={budget} />
        <History budget={budget} />
        <section>
          <h3 className="mb-2 font-strong">Rules</h3>
          <KeyValues
            items={[
              { label: "Period", value: `${moment(budget.period_start)} – ${moment(budget.period_end)}` },
              { label: "A call that does not fit", value: budget.on_tight === "clamp" ? "its output is limited" : "is refused" },
              { label: "When used up", value: budget.on_exhausted === "downgrade" ? `calls go to ${budget.downgrade_to}` : "calls are refused" },
              { label: "Each path below", value: budget.child_default == null ? "shares this budget" : `gets ${money(budget.child_default)} of its own` },
              { label: "Agent runs", value: budget.per_run ? `each by itself, ${budget.active_runs ?? 0} active` : "share it" },
              { label: "Source", value: budget.parent ? `child amount of ${budget.parent}` : budget.source === "config" ? "configuration file" : "set here" },
              { label: "Last reset", value: moment(budget.last_reset_at) },
            ]}
          />
        </section>
      </div>
    </Drawer>
  );
}

function Outlook({ budget }: { budget: Budget }) {
  const forecast = useForecast(budget.user_path);
  const outlook = forecast.data?.forecasts.find((each) => each.period_label === budget.period_label);
  return (
    <section>
      <h3 className="mb-2 font-strong">Forecast</h3>
      {forecast.error ? (
        <ErrorNote error={forecast.error} onRetry={() => void forecast.refetch()} />
      ) : forecast.isPending ? (
        <SkeletonRows rows={2} columns={3} />
      ) : !outlook ? (
        <p className="text-ink-3">None for this period.</p>
      ) : (
        <>
          <Facts
            items={[
              { label: "At the end of the period", value: `≈ ${money(outlook.projected)}` },
              { label: "Now per hour", value: `≈ ${money(outlook.rate_per_hour)}` },
              { label: "Confidence", value: outlook.confidence },
            ]}
          />
          {outlook.exhausted_at && (
            <Note kind="warn" className="mt-3">
              At this rate it is used up {ago(outlook.exhausted_at)}, on {moment(outlook.exhausted_at)}.
            </Note>
          )}
        </>
      )}
    </section>
  );
}

function History({ budget }: { budget: Budget }) {
  const history = useHistory(budget.user_path, periodOf(budget));
  const windows = useMemo(
    () => (history.data?.windows ?? []).filter((each) => each.user_path === budget.user_path).reverse(),
    [history.data, budget.user_path],
  );
  const chart = useMemo(
    () => ({
      times: windows.map((each) => Date.parse(each.period_start) / 1000),
      series: [{ name: "Spent", values: windows.map((each) => each.spent) }],
      previous: windows.map((each) => each.amount ?? null),
    }),
    [windows],
  );
  const short = budget.period_seconds < 86_400;
  return (
    <section>
      <h3 className="mb-1 font-strong">
        History <span className="ml-1 text-small font-regular text-ink-3">closed periods; the mark is the amount</span>
      </h3>
      {history.error ? (
        <ErrorNote error={history.error} onRetry={() => void history.refetch()} />
      ) : history.isPending ? (
        <SkeletonRows rows={3} columns={3} />
      ) : !windows.length ? (
        <EmptyState small title="No closed period yet">
          The first one appears {ago(budget.period_end)}.
        </EmptyState>
      ) : (
        <BarChart
          label={`Spending of the last ${windows.length} periods, ${money(windows.at(-1)?.spent)} in the last`}
          {...chart}
          previousLabel="Amount"
          format={money}
          timeLabel={(seconds) => (short ? `${day(seconds * 1000)} ${clock(seconds * 1000)}` : day(seconds * 1000))}
          height={150}
        />
      )}
    </section>
  );
}

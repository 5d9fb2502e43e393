import { Link } from "@tanstack/react-router";
import { Plus, Settings2, Wallet } from "lucide-react";
import { useState } from "react";
import { useFilters } from "@/app/filters";
import { Page } from "@/app/Page";
import { useSession } from "@/app/session";
import { useShortcut } from "@/app/shortcuts";
import { Button } from "@/components/Button";
import { ConfirmDialog } from "@/components/Dialog";
import { EmptyState, NoMatch } from "@/components/EmptyState";
import { SearchInput } from "@/components/Input";
import { Menu } from "@/components/Menu";
import { Segmented } from "@/components/Segmented";
import { Tag } from "@/components/Status";
import { Table, type Column } from "@/components/Table";
import { ago, asOf, moment, money, percent, plural } from "@/format";
import { BudgetDetail, type BudgetAction } from "./Detail";
import { BudgetEditor } from "./Editor";
import { idOf, useBudgets, useDeleteBudget, useReset, type Budget } from "./queries";
import { BudgetSettings } from "./Settings";
import { BudgetState, SpendBar } from "./Spend";

const COLUMNS: Column<Budget>[] = [
  {
    key: "path",
    title: "Path",
    phone: "title",
    className: "max-w-72",
    cell: (row) => (
      <span className="flex min-w-0 items-center gap-1.5">
        <b className="truncate font-medium" title={row.user_path}>
          {row.user_path}
        </b>
        {row.per_run && <Tag>per run</Tag>}
        {row.parent && <Tag>from {row.parent}</Tag>}
        {row.source === "config" && !row.parent && <Tag>file</Tag>}
      </span>
    ),
  },
  {
    key: "period",
    title: "Period",
    phone: "sub",
    cell: (row) => (
      <span title={moment(row.period_end)}>
        {row.period_label} <span className="text-small text-ink-3">ends {ago(row.period_end)}</span>
      </span>
    ),
  },
  { key: "use", title: "Spent and held", cell: (row) => <SpendBar budget={row} /> },
  {
    key: "spent",
    title: "Spent",
    align: "right",
    phone: "subEnd",
    cell: (row) => (
      <Link to="/usage" search={{ user_path: row.user_path, by: "calls" }} className="hover:underline">
        {money(row.spent)}
      </Link>
    ),
  },
  { key: "held", title: "Held", align: "right", cell: (row) => <span className={row.reserved ? undefined : "text-ink-3"}>{money(row.reserved)}</span> },
  { key: "amount", title: "Amount", align: "right", cell: (row) => money(row.amount) },
  { key: "share", title: "Used", align: "right", cell: (row) => <span className="text-ink-2">{percent(row.usage_ratio)}</span> },
  { key: "state", title: "State", phone: "end", cell: (row) => <BudgetState budget={row} /> },
];
const rank = (row: Budget) => (row.spent + row.reserved) / (row.amount || 1);
type Asking = { what: "reset" | "delete"; budget: Budget } | { what: "all" } | null;

/** Budgets by path and period: spent, held, forecast, history. */
export default function BudgetsPage() {
  const may = useSession().can("admin:budgets:write");
  const [filters, setFilters] = useFilters({ search: "", state: "", open: "", edit: "" }, { state: ["", "near", "up"] });
  const budgets = useBudgets();
  const [asking, setAsking] = useState<Asking>(null);
  const all = budgets.data?.budgets ?? [];
  const near = all.filter((row) => rank(row) >= 0.8);
  const up = near.filter((row) => rank(row) >= 1);
  const chosen = filters.state === "up" ? up : filters.state === "near" ? near : all;
  const rows = chosen.filter((row) => row.user_path.toLowerCase().includes(filters.search.toLowerCase()));
  const byId = (id: string) => all.find((row) => idOf(row) === id);
  const open = byId(filters.open);
  const edited = byId(filters.edit);
  const reset = useReset(() => setAsking(null));
  const remove = useDeleteBudget(() => setAsking(null));
  const act = (what: BudgetAction, budget: Budget) => {
    setFilters({ open: null, ...(what === "edit" && { edit: idOf(budget) }) });
    if (what !== "edit") setAsking({ what, budget });
  };
  const create = () => setFilters({ edit: "new" });
  useShortcut("c", create, may);
  const createButton = may && (
    <Button look="primary" icon={Plus} shortcut="C" onClick={create}>
      Create budget
    </Button>
  );
  return (
    <Page
      title="Budgets"
      actions={
        <>
          <Button icon={Settings2} onClick={() => setFilters({ edit: "settings" })}>
            Settings
          </Button>
          {createButton}
        </>
      }
    >
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <SearchInput label="Path" value={filters.search} onChange={(search) => setFilters({ search })} />
        <Segmented
          label="State"
          value={filters.state}
          onChange={(state) => setFilters({ state })}
          options={[
            { value: "", label: "All", count: all.length },
            { value: "near", label: "Over 80%", count: near.length },
            { value: "up", label: "Used up", count: up.length },
          ]}
        />
        {may && all.length > 0 && (
          <Button look="quiet" onClick={() => setAsking({ what: "all" })}>
            Reset all
          </Button>
        )}
        {budgets.data && (
          <span className="num ml-auto text-small text-ink-3 phone:hidden">{asOf(budgets.data.server_time)} · the mark shows the elapsed time</span>
        )}
      </div>
      <div className="overflow-hidden rounded-lg border border-line bg-surface">
        <Table
          label="Budgets"
          rows={rows}
          columns={COLUMNS}
          rowKey={idOf}
          rowHeight={44}
          loading={budgets.isPending}
          error={budgets.error}
          onRetry={() => void budgets.refetch()}
          selected={filters.open || null}
          onOpen={(row) => setFilters({ open: idOf(row) })}
          actions={
            may
              ? (row) => (
                  <Menu
                    label={`Actions for ${row.user_path}`}
                    items={[
                      { label: "Edit", run: () => act("edit", row) },
                      { label: "Reset", run: () => act("reset", row) },
                      "separator",
                      { label: "Delete budget", danger: true, disabled: row.source !== "manual" || Boolean(row.parent), run: () => act("delete", row) },
                    ]}
                  />
                )
              : undefined
          }
          empty={
            all.length ? (
              <NoMatch what="budgets" onClear={() => setFilters({ search: null, state: null })} />
            ) : (
              <EmptyState icon={Wallet} title="No budgets yet" actions={createButton}>
                A budget limits what a path and those below it may spend in an hour, day, week or month. Calls that would exceed it are refused before they are
                sent.
              </EmptyState>
            )
          }
        />
      </div>
      {filters.edit === "settings" && <BudgetSettings writable={may} onClose={() => setFilters({ edit: null })} />}
      {(filters.edit === "new" || edited) && may && <BudgetEditor key={filters.edit} stored={edited} all={all} onClose={() => setFilters({ edit: null })} />}
      {open && <BudgetDetail key={filters.open} budget={open} onClose={() => setFilters({ open: null })} onAction={act} />}
      {asking?.what === "delete" && (
        <ConfirmDialog
          title={`Delete the ${asking.budget.period_label} budget of ${asking.budget.user_path}`}
          body="Calls of this path are no longer limited by it. Budgets of the paths above stay."
          confirm="Delete budget"
          busy={remove.busy}
          onConfirm={() => remove.mutate({ input: asking.budget })}
          onClose={() => setAsking(null)}
        />
      )}
      {asking?.what === "reset" && (
        <ConfirmDialog
          title={`Reset the ${asking.budget.period_label} budget of ${asking.budget.user_path}`}
          body={`The ${money(asking.budget.spent)} that are spent stop counting, so that the whole amount is free again. This cannot be undone; usage keeps every call.`}
          typed={asking.budget.user_path}
          confirm="Reset budget"
          busy={reset.busy}
          onConfirm={() => reset.mutate({ input: asking.budget })}
          onClose={() => setAsking(null)}
        />
      )}
      {asking?.what === "all" && (
        <ConfirmDialog
          title={`Reset ${plural(all.length, "budget")}`}
          body="Spending until now stops counting in every budget. This cannot be undone."
          typed="reset"
          confirm="Reset all"
          busy={reset.busy}
          onConfirm={() => reset.mutate({ input: null })}
          onClose={() => setAsking(null)}
        />
      )}
    </Page>
  );
}

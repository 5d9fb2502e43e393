import { Status } from "@/components/Status";
import { money, percent } from "@/format";
import type { Budget } from "./queries";

/** Spent and held of an amount; the mark is the part of the period that is over. */
export function SpendBar({ budget, className = "w-40" }: { budget: Budget; className?: string }) {
  const of = (value: number) => `${Math.min(1, budget.amount > 0 ? value / budget.amount : 1) * 100}%`;
  const share = budget.amount > 0 ? (budget.spent + budget.reserved) / budget.amount : 1;
  const tone = share >= 1 ? "bg-bad" : share >= 0.8 ? "bg-warn" : "bg-c2";
  return (
    <span
      role="meter"
      aria-label={`Spending of ${budget.user_path}`}
      aria-valuemin={0}
      aria-valuemax={budget.amount}
      aria-valuenow={Math.min(budget.spent, budget.amount)}
      aria-valuetext={`${money(budget.spent)} spent, ${money(budget.reserved)} held, of ${money(budget.amount)}`}
      title={`${percent(budget.usage_ratio)} spent, ${percent(budget.period_ratio, 0)} of the period is over`}
      className={`relative block h-2.5 max-w-full ${className}`}
    >
      <span className="absolute inset-x-0 top-[3px] flex h-1 overflow-hidden rounded-full bg-selected">
        <span className={`block h-full ${tone}`} style={{ width: of(budget.spent) }} />
        <span className="block h-full bg-c3" style={{ width: of(budget.reserved) }} />
      </span>
      <span className="absolute top-0 h-full w-px bg-ink-2" style={{ left: `${Math.min(1, budget.period_ratio) * 100}%` }} />
    </span>
  );
}

/** Whether a budget has room, in a word. */
export function BudgetState({ budget }: { budget: Budget }) {
  const share = budget.amount > 0 ? (budget.spent + budget.reserved) / budget.amount : 1;
  if (share >= 1)
    return (
      <Status kind="bad" sub={budget.on_exhausted === "downgrade" ? `calls go to ${budget.downgrade_to}` : "calls are refused"}>
        Used up
      </Status>
    );
  if (share >= 0.8) return <Status kind="warn">{percent(1 - share, 0)} left</Status>;
  if (budget.usage_ratio > budget.period_ratio && budget.usage_ratio > 0.1) return <Status kind="warn">Ahead of time</Status>;
  return <Status kind="ok">Within</Status>;
}

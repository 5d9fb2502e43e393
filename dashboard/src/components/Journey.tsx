import { ArrowRight, Check, Database, GitFork, KeyRound, CornerDownLeft, Gauge, Route, Send, ShieldCheck, Wallet, X, type LucideIcon } from "lucide-react";
import { Fragment, type ReactNode } from "react";
import { cx } from "./cx";
import { StatusIcon, type StatusKind } from "./Status";

export type StepName = "authenticated" | "limits" | "resolved" | "candidates" | "guarded" | "budget" | "cache" | "attempt" | "upstream" | "reply";
export type StepState = "done" | "changed" | "failed" | "skipped" | "chosen";

/** Same order, same icons everywhere. */
export const STEP_ICONS: Record<StepName, LucideIcon> = { authenticated: KeyRound, limits: Gauge, resolved: Route, candidates: GitFork, guarded: ShieldCheck, budget: Wallet, cache: Database, attempt: Check, upstream: Send, reply: CornerDownLeft };

export type JourneyStep = {
  step: StepName;
  state: StepState;
  title: string;
  /** Beside the title in normal weight, e.g. the provider. */
  sub?: ReactNode;
  /** A Tag beside the title, e.g. the status. */
  tag?: ReactNode;
  detail?: ReactNode;
  /** At the right: a time that the API gives. */
  time?: ReactNode;
  /** Bars of the time line, in milliseconds of `total`. */
  timeline?: { total: number; start: number; wait?: number; run?: number; failed?: boolean; legend?: ReactNode };
  children?: ReactNode;
};

const share = (part: number, total: number) => `${total > 0 ? Math.min(100, (part / total) * 100) : 0}%`;

function Timeline({ total, start, wait = 0, run = 0, failed, legend }: NonNullable<JourneyStep["timeline"]>) {
  return (
    <>
      <span aria-hidden className="relative mt-1.5 block h-1.5 overflow-hidden rounded-full bg-well [&>i]:absolute [&>i]:inset-y-0 [&>i]:min-w-[3px]">
        {failed ? <i className="failed-bar rounded-full" style={{ left: share(start, total), width: share(wait + run, total) }} /> : null}
        {!failed && wait > 0 ? <i className="wait-bar rounded-l-full" style={{ left: share(start, total), width: share(wait, total) }} /> : null}
        {!failed && run > 0 ? <i className="run-bar rounded-r-full" style={{ left: share(start + wait, total), width: share(run, total) }} /> : null}
      </span>
      {legend && <span className="mt-[3px] flex flex-wrap gap-x-3 text-micro text-ink-3">{legend}</span>}
    </>
  );
}

/** The steps of a call on one line. */
export function Journey({ steps, label = "Journey of the call" }: { steps: JourneyStep[]; label?: string }) {
  return (
    <ol className="journey" aria-label={label}>
      {steps.map((step, i) => {
        const Icon = step.step === "attempt" && step.state === "failed" ? X : STEP_ICONS[step.step];
        return (
          <li key={i} className={step.state}>
            <span className="node">
              <span>
                <Icon aria-hidden />
              </span>
            </span>
            <div className="min-w-0">
              <div className="flex flex-wrap items-baseline gap-x-2">
                <b className={cx("font-medium", step.state === "skipped" && "text-ink-2")}>{step.title}</b>
                {step.sub && <span className="text-ink-2">{step.sub}</span>}
                {step.tag}
                {step.state === "failed" && <span className="sr-only">failed</span>}
              </div>
              {step.detail && <div className="text-small/[18px] text-ink-2">{step.detail}</div>}
              {step.timeline && <Timeline {...step.timeline} />}
              {step.children}
            </div>
            {step.time != null && <span className="num text-right text-small/5 font-medium whitespace-nowrap">{step.time}</span>}
          </li>
        );
      })}
    </ol>
  );
}

/** Heading between parts of a journey, e.g. "At the providers", with a time at its end. */
export function Phase({ children, time }: { children: ReactNode; time?: ReactNode }) {
  return (
    <h3 className="mb-2.5 flex items-center gap-2 text-small text-ink-3">
      {children}
      <span aria-hidden className="h-px flex-1 bg-line" />
      {time != null && <span className="num text-ink-2">{time}</span>}
    </h3>
  );
}

export type Branch = { key: string; name: ReactNode; state: ReactNode; kind: StatusKind; why?: ReactNode; cost?: ReactNode; rank?: ReactNode; pick?: boolean; out?: boolean };

/** Candidates that branch off the line; the chosen one is marked. */
export function Branches({ items }: { items: Branch[] }) {
  return (
    <ul className="branches">
      {items.map((item) => (
        <li key={item.key} className={cx(item.pick && "pick", item.out && "out")}>
          <span className={cx("flex min-w-0 items-center gap-2", item.pick && "font-medium")}>
            {item.rank}
            <span className="truncate">{item.name}</span>
          </span>
          <span className="inline-flex items-center gap-1.5 whitespace-nowrap">
            <StatusIcon kind={item.kind} />
            {item.state}
          </span>
          <span className={cx("why truncate", !item.out && "text-ink-2")}>{item.why}</span>
          <span className="num text-right">{item.cost}</span>
        </li>
      ))}
    </ul>
  );
}

/** The journey in one row, for playground and first run. */
export function MiniJourney({ steps, end }: { steps: { label: ReactNode; kind?: StatusKind }[]; end?: ReactNode }) {
  return (
    <div className="flex flex-wrap items-center gap-1.5 text-small text-ink-2">
      {steps.map((step, i) => (
        <Fragment key={i}>
          {i > 0 && <ArrowRight aria-hidden className="size-3 text-ink-3" />}
          <span className="inline-flex items-center gap-1 whitespace-nowrap">
            {step.kind && <StatusIcon kind={step.kind} className="size-3" />}
            {step.label}
          </span>
        </Fragment>
      ))}
      {end && <span className="ml-auto">{end}</span>}
    </div>
  );
}

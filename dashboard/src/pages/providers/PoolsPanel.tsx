import { Waypoints } from "lucide-react";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { cx } from "@/components/cx";
import { EmptyState, ErrorNote } from "@/components/EmptyState";
import { Panel } from "@/components/Panel";
import { SkeletonRows } from "@/components/Skeleton";
import { healthKind, StatusIcon, Tag, type StatusKind } from "@/components/Status";
import { STRATEGIES } from "@/components/strategies";
import { percent, plural } from "@/format";
import type { Member, Pool } from "./queries";

const memberKind = (member: Member): StatusKind => (!member.known ? "out" : !member.enabled ? "paused" : healthKind(member.health?.state ?? "unknown"));
const isOut = (member: Member) => !member.known || !member.enabled || member.health?.state === "down";

/** The share of calls that a pool member gets, or why it gets none. */
function shareText(member: Member, known: boolean): string {
  if (!member.known) return "not configured";
  if (!member.enabled) return "disabled";
  if (member.health?.state === "down") return "out";
  return known && member.share != null ? percent(member.share, 0) : "";
}

function PoolRow({ pool, onOpen }: { pool: Pool; onOpen: (name: string) => void }) {
  const known = pool.members_status.some((member) => member.share != null);
  const calls = pool.calls_last_hour;
  return (
    <li className="border-line px-4 pt-3 pb-3.5 not-first:border-t">
      <div className="flex min-w-0 flex-wrap items-center gap-2">
        <button type="button" onClick={() => onOpen(pool.name)} className="truncate font-medium hover:underline phone:min-h-10">
          {pool.name}
        </button>
        <Tag mono>{pool.strategy}</Tag>
        <span className="min-w-0 truncate text-small text-ink-3" title={pool.description || undefined}>{pool.description || STRATEGIES[pool.strategy]?.short}</span>
        <span className="num ml-auto text-small text-ink-2">{calls == null ? plural(pool.members.length, "member") : calls === 0 ? "no calls, last hour" : `${plural(calls, "call")}, last hour`}</span>
      </div>
      <ul className="mt-2 flex gap-1 phone:flex-col phone:gap-2">
        {pool.members_status.map((member, i) => {
          const out = isOut(member);
          return (
            <li key={member.name} className="min-w-36 phone:min-w-0" style={{ flexGrow: known ? Math.max(member.share ?? 0, 0.001) : 1, flexBasis: 0 }}>
              <span aria-hidden className={cx("block h-1.5 rounded-full", out ? "border border-dashed border-bad" : !known ? "bg-selected" : (member.share ?? 0) === 0 ? "bg-selected" : i % 2 ? "bg-c4" : "bg-c2")} style={known ? undefined : { minWidth: 24 }} />
              <span className="mt-1.5 flex min-w-0 items-center gap-1.5">
                <StatusIcon kind={out && member.known && member.enabled ? "bad" : memberKind(member)} />
                <Link to="/providers" search={{ open: member.name }} className="truncate hover:underline">{member.name}</Link>
                <span className="num text-ink-2">{shareText(member, known)}</span>
                {pool.strategy === "weighted" && <span className="num text-small text-ink-3">weight {pool.weights[member.name] ?? 1}</span>}
              </span>
            </li>
          );
        })}
      </ul>
    </li>
  );
}

/** Pools with the share of calls that each member had. */
export function PoolsPanel({ pools, loading, error, onRetry, onOpen, add }: { pools: Pool[]; loading: boolean; error: unknown; onRetry: () => void; onOpen: (name: string) => void; add: ReactNode }) {
  return (
    <Panel title="Pools" sub="share of calls, last hour" className="mt-4">
      {error && !pools.length ? (
        <ErrorNote error={error} onRetry={onRetry} />
      ) : loading ? (
        <SkeletonRows rows={3} columns={3} />
      ) : pools.length ? (
        <ul aria-label="Pools">
          {pools.map((pool) => (
            <PoolRow key={pool.name} pool={pool} onOpen={onOpen} />
          ))}
        </ul>
      ) : (
        <EmptyState small icon={Waypoints} title="No pools yet" actions={add}>
          A pool spreads calls over several providers that serve the same models, e.g. two accounts or two regions.
        </EmptyState>
      )}
    </Panel>
  );
}

import { Link } from "@tanstack/react-router";
import { LimitBar } from "@/components/LimitBar";
import { Status, Tag } from "@/components/Status";
import type { Column } from "@/components/Table";
import { ago, compact, day, money, NONE } from "@/format";
import { endsSoon, LIMITS, type Key } from "./queries";

/** The state of a key as icon and word, with what happens next. */
export function KeyState({ state }: { state: Key }) {
  const now = Date.now();
  const old = state.previous?.find((previous) => Date.parse(previous.valid_until) > now);
  if (!state.enabled)
    return (
      <Status kind="paused" sub={state.deactivated_at ? day(state.deactivated_at) : undefined}>
        Deactivated
      </Status>
    );
  if (!state.active)
    return (
      <Status kind="out" sub={day(state.expiry)}>
        Ended
      </Status>
    );
  if (old)
    return (
      <Status kind="warn" sub={`old value ends ${ago(old.valid_until)}`}>
        Rotating
      </Status>
    );
  if (endsSoon(state))
    return (
      <Status kind="warn" sub={day(state.expiry)}>
        Ends {ago(state.expiry)}
      </Status>
    );
  return <Status kind="ok">Active</Status>;
}

/** The limits of a key as bars; without their use, as numbers. */
export function KeyLimits({ state, most = 2 }: { state: Key; most?: number }) {
  const set = LIMITS.filter(({ name }) => state.rate_limits[name] != null);
  if (!set.length) return <span className="text-ink-3">None</span>;
  const use = state.limit_use;
  if (!use)
    return (
      <span className="text-small text-ink-2">
        {set.map(({ name, short }) => (
          <span key={name} className="num mr-3 inline-block whitespace-nowrap">
            <span className="text-ink-3">{short}</span> {compact(state.rate_limits[name])}
          </span>
        ))}
      </span>
    );
  const share = (name: (typeof set)[number]["name"]) => (use[name] ? use[name].used / use[name].limit : 0);
  const shown = [...set].sort((a, b) => share(b.name) - share(a.name)).slice(0, most);
  return (
    <div className="min-w-52 py-1">
      {LIMITS.filter((limit) => shown.includes(limit)).map(({ name, short }) => (
        <LimitBar key={name} label={short} used={use[name]?.used ?? 0} limit={state.rate_limits[name] ?? 0} />
      ))}
      {set.length > most && <span className="text-small text-ink-3">and {set.length - most} more</span>}
    </div>
  );
}

const admin = (key: Key) => key.scopes.filter((scope) => scope !== "inference");

/** The columns of the list; the cost leads to its calls. */
export const columnsOf = (fresh: string | null): Column<Key>[] => [
  {
    key: "name",
    title: "Name",
    sort: "name",
    first: "asc",
    phone: "title",
    className: "max-w-56",
    cell: (key) => (
      <span className="block min-w-0">
        <span className="flex items-center gap-1.5">
          <b className="truncate font-medium" title={key.name}>
            {key.name}
          </b>
          {key.id === fresh && <Tag kind="accent">new</Tag>}
          {key.source === "file" && <Tag>file</Tag>}
        </span>
        {key.description && (
          <span className="block truncate text-small text-ink-3 phone:hidden" title={key.description}>
            {key.description}
          </span>
        )}
      </span>
    ),
  },
  { key: "key", title: "Key", cell: (key) => <code className="text-ink-2">{key.redacted_value}</code> },
  {
    key: "path",
    title: "Path",
    phone: "sub",
    className: "max-w-48",
    cell: (key) => (
      <span className="block min-w-0">
        <span className="block truncate text-ink-2" title={key.user_path ?? "/"}>
          {key.user_path ?? "/"}
        </span>
        {(key.provider_pool_id || admin(key).length > 0) && (
          <span className="block truncate text-small text-ink-3 phone:hidden">
            {key.provider_pool_id ? `pool ${key.provider_pool_id}` : <code title={admin(key).join(", ")}>{admin(key).join(", ")}</code>}
          </span>
        )}
      </span>
    ),
  },
  { key: "limits", title: "Limits now", cell: (key) => <KeyLimits state={key} /> },
  {
    key: "cost",
    title: "Cost, 30 days",
    align: "right",
    phone: "subEnd",
    cell: (key) =>
      key.cost_30_days === undefined ? (
        NONE
      ) : (
        <Link to="/usage" search={{ by: "calls", key: key.id, days: "30" }} className="hover:underline">
          {key.cost_30_days === null ? NONE : money(key.cost_30_days)}
        </Link>
      ),
  },
  {
    key: "used",
    title: "Last used",
    align: "right",
    sort: "last_used_at",
    first: "desc",
    cell: (key) => <span className="text-ink-2">{ago(key.last_used_at)}</span>,
  },
  { key: "state", title: "State", phone: "end", cell: (key) => <KeyState state={key} /> },
];

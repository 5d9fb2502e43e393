import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Globe, Keyboard, KeyRound, LogOut, Plus, ScrollText, Search, SunMoon, Wallet, type LucideIcon } from "lucide-react";
import { Fragment, useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { api, unwrap } from "@/api/client";
import { Kbd } from "@/components/Button";
import { cx } from "@/components/cx";
import { Layer } from "@/components/layer";
import { useZone } from "@/format";
import { closeOverlay, openOverlay } from "./overlays";
import { visiblePages } from "./pages";
import { forgetSession, signOut, useSession } from "./session";
import { toggleTheme } from "./theme";

type Entry = { group: string; icon: LucideIcon; text: string; mono?: string; end?: string; key?: string; to?: string; search?: Record<string, string>; run?: () => void };

/** Of a whole key only the part that is shown in lists, so that no secret gets into an address. */
const searchable = (text: string) => (/^gk_\w{5,}/.test(text.trim()) ? text.trim().slice(0, 7) : text.trim().slice(0, 200));

/** Keys found by the gateway: name, owner, path or prefix. */
function useKeys(text: string, enabled: boolean) {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), 150);
    return () => clearTimeout(timer);
  }, [text]);
  return useQuery({
    queryKey: ["auth-keys", "palette", settled],
    enabled: enabled && settled.trim().length > 1,
    staleTime: 30_000,
    queryFn: ({ signal }) => unwrap(api.GET("/admin/api/v1/auth-keys", { params: { query: { search: searchable(settled), limit: 5 } }, signal })),
  });
}

function useEntries(text: string): Entry[] {
  const session = useSession();
  const zone = useZone();
  const keys = useKeys(text, session.can("admin:auth-keys:read"));
  const wanted = text.trim().toLowerCase();
  const found: Entry[] = (wanted.length > 1 ? (keys.data?.entries ?? []) : []).map((key) => ({ group: "API keys", icon: KeyRound, text: key.name, mono: key.redacted_value ?? undefined, end: key.user_path ?? undefined, to: "/keys", search: { open: key.id } }));
  const paths: Entry[] = [];
  if (wanted.startsWith("/") || found.length) {
    const path = wanted.startsWith("/") ? text.trim() : (found[0]?.end ?? "/");
    if (session.has("advancedBudgets") && session.can("admin:budgets:read")) paths.push({ group: "Paths and budgets", icon: Wallet, text: `Budgets of ${path}`, to: "/budgets", search: { user_path: path } });
    if (session.can("admin:audit:read")) paths.push({ group: "Paths and budgets", icon: ScrollText, text: `Calls of ${path}`, to: "/audit", search: { user_path: path } });
  }
  const pages: Entry[] = visiblePages(session).filter((page) => !wanted || `${page.title} ${page.words ?? ""}`.toLowerCase().includes(wanted)).map((page) => ({ group: "Go to", icon: page.icon, text: page.title, to: page.path }));
  const actions: Entry[] = ([
    ...(session.can("admin:auth-keys:write") ? [{ group: "Do", icon: Plus, text: "Create a key", key: "C", to: "/keys", search: { create: "1" } }] : []),
    { group: "Do", icon: SunMoon, text: "Switch between light and dark", key: "T", run: toggleTheme },
    ...(session.can("admin:providers:write") ? [{ group: "Do", icon: Plus, text: "Add a provider", to: "/providers", search: { add: "provider" } }] : []),
    { group: "Do", icon: Keyboard, text: "Show keyboard shortcuts", key: "?", run: () => openOverlay("shortcuts") },
    { group: "Do", icon: Globe, text: "Choose the time zone", end: zone, run: () => openOverlay("zone") },
    { group: "Do", icon: LogOut, text: "Sign out", run: () => void signOut().catch(forgetSession) },
  ] satisfies Entry[] as Entry[]).filter((entry) => !wanted || `${entry.text} ${entry.end ?? ""}`.toLowerCase().includes(wanted));
  return [...found, ...paths, ...pages, ...actions];
}

/** The text with the searched part marked. */
function marked(text: string, wanted: string): ReactNode {
  const at = wanted ? text.toLowerCase().indexOf(wanted.toLowerCase()) : -1;
  if (at < 0) return text;
  return (
    <>
      {text.slice(0, at)}
      <em className="font-strong text-accent-ink not-italic">{text.slice(at, at + wanted.length)}</em>
      {text.slice(at + wanted.length)}
    </>
  );
}

/** The command palette: pages, keys, paths and actions. */
export default function Palette() {
  const id = useId();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const navigate = useNavigate();
  const entries = useEntries(text);
  const chosen = Math.min(at, entries.length - 1);
  const wanted = text.trim();

  const run = (entry: Entry | undefined) => {
    if (!entry) return;
    closeOverlay();
    if (entry.run) entry.run();
    else if (entry.to) void navigate({ to: entry.to, search: entry.search ?? {} });
  };
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step) {
      event.preventDefault();
      const next = (chosen + step + entries.length) % entries.length;
      setAt(next);
      list.current?.querySelector(`#${CSS.escape(`${id}-${next}`)}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(entries[chosen]);
    }
  };

  return (
    <Layer onClose={closeOverlay} label="Search and commands" className="palette">
      <div className="flex h-12 items-center gap-2.5 border-b border-line px-4">
        <Search aria-hidden className="size-4 text-ink-3" />
        <input
          autoFocus
          role="combobox"
          aria-expanded
          aria-controls={`${id}-list`}
          aria-activedescendant={entries.length ? `${id}-${chosen}` : undefined}
          aria-label="Search pages, keys and actions"
          placeholder="Search pages, keys and actions"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={onKey}
          className="min-w-0 flex-1 bg-transparent text-title outline-none"
        />
        <Kbd>Esc</Kbd>
      </div>
      <div ref={list} id={`${id}-list`} role="listbox" aria-label="Results" className="max-h-[min(420px,60dvh)] overflow-y-auto pb-1.5">
        {entries.map((entry, i) => (
          <Fragment key={`${entry.group}-${entry.text}-${i}`}>
            {entry.group !== entries[i - 1]?.group && (
              <div role="presentation" className="px-4 pt-2.5 pb-1 text-micro font-medium text-ink-3">
                {entry.group}
              </div>
            )}
            <div id={`${id}-${i}`} role="option" aria-selected={i === chosen} onMouseMove={() => setAt(i)} onClick={() => run(entry)} className={cx("mx-1.5 flex h-9 cursor-pointer items-center gap-2.5 rounded-md px-2.5 phone:h-11", i === chosen && "bg-accent-soft")}>
              <entry.icon aria-hidden className={cx("size-4", i === chosen ? "text-accent-ink" : "text-ink-3")} />
              <span className="truncate">{marked(entry.text, wanted)}</span>
              {entry.mono && <code className="text-ink-3 phone:hidden">{entry.mono}</code>}
              {entry.end && <span className="ml-auto truncate text-small text-ink-3">{marked(entry.end, wanted)}</span>}
              {entry.key && <span className="ml-auto"><Kbd>{entry.key}</Kbd></span>}
            </div>
          </Fragment>
        ))}
        {!entries.length && <p className="px-4 py-6 text-center text-ink-2">No results.</p>}
      </div>
      <footer className="flex gap-4 border-t border-line px-4 py-2 text-small whitespace-nowrap text-ink-3 phone:hidden">
        <span className="inline-flex items-center gap-1.5"><Kbd>↑</Kbd><Kbd>↓</Kbd> move</span>
        <span className="inline-flex items-center gap-1.5"><Kbd>↵</Kbd> open</span>
        <span className="ml-auto">Finds keys by name, owner, path or prefix</span>
      </footer>
    </Layer>
  );
}

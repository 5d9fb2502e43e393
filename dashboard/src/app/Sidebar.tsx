import { Link, useLocation } from "@tanstack/react-router";
import { Gauge, Keyboard, KeyRound, LayoutDashboard, LogOut, Menu as MenuIcon, MessagesSquare, ScrollText, Search, SunMoon, Globe } from "lucide-react";
import { useState } from "react";
import { IconButton, Kbd } from "@/components/Button";
import { cx } from "@/components/cx";
import { Drawer } from "@/components/Drawer";
import { Menu } from "@/components/Menu";
import { useZone } from "@/format";
import { Brand } from "./Brand";
import { openOverlay, openPalette } from "./overlays";
import { GROUPS, PAGES, visiblePages } from "./pages";
import { forgetSession, signOut, useSession } from "./session";
import { toggleTheme } from "./theme";

/** Path of the sidebar entry that is current. */
function useCurrent(): string {
  const { pathname } = useLocation();
  const page = PAGES.find((each) => each.path === pathname) ?? PAGES.find((each) => each.path !== "/" && pathname.startsWith(`${each.path}/`));
  return page?.under ?? page?.path ?? "";
}

/** The entries of all groups; in the sidebar, and on phones in the drawer "More". */
function Groups({ roomy, onGo }: { roomy?: boolean; onGo?: () => void }) {
  const pages = visiblePages(useSession());
  const current = useCurrent();
  return GROUPS.map((group) => {
    const entries = pages.filter((page) => page.group === group);
    if (!entries.length) return null;
    return (
      <div key={group}>
        {group && <h2 className="px-2 pt-3 pb-1 text-micro font-medium text-ink-3">{group}</h2>}
        <ul>
          {entries.map((page) => {
            const on = page.path === current;
            return (
              <li key={page.path}>
                <Link to={page.path} onClick={onGo} aria-current={on ? "page" : undefined} className={cx("flex items-center gap-2 rounded-md px-2", roomy ? "h-11" : "h-7", on ? "bg-selected font-medium text-ink [&>svg]:text-accent-ink" : "text-ink-2 hover:bg-hover hover:text-ink [&>svg]:text-ink-3")}>
                  <page.icon aria-hidden className="size-4" />
                  {page.title}
                </Link>
              </li>
            );
          })}
        </ul>
      </div>
    );
  });
}

function Me() {
  const { caller, config } = useSession();
  const zone = useZone();
  const name = caller.email ?? caller.name ?? (caller.scopes.includes("admin:write") ? "Administrator" : "Gateway key");
  const role = caller.roles.length ? caller.roles.join(", ") : caller.scopes.some((scope) => scope.startsWith("admin:")) ? "Admin" : "Inference key";
  const where = caller.tenant ? caller.tenant : caller.userPath === "/" ? (config.edition === "enterprise" ? "all tenants" : "all paths") : caller.userPath;
  return (
    <div className="flex items-center border-t border-line py-1.5 pr-2 pl-3">
      <Menu
        label="Account"
        align="start"
        items={[
          { label: "Time zone", icon: Globe, run: () => openOverlay("zone"), hint: zone.replaceAll("_", " ") },
          { label: "Keyboard shortcuts", icon: Keyboard, run: () => openOverlay("shortcuts"), hint: "?" },
          "separator",
          { label: "Sign out", icon: LogOut, run: () => void signOut().catch(forgetSession) },
        ]}
      >
        <button type="button" className="flex min-w-0 flex-1 items-center gap-2 rounded-md py-1 pr-1 pl-2 text-left hover:bg-hover">
          <span aria-hidden className="grid size-6 flex-none place-items-center rounded-full bg-selected text-[10px] font-strong text-ink-2">
            {name.slice(0, 2).toUpperCase()}
          </span>
          <span className="min-w-0 flex-1">
            <span className="block truncate" title={name}>
              {name}
            </span>
            <span className="block truncate text-small text-ink-3">
              {role} · {where}
            </span>
          </span>
        </button>
      </Menu>
      <IconButton label="Switch theme" hint="Switch theme (T)" icon={SunMoon} size="sm" onClick={toggleTheme} />
    </div>
  );
}

/** The sidebar of wide screens: 224 px. */
export function Sidebar() {
  return (
    <aside className="sticky top-0 flex h-dvh w-[224px] flex-none flex-col border-r border-line phone:hidden">
      <div className="px-3">
        <Link to="/" className="flex h-[52px] items-center gap-2 rounded-md px-2 text-lead font-strong tracking-[-0.006em]">
          <Brand className="size-5" />
          Gatehouse
        </Link>
        <button type="button" onClick={openPalette} className="mb-2 flex h-8 w-full items-center gap-2 rounded-md border border-line-strong bg-surface pr-1.5 pl-2 text-ink-3 hover:border-line-control">
          <Search aria-hidden className="size-3.5" />
          Search
          <span className="ml-auto"><Kbd>⌘K</Kbd></span>
        </button>
      </div>
      <nav aria-label="Main" className="min-h-0 flex-1 overflow-y-auto px-3 pb-3 [scrollbar-width:thin]">
        <Groups />
      </nav>
      <Me />
    </aside>
  );
}

const PLACES = [
  { path: "/", label: "Overview", icon: LayoutDashboard },
  { path: "/my-usage", label: "My usage", icon: Gauge },
  { path: "/audit", label: "Audit", icon: ScrollText },
  { path: "/playground", label: "Play", icon: MessagesSquare },
  { path: "/keys", label: "Keys", icon: KeyRound },
];

/** The bottom bar of phones: four places and the rest under "More". */
export function BottomBar() {
  const [more, setMore] = useState(false);
  const current = useCurrent();
  const pages = visiblePages(useSession());
  const item = "grid content-center justify-items-center gap-0.5 text-[11px]/[14px] [&>svg]:size-5";
  return (
    <nav aria-label="Places" className="fixed inset-x-0 bottom-0 z-15 hidden h-14 auto-cols-fr grid-flow-col border-t border-line bg-surface phone:grid">
      {PLACES.filter((place) => pages.some((page) => page.path === place.path)).map((place) => (
        <Link key={place.path} to={place.path} aria-current={current === place.path ? "page" : undefined} className={cx(item, current === place.path ? "font-medium text-accent-ink" : "text-ink-2")}>
          <place.icon aria-hidden />
          {place.label}
        </Link>
      ))}
      <button type="button" aria-haspopup="dialog" className={cx(item, "text-ink-2")} onClick={() => setMore(true)}>
        <MenuIcon aria-hidden />
        More
      </button>
      {more && (
        <Drawer title="Gatehouse" onClose={() => setMore(false)}>
          <div className="-mx-2">
            <Groups roomy onGo={() => setMore(false)} />
          </div>
          <div className="-mx-4 mt-4">
            <Me />
          </div>
        </Drawer>
      )}
    </nav>
  );
}

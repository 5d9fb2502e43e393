import { Link, useLocation } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { useEffect, type ReactNode } from "react";
import { IconButton } from "@/components/Button";
import { cx } from "@/components/cx";
import { openPalette } from "./overlays";
import { visiblePages } from "./pages";
import { useMaybeSession } from "./session";

type PageProps = {
  title: string;
  /** Right of the title in small grey text. */
  sub?: ReactNode;
  /** Controls right of the title; hidden on phones. */
  toolbar?: ReactNode;
  /** Right end of the top bar: "as of", live, buttons. */
  actions?: ReactNode;
  /** Full-bleed content without padding, for lists and split views. */
  flush?: boolean;
  className?: string;
  children: ReactNode;
};

/** A page: top bar with title and actions, and the main part. Every page returns one. */
export function Page({ title, sub, toolbar, actions, flush, className, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Gatehouse`;
  }, [title]);
  return (
    <>
      <header className="sticky top-0 z-5 flex h-[52px] flex-none items-center gap-2 border-b border-line bg-canvas px-6 phone:pr-2 phone:pl-4">
        <h1 className="mr-2 text-title font-strong tracking-[-0.008em] whitespace-nowrap">{title}</h1>
        {sub && <span className="truncate text-small text-ink-3 phone:hidden">{sub}</span>}
        {toolbar && <div className="flex items-center gap-2 phone:hidden">{toolbar}</div>}
        <div className="ml-auto flex items-center gap-3 phone:gap-2">{actions}</div>
        <span className="hidden phone:inline-flex">
          <IconButton label="Search" icon={Search} onClick={openPalette} />
        </span>
      </header>
      <Neighbours />
      <main id="main" tabIndex={-1} className={cx("outline-none", flush ? "flex min-h-0 flex-1 flex-col" : "px-6 pt-5 pb-8 phone:px-3 phone:pt-3 phone:pb-6", className)}>
        {children}
      </main>
    </>
  );
}

/** Links between pages that share one entry of the sidebar, e.g. people, roles, tenants and login. */
function Neighbours() {
  const session = useMaybeSession();
  const { pathname } = useLocation();
  const pages = session ? visiblePages(session).filter((page) => page.tab) : [];
  const current = pages.find((page) => page.path === pathname);
  if (!current || pages.length < 2) return null;
  return (
    <nav aria-label="People and roles" className="flex gap-1 overflow-x-auto border-b border-line px-4 [scrollbar-width:none] phone:px-2">
      {pages.map((page) => (
        <Link key={page.path} to={page.path} aria-current={page === current ? "page" : undefined} className={cx("relative flex h-10 items-center px-2 whitespace-nowrap", page === current ? "font-medium text-ink after:absolute after:inset-x-2 after:-bottom-px after:h-0.5 after:bg-accent-ink" : "text-ink-2 hover:text-ink")}>
          {page.tab}
        </Link>
      ))}
    </nav>
  );
}

/** The row of search and filters under the top bar of a list page. */
export function FilterBar({ children, end }: { children: ReactNode; end?: ReactNode }) {
  return (
    <div className="flex flex-wrap items-center gap-2 border-b border-line px-6 py-2.5 phone:flex-nowrap phone:overflow-x-auto phone:px-3 phone:py-2 phone:[scrollbar-width:none] phone:*:flex-none">
      {children}
      {end && <span className="ml-auto flex items-center gap-3 text-small text-ink-3 phone:hidden">{end}</span>}
    </div>
  );
}

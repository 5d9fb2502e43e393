import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Link, Outlet } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import { BASE, setSignedOutHandler } from "@/api/client";
import { queryClient } from "@/api/query";
import { buttonClass } from "@/components/Button";
import { EmptyState, ErrorNote } from "@/components/EmptyState";
import { Page } from "./Page";
import { PAGES } from "./pages";
import { forgetSession } from "./session";
import { Shell } from "./Shell";

type Search = Record<string, string | undefined>;

/** Search parameters are plain text, so that addresses stay readable. */
const parseSearch = (text: string): Search => Object.fromEntries(new URLSearchParams(text));
const stringifySearch = (search: Record<string, unknown>): string => {
  const fields = Object.entries(search).filter((field): field is [string, string] => field[1] !== undefined && field[1] !== null && field[1] !== "");
  const text = new URLSearchParams(fields.map(([name, value]) => [name, String(value)])).toString();
  return text ? `?${text}` : "";
};

function NotFound() {
  return (
    <Page title="Not found">
      <EmptyState icon={Compass} title="Page not found" actions={<Link to="/" className={buttonClass({})}>Go to the overview</Link>}>
        The address may be from another version, or the page may need a scope or an edition that you do not have.
      </EmptyState>
    </Page>
  );
}

const root = createRootRoute({ component: Outlet, validateSearch: (search: Record<string, unknown>): Search => search as Search, notFoundComponent: NotFound });
const shell = createRoute({ getParentRoute: () => root, id: "shell", component: Shell, notFoundComponent: NotFound });
const signIn = createRoute({ getParentRoute: () => root, path: "/sign-in", component: lazyRouteComponent(() => import("@/pages/sign-in")) });
const pages = PAGES.map((page) => createRoute({ getParentRoute: () => shell, path: page.path, component: lazyRouteComponent(page.load) }));
const missing = createRoute({ getParentRoute: () => shell, path: "$", component: NotFound });

export const router = createRouter({
  routeTree: root.addChildren([signIn, shell.addChildren([...pages, missing])]),
  basepath: `${BASE}/admin/dashboard`,
  defaultPreload: "intent",
  scrollRestoration: true,
  parseSearch,
  stringifySearch,
  defaultErrorComponent: ({ error, reset }) => (
    <Page title="Error">
      <ErrorNote error={error} title="This page failed" onRetry={reset} />
    </Page>
  ),
});

setSignedOutHandler(() => {
  if (queryClient.getQueryData(["session"])) forgetSession();
});

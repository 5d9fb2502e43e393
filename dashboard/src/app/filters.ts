import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";

/**
 * Filters in the URL: `const [filters, setFilters] = useFilters({ days: "30", path: "" })`. The defaults name all
 * filters and are left out of the URL; `allowed` lists the valid values of a filter, others count as the default.
 * `setFilters({ path: "/search" })` changes some; it replaces the history entry unless `push` is set.
 */
export function useFilters<F extends Record<string, string>>(defaults: F, allowed: { [K in keyof F]?: readonly string[] } = {}) {
  const search = useSearch({ strict: false }) as Record<string, string | undefined>;
  const navigate = useNavigate();
  const filters = Object.fromEntries(
    Object.entries(defaults).map(([name, initial]) => {
      const value = search[name];
      const list = allowed[name];
      return [name, value !== undefined && (!list || list.includes(value)) ? value : initial];
    }),
  ) as { [K in keyof F]: string };
  const initial = JSON.stringify(defaults);
  const setFilters = useCallback(
    (change: { [K in keyof F]?: string | null }, options: { push?: boolean } = {}) => {
      const base = JSON.parse(initial) as Record<string, string>;
      void navigate({
        to: ".",
        replace: !options.push,
        resetScroll: false,
        search: (before: Record<string, string | undefined>) => {
          const next = { ...before };
          for (const [name, value] of Object.entries(change)) next[name] = value == null || value === base[name] ? undefined : value;
          return next;
        },
      });
    },
    [navigate, initial],
  );
  return [filters, setFilters] as const;
}

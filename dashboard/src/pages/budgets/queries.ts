import { api, unwrap, type Schema } from "@/api/client";
import { useResource } from "@/api/query";
import { useSave } from "@/api/save";

export type Budget = Schema<"BudgetView">;
export type Settings = Schema<"SettingsView">;
export type BudgetDraft = {
  user_path: string;
  period: string;
  amount: number | null;
  on_tight: "clamp" | "refuse";
  on_exhausted: "block" | "downgrade";
  downgrade_to: string;
  child_default: number | null;
  per_run: boolean;
};

export const PERIODS = ["hourly", "daily", "weekly", "monthly"];
export const periodOf = (budget: { period_label: string; period_seconds: number }) =>
  PERIODS.includes(budget.period_label) ? budget.period_label : String(budget.period_seconds);
export const idOf = (budget: Budget) => [budget.user_path, periodOf(budget), ...(budget.tenant_id ? [budget.tenant_id] : [])].join(" ");

export const EMPTY: BudgetDraft = {
  user_path: "/",
  period: "daily",
  amount: null,
  on_tight: "clamp",
  on_exhausted: "block",
  downgrade_to: "",
  child_default: null,
  per_run: false,
};
export const draftOf = (budget: Budget): BudgetDraft => ({
  user_path: budget.user_path,
  period: periodOf(budget),
  amount: budget.amount,
  on_tight: budget.on_tight,
  on_exhausted: budget.on_exhausted,
  downgrade_to: budget.downgrade_to ?? "",
  child_default: budget.child_default ?? null,
  per_run: budget.per_run,
});
export const bodyOf = (draft: BudgetDraft) => ({
  amount: draft.amount ?? 0,
  on_tight: draft.on_tight,
  on_exhausted: draft.on_exhausted,
  downgrade_to: draft.on_exhausted === "downgrade" ? draft.downgrade_to : null,
  child_default: draft.child_default,
  per_run: draft.per_run,
});
export const pathOf = (draft: { user_path: string; period: string }) => `/admin/api/v1/budgets/${encodeURIComponent(draft.user_path)}/${draft.period}`;

const put = (draft: BudgetDraft, headers: Record<string, string> = {}) =>
  api.PUT("/admin/api/v1/budgets/{user_path}/{period}", {
    params: { path: { user_path: draft.user_path, period: draft.period } },
    body: bodyOf(draft) as Schema<"AmountBody">,
    headers,
  });
const drop = (draft: BudgetDraft) =>
  api.DELETE("/admin/api/v1/budgets/{user_path}/{period}", { params: { path: { user_path: draft.user_path, period: draft.period } } });
const STALE = [["budgets"], ["budget-forecast"]];

export const useBudgets = () => useResource(["budgets"], (signal) => api.GET("/admin/api/v1/budgets", { signal }), { refetchInterval: 15_000 });

export const useForecast = (user_path: string) =>
  useResource(["budget-forecast", user_path], (signal) => api.GET("/admin/api/v1/budgets/forecast/{user_path}", { params: { path: { user_path } }, signal }));

export const useHistory = (user_path: string, period: string) =>
  useResource(["budget-history", user_path, period], (signal) =>
    api.GET("/admin/api/v1/budgets/history", { params: { query: { user_path, period, windows: 24 } }, signal }),
  );

export const useSettings = () => useResource(["budget-settings"], (signal) => api.GET("/admin/api/v1/budgets/settings", { signal }));

type OnError = (param: string, message: string) => boolean;

/** Sets a budget; Undo restores the one before, or deletes the new one. */
export function useSaveBudget(before: Budget | undefined, onSuccess: () => void, onError: OnError) {
  return useSave<BudgetDraft, Schema<"BudgetList">>({
    write: put,
    invalidates: STALE,
    what: "this budget",
    done: (_, draft) => `Budget of ${draft.user_path} ${before ? "saved" : "created"}`,
    undo: (_, draft) => unwrap<unknown>(before && before.source === "manual" && !before.parent ? put(draftOf(before)) : drop(draft)),
    onSuccess,
    onError: (error) => error.param !== null && onError(error.param, error.message),
  });
}

/** Deletes a budget; Undo sets it again. */
export function useDeleteBudget(onSuccess: () => void) {
  return useSave<Budget>({
    write: (budget) => drop(draftOf(budget)),
    invalidates: STALE,
    done: (_, budget) => `Budget of ${budget.user_path} deleted`,
    undo: (_, budget) => unwrap(put(draftOf(budget))),
    onSuccess,
  });
}

/** Begins a budget, or all of them, anew: spending until now does not count. */
export function useReset(onSuccess: () => void) {
  return useSave<Budget | null, unknown>({
    write: (budget): Promise<{ data?: unknown; error?: unknown; response: Response }> =>
      budget
        ? api.POST("/admin/api/v1/budgets/reset-one", { body: { user_path: budget.user_path, period: periodOf(budget) } as Schema<"ResetOneBody"> })
        : api.POST("/admin/api/v1/budgets/reset", { body: { confirmation: "reset" } }),
    invalidates: STALE,
    done: (_, budget) => (budget ? `Budget of ${budget.user_path} begins at $0` : "All budgets begin at $0"),
    onSuccess,
  });
}

/** Changes times, thresholds and webhook; Undo writes the values from before. */
export function useSaveSettings(before: Settings | undefined, onSuccess: (saved: Settings) => void, onError: OnError) {
  const write = (body: Partial<Settings>, headers: Record<string, string> = {}) =>
    api.PUT("/admin/api/v1/budgets/settings", { body: body as Schema<"SettingsBody">, headers });
  return useSave<Partial<Settings>, Settings>({
    write,
    invalidates: [["budget-settings"], ["budgets"]],
    what: "the settings",
    done: () => "Settings of budgets saved",
    undo: () => unwrap(write(before!)),
    onSuccess,
    onError: (error) => error.param !== null && onError(error.param, error.message),
  });
}

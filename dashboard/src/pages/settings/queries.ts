import { api, type Schema } from "@/api/client";
import { useResource } from "@/api/query";

/** A setting; `restart_reason` says why a change waits for a restart. */
export type Setting = Schema<"SettingState">;

export const SETTINGS = ["settings"];

export const useSettings = () => useResource(SETTINGS, (signal) => api.GET("/admin/api/v1/settings", { signal }));

/** Writes settings by name; null goes back to the layer below. */
export const patchSettings = (values: Record<string, string | null>) => api.PATCH("/admin/api/v1/settings", { body: values as never });

export const groupOf = (setting: Setting): string => setting.name.split(".")[0] ?? setting.name;

const NAMES: Record<string, string> = { cli_tools: "CLI tools", log: "Log of the process", logging: "Audit log", admin: "Admin API and dashboard", semantic_cache: "Semantic cache", cache: "Response cache", prompt_cache: "Prompt cache", spending: "Budgets" };

/** The name of a group of settings. */
export function groupTitle(group: string): string {
  const text = NAMES[group] ?? group.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The values of a setting that has only a few: "shadow or serve" names them. */
export function choicesOf(kind: string): string[] | null {
  if (!/^[a-z_]+(, [a-z_]+)* or [a-z_]+$/.test(kind)) return null;
  return kind.split(/, | or /);
}

/** A value for people: empty is told apart. */
export const shownValue = (value: string): string => (value === "" ? "not set" : value);

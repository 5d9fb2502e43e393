import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark";

const listeners = new Set<() => void>();
const current = (): Theme => (document.documentElement.dataset.theme === "dark" ? "dark" : "light");

function apply(theme: Theme) {
  document.documentElement.dataset.theme = theme;
  listeners.forEach((listener) => listener());
}

/** Chooses a theme and remembers it; null follows the system again. */
export function setTheme(theme: Theme | null) {
  try {
    if (theme) localStorage.setItem("gatehouse.theme", theme);
    else localStorage.removeItem("gatehouse.theme");
  } catch {
    // Storage is blocked: the choice lasts as long as the page.
  }
  apply(theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
}

export const toggleTheme = () => setTheme(current() === "dark" ? "light" : "dark");

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => {
  try {
    if (localStorage.getItem("gatehouse.theme")) return;
  } catch {
    // As above.
  }
  apply(event.matches ? "dark" : "light");
});

/** The theme in use; components that draw on a canvas follow it. */
export function useTheme(): Theme {
  return useSyncExternalStore((listener) => (listeners.add(listener), () => void listeners.delete(listener)), current);
}

import { useSyncExternalStore } from "react";

/** A small preference in localStorage that components can follow. Only for the theme and the time zone. */
export function stored(name: string, initial: string, valid: (value: string) => boolean = () => true) {
  let value = initial;
  try {
    const found = localStorage.getItem(name);
    if (found !== null && valid(found)) value = found;
  } catch {
    // Storage is blocked: the preference lasts as long as the page.
  }
  const listeners = new Set<() => void>();
  const get = () => value;
  const set = (next: string) => {
    value = next;
    try {
      localStorage.setItem(name, next);
    } catch {
      // As above.
    }
    listeners.forEach((listener) => listener());
  };
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  return { get, set, use: () => useSyncExternalStore(subscribe, get) };
}

import { useSyncExternalStore } from "react";

/** Overlays of the shell, one at a time; their code is loaded on the first use. */
export type Overlay = "palette" | "shortcuts" | "zone";

let open: Overlay | null = null;
const listeners = new Set<() => void>();
const set = (next: Overlay | null) => {
  open = next;
  listeners.forEach((listener) => listener());
};

export const openOverlay = (overlay: Overlay) => set(overlay);
export const closeOverlay = () => set(null);
export const openPalette = () => set("palette");
export const useOverlay = () => useSyncExternalStore((listener) => (listeners.add(listener), () => void listeners.delete(listener)), () => open);

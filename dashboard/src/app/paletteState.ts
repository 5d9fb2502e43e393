import { useSyncExternalStore } from "react";

/** Whether the palette is open; its code is loaded on the first use. */
let open = false;
const listeners = new Set<() => void>();
const set = (next: boolean) => {
  open = next;
  listeners.forEach((listener) => listener());
};

export const openPalette = () => set(true);
export const closePalette = () => set(false);
export const usePaletteOpen = () => useSyncExternalStore((listener) => (listeners.add(listener), () => void listeners.delete(listener)), () => open);

import { useLayoutEffect, type RefObject } from "react";

export type Align = "start" | "end";

/** Puts an open panel of the top layer at its anchor: below, or above where there is more room, inside the window. */
export function useFloating(open: boolean, anchor: RefObject<HTMLElement | null>, panel: RefObject<HTMLElement | null>, align: Align) {
  useLayoutEffect(() => {
    const box = panel.current;
    const at = anchor.current;
    if (!open || !box || !at) return;
    const place = () => {
      const from = at.getBoundingClientRect();
      const left = align === "start" ? from.left : from.right - box.offsetWidth;
      const below = from.bottom + 4;
      const above = from.top - 4 - box.offsetHeight;
      box.style.left = `${Math.max(8, Math.min(left, innerWidth - box.offsetWidth - 8))}px`;
      box.style.top = `${below + box.offsetHeight > innerHeight - 8 && above > 8 ? above : below}px`;
    };
    place();
    const observer = new ResizeObserver(place);
    observer.observe(box);
    addEventListener("scroll", place, { passive: true, capture: true });
    addEventListener("resize", place);
    return () => {
      observer.disconnect();
      removeEventListener("scroll", place, { capture: true });
      removeEventListener("resize", place);
    };
  }, [open, anchor, panel, align]);
}

/** Whether a menu or popover is open; Esc closes it first. */
export const floatingOpen = () => document.querySelector(":popover-open") !== null;

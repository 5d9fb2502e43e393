import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useRef, useState } from "react";

/** Lists up to this length are drawn whole. */
const WHOLE = 80;

/** The rows to draw of a long list in the scrolling window, with the empty heights before and after them. */
export function useRows(length: number, height: number, list: React.RefObject<HTMLElement | null>) {
  const [margin, setMargin] = useState(0);
  useLayoutEffect(() => {
    const element = list.current;
    if (!element) return;
    const top = Math.round(element.getBoundingClientRect().top + window.scrollY);
    setMargin((before) => (before === top ? before : top));
  }, [list, length]);
  const virtual = length > WHOLE;
  const virtualizer = useWindowVirtualizer({ count: virtual ? length : 0, estimateSize: () => height, overscan: 16, scrollMargin: margin });
  const items = virtualizer.getVirtualItems();
  const show = (index: number) => virtual && virtualizer.scrollToIndex(index, { align: "auto" });
  if (!virtual) return { indexes: Array.from({ length }, (_, i) => i), before: 0, after: 0, show };
  const first = items[0];
  const last = items.at(-1);
  return {
    indexes: items.map((item) => item.index),
    before: first ? Math.max(0, first.start - margin) : 0,
    after: last ? Math.max(0, virtualizer.getTotalSize() - (last.end - margin)) : length * height,
    show,
  };
}

/** Calls `onEnd` when the element comes near the visible part of the window. */
export function useEnd(onEnd: (() => void) | undefined, active: boolean) {
  const sentinel = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = sentinel.current;
    if (!element || !onEnd || !active) return;
    const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && onEnd(), { rootMargin: "800px 0px" });
    observer.observe(element);
    return () => observer.disconnect();
  }, [onEnd, active]);
  return sentinel;
}

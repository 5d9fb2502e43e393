import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";

/** Lists up to this length are drawn whole. */
const WHOLE = 80;
/** Rows drawn beyond each end of the window. */
const BEYOND = 16;
/** The first row changes in steps, so that scrolling seldom renders. */
const STEP = 8;
/** Height of the top bar and the table head, which cover rows. */
const COVERED = 84;

/** The rows to draw of a long list of equal rows in the scrolling window, with the empty heights before and after them. */
export function useRows(length: number, height: number, list: RefObject<HTMLElement | null>) {
  const long = length > WHOLE;
  const [first, setFirst] = useState(0);
  const [fit, setFit] = useState(40);
  const listTop = useCallback(() => (list.current?.getBoundingClientRect().top ?? 0) + window.scrollY, [list]);

  useLayoutEffect(() => {
    if (!long) return;
    let frame = 0;
    const look = () => {
      frame = 0;
      const above = Math.floor((window.scrollY - listTop()) / height) - BEYOND;
      setFirst(Math.max(0, Math.floor(above / STEP) * STEP));
      setFit(Math.ceil(innerHeight / height));
    };
    const later = () => void (frame ||= requestAnimationFrame(look));
    look();
    addEventListener("scroll", later, { passive: true });
    addEventListener("resize", later);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener("scroll", later);
      removeEventListener("resize", later);
    };
  }, [long, height, length, listTop]);

  /** Scrolls so that a row is in sight. */
  const show = (index: number) => {
    const top = listTop() + index * height;
    if (top - COVERED < window.scrollY) window.scrollTo({ top: top - COVERED });
    else if (top + height + 40 > window.scrollY + innerHeight) window.scrollTo({ top: top + height + 40 - innerHeight });
  };

  if (!long) return { indexes: Array.from({ length }, (_, i) => i), before: 0, after: 0, show };
  const start = Math.min(first, Math.max(0, length - 1));
  const end = Math.min(length, start + fit + 2 * BEYOND + STEP);
  return { indexes: Array.from({ length: end - start }, (_, i) => start + i), before: start * height, after: (length - end) * height, show };
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

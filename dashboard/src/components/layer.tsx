import { useEffect, useRef, useSyncExternalStore, type ReactNode } from "react";
import { cx } from "./cx";
import { floatingOpen } from "./floating";

let stack: HTMLElement[] = [];
let panels = 0;
const listeners = new Set<() => void>();
const setStack = (next: HTMLElement[]) => {
  stack = next;
  listeners.forEach((listener) => listener());
};

/** The topmost open modal layer, for toasts, which must stay usable above it. */
export function useTopLayer(): HTMLElement | null {
  return useSyncExternalStore(
    (listener) => (listeners.add(listener), () => void listeners.delete(listener)),
    () => stack.at(-1) ?? null,
  );
}

/** Whether any layer is open, also one without a scrim: toasts leave the foot of a drawer free. */
export function useAnyLayer(): boolean {
  return useSyncExternalStore(
    (listener) => (listeners.add(listener), () => void listeners.delete(listener)),
    () => panels > 0,
  );
}

/** Whether a modal layer is open; shortcuts of the page are silent then. */
export const layerOpen = () => stack.length > 0;

type LayerProps = { onClose: () => void; label?: string; labelledBy?: string; className: string; modal?: boolean; children: ReactNode };

/** A native dialog: traps and returns focus, closes on Esc and on a click outside. Mount it to open it. */
export function Layer({ onClose, label, labelledBy, className, modal = true, children }: LayerProps) {
  const element = useRef<HTMLDialogElement>(null);

  useEffect(() => {
    const dialog = element.current;
    if (!dialog) return;
    const before = document.activeElement;
    panels += 1;
    if (modal) {
      dialog.showModal();
      setStack([...stack, dialog]);
    } else {
      dialog.show();
      setStack(stack);
      if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    }
    return () => {
      panels -= 1;
      setStack(stack.filter((each) => each !== dialog));
      dialog.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, [modal]);

  useEffect(() => {
    if (modal) return;
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !layerOpen() && !floatingOpen() && !event.defaultPrevented) onClose();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [modal, onClose]);

  return (
    <dialog
      ref={element}
      aria-label={label}
      aria-labelledby={labelledBy}
      className={cx("layer", className)}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (modal && event.target === element.current && outside(event.clientX, event.clientY, element.current)) onClose();
      }}
    >
      {children}
    </dialog>
  );
}

function outside(x: number, y: number, element: HTMLElement): boolean {
  const box = element.getBoundingClientRect();
  return x < box.left || x > box.right || y < box.top || y > box.bottom;
}

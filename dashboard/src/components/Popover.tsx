import { cloneElement, useEffect, useRef, useState, type ReactElement, type ReactNode, type Ref } from "react";
import { useFloating, type Align } from "./floating";

export type Trigger = ReactElement<{ ref?: Ref<HTMLElement>; onClick?: (event: React.MouseEvent) => void; "aria-expanded"?: boolean; "aria-haspopup"?: "menu" | "dialog" }>;

type PopoverProps = { open?: boolean; onOpenChange?: (open: boolean) => void; trigger: Trigger; label: string; children: ReactNode; align?: Align };

/** A small panel at its trigger, for filters and short forms. Esc or a click elsewhere closes it. */
export function Popover({ open: controlled, onOpenChange, trigger, label, children, align = "start" }: PopoverProps) {
  const anchor = useRef<HTMLElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const [own, setOwn] = useState(false);
  const open = controlled ?? own;
  const change = (next: boolean) => {
    setOwn(next);
    onOpenChange?.(next);
  };
  useEffect(() => {
    const box = panel.current;
    if (!box || box.matches(":popover-open") === open) return;
    if (open) {
      box.showPopover();
      box.querySelector<HTMLElement>("[autofocus], input, select, textarea, button")?.focus();
    } else {
      box.hidePopover();
    }
  }, [open]);
  useFloating(open, anchor, panel, align);
  return (
    <>
      {cloneElement(trigger, { ref: anchor, "aria-expanded": open, "aria-haspopup": "dialog", onClick: () => change(!open) })}
      <div
        ref={panel}
        popover="auto"
        role="dialog"
        aria-label={label}
        onToggle={(event) => {
          if (event.newState !== "closed" || !open) return;
          change(false);
          if (panel.current?.contains(document.activeElement) || document.activeElement === document.body) anchor.current?.focus();
        }}
        className="floating w-72 max-w-[calc(100vw-16px)] p-3 whitespace-normal"
      >
        {open && children}
      </div>
    </>
  );
}

import { Ellipsis, type LucideIcon } from "lucide-react";
import { cloneElement, useEffect, useRef, useState, type KeyboardEvent } from "react";
import { IconButton } from "./Button";
import { cx } from "./cx";
import { useFloating, type Align } from "./floating";
import type { Trigger } from "./Popover";

export type MenuItem = { label: string; icon?: LucideIcon; run: () => void; danger?: boolean; disabled?: boolean; hint?: string } | "separator";

/** A menu of actions. `children` is the trigger; without it, the ⋯ button named `label`. */
export function Menu({ label, items, children, align = "end" }: { label: string; items: MenuItem[]; children?: Trigger; align?: Align }) {
  const anchor = useRef<HTMLElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  const entries = () => [...(panel.current?.querySelectorAll<HTMLElement>('[role="menuitem"]:not([disabled])') ?? [])];

  useEffect(() => {
    const box = panel.current;
    if (!box || box.matches(":popover-open") === open) return;
    if (open) {
      box.showPopover();
      box.querySelector<HTMLElement>('[role="menuitem"]:not([disabled])')?.focus();
    } else {
      box.hidePopover();
    }
  }, [open]);
  useFloating(open, anchor, panel, align);

  const onKey = (event: KeyboardEvent) => {
    const all = entries();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const next = { ArrowDown: all[(at + 1) % all.length], ArrowUp: all[(at - 1 + all.length) % all.length], Home: all[0], End: all.at(-1) }[event.key];
    if (next) {
      event.preventDefault();
      next.focus();
    } else if (event.key === "Tab") setOpen(false);
  };

  const trigger = children ?? <IconButton label={label} icon={Ellipsis} size="sm" />;
  return (
    <>
      {cloneElement(trigger, {
        ref: anchor,
        "aria-haspopup": "menu",
        "aria-expanded": open,
        onClick: (event: React.MouseEvent) => {
          event.stopPropagation();
          setOpen(!open);
        },
      })}
      <div
        ref={panel}
        popover="auto"
        role="menu"
        aria-label={label}
        onKeyDown={onKey}
        onClick={(event) => event.stopPropagation()}
        onToggle={(event) => {
          if (event.newState !== "closed" || !open) return;
          setOpen(false);
          anchor.current?.focus();
        }}
        className="floating min-w-44 p-1 text-left"
      >
        {open &&
          items.map((item, i) =>
            item === "separator" ? (
              <div key={i} role="separator" className="-mx-1 my-1 h-px bg-line" />
            ) : (
              <button
                key={i}
                type="button"
                role="menuitem"
                tabIndex={-1}
                disabled={item.disabled}
                onClick={() => {
                  setOpen(false);
                  anchor.current?.focus();
                  item.run();
                }}
                className={cx("flex h-8 w-full items-center gap-2 rounded-md px-2 whitespace-nowrap outline-none hover:bg-hover focus:bg-hover disabled:cursor-not-allowed disabled:text-ink-3 phone:h-11", item.danger && "text-bad")}
              >
                {item.icon && <item.icon aria-hidden className={cx("size-4", !item.danger && "text-ink-3")} />}
                {item.label}
                {item.hint && <span className="ml-auto pl-4 text-small text-ink-3">{item.hint}</span>}
              </button>
            ),
          )}
      </div>
    </>
  );
}

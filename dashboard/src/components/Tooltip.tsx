import { cloneElement, useId, useRef, useState, type ReactElement, type ReactNode, type Ref } from "react";
import { useFloating } from "./floating";

type Target = ReactElement<{ ref?: Ref<HTMLElement>; "aria-describedby"?: string }>;

/** Explains its trigger on hover and focus. The trigger must take focus. */
export function Tooltip({ text, children }: { text: ReactNode; children: Target }) {
  const id = useId();
  const anchor = useRef<HTMLElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  useFloating(open, anchor, panel, "start");
  const show = (next: boolean) => {
    const box = panel.current;
    if (!box || box.matches(":popover-open") === next) return;
    if (next) box.showPopover();
    else box.hidePopover();
    setOpen(next);
  };
  return (
    <span onMouseEnter={() => show(true)} onMouseLeave={() => show(false)} onFocus={() => show(true)} onBlur={() => show(false)} onKeyDown={(event) => event.key === "Escape" && show(false)}>
      {cloneElement(children, { ref: anchor, "aria-describedby": id })}
      <div ref={panel} popover="manual" role="tooltip" id={id} className="floating max-w-72 px-2.5 py-1.5 text-small whitespace-normal">
        {text}
      </div>
    </span>
  );
}

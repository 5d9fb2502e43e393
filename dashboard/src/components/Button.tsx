import { LoaderCircle, type LucideIcon } from "lucide-react";
import type { ButtonHTMLAttributes, ReactNode } from "react";
import { cx } from "./cx";

type Look = "default" | "primary" | "quiet" | "danger" | "danger-solid";

const LOOKS: Record<Look, string> = {
  default: "bg-surface border-line-strong hover:bg-hover hover:border-line-control [&>svg]:text-ink-3",
  primary: "bg-accent border-accent text-on-accent hover:bg-accent-hover hover:border-accent-hover [&_kbd]:border-white/40 [&_kbd]:text-white [&_kbd]:bg-transparent",
  quiet: "border-transparent text-ink-2 hover:bg-hover hover:text-ink [&>svg]:text-ink-3",
  danger: "bg-surface border-line-strong text-bad hover:bg-hover hover:border-line-control",
  "danger-solid": "bg-[#b92b27] border-[#b92b27] text-white hover:bg-[#a32521]",
};
const DISABLED = "disabled:text-ink-3 disabled:bg-well disabled:border-line disabled:cursor-not-allowed disabled:hover:bg-well [&:disabled>svg]:text-ink-3 [&:disabled_kbd]:border-line-strong [&:disabled_kbd]:text-ink-3";

type Shape = { look?: Look; size?: "sm" | "md" | "lg"; full?: boolean; icon?: LucideIcon; className?: string };

/** Classes of a button, for links that look like one. */
export function buttonClass({ look = "default", size = "md", full, className }: Shape, iconOnly = false): string {
  const box = size === "sm" ? "h-7 text-small phone:h-10" : size === "lg" ? "h-10" : "h-8 phone:h-10";
  const pad = iconOnly ? (size === "sm" ? "w-7 phone:w-10" : "w-8 phone:w-11 phone:h-11") : size === "sm" ? "px-2.5" : "px-3";
  return cx("inline-flex items-center justify-center gap-1.5 border rounded-md font-medium whitespace-nowrap transition-colors duration-120 [&>svg]:size-4", !iconOnly && "[&>svg]:-ml-0.5", size === "sm" && "[&>svg]:size-3.5", box, pad, LOOKS[look], DISABLED, full && "w-full", className);
}

type ButtonProps = Omit<ButtonHTMLAttributes<HTMLButtonElement>, "type"> & Shape & {
  type?: "button" | "submit";
  /** Key shown at the end, e.g. "C"; it does not bind the key. */
  shortcut?: string;
  /** The label stays, the icon turns, and clicks are ignored. */
  busy?: boolean;
  children: ReactNode;
};

/** A button with a label. One primary per view. */
export function Button({ look, size, full, icon: Icon, className, shortcut, busy, children, onClick, type = "button", ...rest }: ButtonProps) {
  return (
    <button type={type} aria-busy={busy || undefined} onClick={busy ? undefined : onClick} className={buttonClass({ look, size, full, className })} {...rest}>
      {busy ? <LoaderCircle aria-hidden className="turning" /> : Icon && <Icon aria-hidden />}
      {children}
      {shortcut && <Kbd>{shortcut}</Kbd>}
    </button>
  );
}

type IconButtonProps = Omit<ButtonHTMLAttributes<HTMLButtonElement>, "type"> & { label: string; icon: LucideIcon; size?: "sm" | "md"; look?: Look; hint?: string };

/** A button with an icon only; `label` is its accessible name and tooltip. */
export function IconButton({ label, icon: Icon, size = "md", look = "quiet", hint, className, ...rest }: IconButtonProps) {
  return (
    <button type="button" aria-label={label} title={hint ?? label} className={buttonClass({ look, size, className }, true)} {...rest}>
      <Icon aria-hidden />
    </button>
  );
}

const APPLE = /Mac|iP/.test(navigator.platform);

/** A key of the keyboard; "⌘" is Ctrl where the keyboard has no such key. */
export function Kbd({ children }: { children: ReactNode }) {
  const key = typeof children === "string" && !APPLE ? children.replace(/⌘(?=.)/, "Ctrl ").replace("⌘", "Ctrl") : children;
  return <kbd aria-hidden className="inline-grid h-[18px] min-w-[18px] place-items-center rounded-sm border border-line-strong bg-surface px-1 font-sans text-[11px]/4 font-medium text-ink-3 phone:hidden">{key}</kbd>;
}

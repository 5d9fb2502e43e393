import { CircleCheck, Copy, OctagonX, X, type LucideIcon } from "lucide-react";
import { useEffect, useState, useSyncExternalStore } from "react";
import { createPortal } from "react-dom";
import { messageOf } from "@/api/errors";
import { Button, IconButton } from "./Button";
import { useAnyLayer, useTopLayer } from "./layer";

export type ToastInput = {
  kind?: "ok" | "bad" | "copied";
  title: string;
  detail?: string;
  /** Takes the change back; shows Undo. */
  undo?: () => Promise<unknown>;
  action?: { label: string; run: () => void };
};
type ToastEntry = ToastInput & { id: number };

let entries: ToastEntry[] = [];
let last = 0;
const listeners = new Set<() => void>();
const set = (next: ToastEntry[]) => {
  entries = next;
  listeners.forEach((listener) => listener());
};
const dismiss = (id: number) => set(entries.filter((entry) => entry.id !== id));

/** Shows a message in the corner; at most three at once. */
export function toast(input: ToastInput) {
  set([...entries.slice(-2), { ...input, id: ++last }]);
}

/** Copies text and says so: `copy(value, "Copied as Python")`. */
export async function copy(text: string, said = "Copied") {
  try {
    await navigator.clipboard.writeText(text);
    toast({ kind: "copied", title: said });
  } catch {
    toast({ kind: "bad", title: "Not copied: the browser does not allow it here", detail: "Select the text and copy it by hand." });
  }
}

const ICONS: Record<NonNullable<ToastInput["kind"]>, [LucideIcon, string]> = { ok: [CircleCheck, "text-ok"], copied: [Copy, "text-ok"], bad: [OctagonX, "text-bad"] };

function ToastView({ entry }: { entry: ToastEntry }) {
  const { id, kind = "ok", title, detail, undo, action } = entry;
  const [held, setHeld] = useState(false);
  // A toast under the pointer or with the focus stays.
  useEffect(() => {
    if (held) return;
    const timer = setTimeout(() => dismiss(id), undo || action || kind === "bad" ? 10_000 : 4_000);
    return () => clearTimeout(timer);
  }, [id, undo, action, kind, held]);
  const [Icon, tint] = ICONS[kind];
  const takeBack = () => {
    dismiss(id);
    undo?.().then(
      () => toast({ title: "Undone" }),
      (error: unknown) => toast({ kind: "bad", title: `Not undone: ${messageOf(error)}` }),
    );
  };
  return (
    <li
      className="flex items-start gap-2.5 rounded-lg border border-line-strong bg-surface py-2.5 pr-2 pl-3 shadow-float"
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      <Icon aria-hidden className={`mt-0.5 size-4 ${tint}`} />
      <div className="min-w-0 flex-1">
        {title}
        {detail && <div className="text-small text-ink-3">{detail}</div>}
      </div>
      {undo && (
        <Button look="quiet" size="sm" className="-my-0.5" onClick={takeBack}>
          Undo
        </Button>
      )}
      {action && (
        <Button
          look="quiet"
          size="sm"
          className="-my-0.5"
          onClick={() => {
            dismiss(id);
            action.run();
          }}
        >
          {action.label}
        </Button>
      )}
      <IconButton label="Dismiss" icon={X} size="sm" className="-my-0.5" onClick={() => dismiss(id)} />
    </li>
  );
}

/** The place of toasts; once, in the shell. */
export function Toaster() {
  const shown = useSyncExternalStore(
    (listener) => (listeners.add(listener), () => void listeners.delete(listener)),
    () => entries,
  );
  const top = useTopLayer();
  const above = useAnyLayer();
  return createPortal(
    <ul aria-live="polite" aria-label="Messages" className={`fixed right-6 z-60 grid w-[432px] gap-2 phone:right-3 phone:bottom-[68px] phone:left-3 phone:w-auto ${above ? "bottom-18" : "bottom-6"}`}>
      {shown.map((entry) => (
        <ToastView key={entry.id} entry={entry} />
      ))}
    </ul>,
    top ?? document.body,
  );
}

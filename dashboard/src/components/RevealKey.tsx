import { Link } from "@tanstack/react-router";
import { Copy, KeyRound, SquareTerminal, X } from "lucide-react";
import { useEffect, useRef, type ReactNode } from "react";
import { Button, buttonClass, IconButton } from "./Button";
import { copy } from "./Toast";

/** The value of a new or rotated key, which is shown this once. It takes the focus when it appears. */
export function RevealKey({ title, value, onClose, connect, children }: { title: ReactNode; value: string; onClose: () => void; connect?: boolean; children?: ReactNode }) {
  const box = useRef<HTMLElement>(null);
  useEffect(() => box.current?.focus(), []);
  return (
    <section ref={box} tabIndex={-1} aria-label="New key" className="mb-4 flex gap-3 rounded-lg border border-accent-line bg-accent-soft p-4 outline-none phone:flex-wrap phone:p-3">
      <KeyRound aria-hidden className="mt-0.5 size-4 text-accent-ink" />
      <div className="min-w-0 flex-1">
        <p className="font-strong">{title}</p>
        <div className="mt-2 flex flex-wrap items-center gap-2">
          <code data-testid="revealed-key" className="rounded-md border border-accent-line bg-surface px-2.5 py-1.5 [overflow-wrap:anywhere] select-all">
            {value}
          </code>
          <Button size="sm" icon={Copy} onClick={() => void copy(value, "Key copied")}>
            Copy
          </Button>
          {connect && (
            <Link to="/cli-tools" className={buttonClass({ size: "sm" })}>
              <SquareTerminal aria-hidden className="text-ink-3" />
              Connect a tool
            </Link>
          )}
        </div>
        {children && <div className="mt-2 text-small text-ink-2">{children}</div>}
      </div>
      <IconButton label="Hide the key" icon={X} onClick={onClose} />
    </section>
  );
}

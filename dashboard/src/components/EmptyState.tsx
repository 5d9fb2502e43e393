import { RotateCw, Unplug, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { ApiError, messageOf } from "@/api/errors";
import { Button } from "./Button";
import { cx } from "./cx";

/** Shown on a page without data: the page's purpose and one action. */
export function EmptyState({ icon: Icon, tone, title, children, actions, small, footer }: { icon?: LucideIcon; tone?: "warn"; title: string; children?: ReactNode; actions?: ReactNode; small?: boolean; footer?: ReactNode }) {
  return (
    <div className={cx("grid justify-items-center px-6 text-center", small ? "pt-7 pb-8" : "pt-11 pb-12")}>
      {Icon && <Icon aria-hidden className={cx("mb-3 size-7 stroke-[1.25]!", tone === "warn" ? "text-warn" : "text-ink-3")} />}
      <h3 className="text-lead font-strong">{title}</h3>
      {children && <div className="mt-1 max-w-[44ch] text-ink-2">{children}</div>}
      {actions && <div className="mt-4 flex flex-wrap items-center justify-center gap-2">{actions}</div>}
      {footer}
    </div>
  );
}

/** Filters match nothing: keeps them and offers the nearest way out. */
export function NoMatch({ what, children, onClear, actions }: { what: string; children?: ReactNode; onClear?: () => void; actions?: ReactNode }) {
  return (
    <EmptyState
      small
      title={`No ${what} match`}
      actions={
        <>
          {actions}
          {onClear && (
            <Button look="quiet" onClick={onClear}>
              Clear all
            </Button>
          )}
        </>
      }
    >
      {children}
    </EmptyState>
  );
}

/** An error in the place of content: message, code, request id, and a way to try again; the rest of the page works on. */
export function ErrorNote({ error, onRetry, title, actions }: { error: unknown; onRetry?: () => void; title?: string; actions?: ReactNode }) {
  const api = error instanceof ApiError ? error : null;
  const heading = title ?? (api?.forbidden ? "Not allowed for you" : api?.unavailable ? "This is switched off" : "This could not be loaded");
  return (
    <div role="alert">
      <EmptyState
        icon={Unplug}
        tone="warn"
        title={heading}
        actions={
          <>
            {actions}
            {onRetry && (
              <Button look={actions ? "quiet" : "default"} icon={RotateCw} onClick={onRetry}>
                Try again
              </Button>
            )}
          </>
        }
        footer={
          api && (
            <code className="mt-2 text-small text-ink-2">
              {api.status} {api.code}
              {api.requestId && ` · ${api.requestId.slice(0, 12)}`}
            </code>
          )
        }
      >
        <p>{messageOf(error)}</p>
      </EmptyState>
    </div>
  );
}

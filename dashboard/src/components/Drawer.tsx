import { X } from "lucide-react";
import { useId, type ReactNode } from "react";
import { IconButton } from "./Button";
import { Layer } from "./layer";
import { usePhone } from "./media";

type DrawerProps = {
  title: ReactNode;
  onClose: () => void;
  /** Beside the title, e.g. the moment of a call. */
  sub?: ReactNode;
  /** Left of the close button. */
  actions?: ReactNode;
  footer?: ReactNode;
  /** Between head and body, e.g. the steps of a flow. */
  steps?: ReactNode;
  /** 640 px without a scrim, so that the list beside it stays usable. */
  inspector?: boolean;
  children: ReactNode;
};

/** A panel from the right: 520 px with a scrim for forms, or the 640 px inspector. Mount it to open it. */
export function Drawer({ title, onClose, sub, actions, footer, steps, inspector, children }: DrawerProps) {
  const id = useId();
  const modal = usePhone() || !inspector;
  return (
    <Layer onClose={onClose} labelledBy={id} modal={modal} className={inspector ? "drawer wide" : "drawer"}>
      <div className="flex h-full flex-col">
        <header className="flex h-[52px] flex-none items-center gap-2 border-b border-line pr-3 pl-5 phone:pr-1 phone:pl-4">
          <h2 id={id} className="flex min-w-0 items-center gap-2 truncate text-title font-strong tracking-[-0.008em]">
            {title}
          </h2>
          {sub && <span className="truncate text-small text-ink-3 phone:hidden">{sub}</span>}
          <span className="ml-auto flex items-center gap-2">
            {actions}
            <IconButton label="Close" hint="Close (Esc)" icon={X} onClick={onClose} />
          </span>
        </header>
        {steps}
        <div className="min-h-0 flex-1 overflow-y-auto p-5 pt-4 pb-6 phone:p-4">{children}</div>
        {footer && <footer className="flex flex-none flex-wrap items-center gap-2 border-t border-line px-5 py-3">{footer}</footer>}
      </div>
    </Layer>
  );
}

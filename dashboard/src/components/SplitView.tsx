import { ArrowLeft } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "./Button";
import { usePhone } from "./media";

type SplitViewProps = {
  list: ReactNode;
  /** Accessible name of the right part. */
  label: string;
  /** Whether an object is chosen in the URL: a phone shows either the list or the object. */
  open: boolean;
  /** Leads a phone back to the list, e.g. "Guardrails". */
  back: string;
  onBack: () => void;
  children: ReactNode;
};

/** List left, work right; on a phone one after the other. For flush pages. */
export function SplitView({ list, label, open, back, onBack, children }: SplitViewProps) {
  const phone = usePhone();
  if (phone && !open) return <div className="px-2 py-2">{list}</div>;
  const work = (
    <section aria-label={label} className="min-w-0 flex-1 bg-surface px-7 pt-5 pb-8 phone:px-4 phone:pt-2">
      {phone && (
        <Button look="quiet" icon={ArrowLeft} className="-ml-3" onClick={onBack}>
          {back}
        </Button>
      )}
      {children}
    </section>
  );
  if (phone) return work;
  return (
    <div className="flex flex-1">
      <div className="sticky top-[52px] h-[calc(100dvh-52px)] w-[304px] flex-none overflow-y-auto border-r border-line p-3 narrow:w-[256px]">{list}</div>
      {work}
    </div>
  );
}

/** Head of the object at the right: name, facts, actions. */
export function SplitHead({ title, mono, sub, actions }: { title: ReactNode; mono?: boolean; sub?: ReactNode; actions?: ReactNode }) {
  return (
    <header className="mb-4 flex min-h-8 flex-wrap items-center gap-x-3 gap-y-2">
      <h2 className={`min-w-0 text-[17px]/6 font-strong [overflow-wrap:anywhere] ${mono ? "font-mono tracking-[-0.02em]" : "tracking-[-0.01em]"}`}>{title}</h2>
      {sub && <span className="min-w-0 text-small text-ink-3 [overflow-wrap:anywhere]">{sub}</span>}
      <span className="ml-auto flex items-center gap-2 phone:ml-0 phone:w-full">{actions}</span>
    </header>
  );
}

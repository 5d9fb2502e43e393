import { Note } from "@/components/Note";
import { httpKind, StatusIcon } from "@/components/Status";
import { count } from "@/format";
import type { Stats } from "./types";

/** The error codes of the range with their counts, to choose one. */
export function StatusCodes({ stats, onPick }: { stats: Stats; onPick: (status: string) => void }) {
  const codes = Object.entries(stats.by_status).filter(([status]) => Number(status) >= 400);
  return (
    <div className="border-b border-line bg-surface px-6 py-2.5 phone:px-3">
      {codes.length ? (
        <div className="flex flex-wrap items-center gap-2 text-small">
          <span className="text-ink-2">Choose a status to list its errors</span>
          {codes.map(([status, number]) => (
            <button key={status} type="button" onClick={() => onPick(status)} className="inline-flex h-7 items-center gap-1.5 rounded-md border border-line-strong bg-surface px-2.5 hover:border-line-control phone:h-10">
              <StatusIcon kind={httpKind(Number(status))} />
              <b className="num font-medium">{status}</b>
              <span className="num text-ink-3">{count(number)}</span>
            </button>
          ))}
        </div>
      ) : (
        <Note kind="ok">No call in this range failed.</Note>
      )}
    </div>
  );
}

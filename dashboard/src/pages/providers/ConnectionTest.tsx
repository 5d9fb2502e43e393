import { FlaskConical } from "lucide-react";
import { ApiError, messageOf } from "@/api/errors";
import { Button } from "@/components/Button";
import { Note } from "@/components/Note";
import { Tag } from "@/components/Status";
import { duration, plural } from "@/format";
import type { TestResult } from "./queries";

const SHOWN = 3;

/** The result of a connection test, or the way to one. `stale`: fields changed since. */
export function ConnectionTest({ result, error, stale, busy, onTest, stored }: { result: TestResult | undefined; error: unknown; stale: boolean; busy: boolean; onTest?: () => void; stored?: boolean }) {
  const again = onTest && (
    <Button size="sm" icon={result || error ? undefined : FlaskConical} busy={busy} onClick={onTest}>
      {result || error ? "Test again" : "Test connection"}
    </Button>
  );
  if (error) {
    const old = error instanceof ApiError && (error.status === 404 || error.status === 405);
    return (
      <Note kind={old ? "warn" : "bad"} action={again}>
        <strong className="font-medium">Not tested</strong>
        <p className="text-small text-ink-2">{old ? "This gateway tests providers only after they are stored. Add it, then test it from the list." : messageOf(error)}</p>
      </Note>
    );
  }
  if (!result || stale)
    return (
      <Note action={again}>
        <strong className="font-medium">{stale ? "Changed since the test" : "Not tested yet"}</strong>
        <p className="text-small text-ink-2">A test connects, lists the models and stores nothing.</p>
      </Note>
    );
  if (!result.ok)
    return (
      <Note kind="bad" action={again}>
        <strong className="font-medium">No connection</strong>
        <p className="text-small text-ink-2 [overflow-wrap:anywhere]">{result.error ?? "The provider did not answer."}</p>
      </Note>
    );
  const names = result.models ?? [];
  const more = (result.model_count ?? names.length) - Math.min(SHOWN, names.length);
  return (
    <Note kind="ok" action={again}>
      <strong className="font-medium">Connected in {duration(result.latency_ms)}</strong>
      <p className="text-small text-ink-2">
        {result.model_count == null ? "It does not list its models: name them below." : plural(result.model_count, "model")}
        {result.model_count != null && "."} {!stored && "Nothing is stored yet."}
      </p>
      {names.length > 0 && (
        <p className="mt-1.5 flex flex-wrap gap-1.5">
          {names.slice(0, SHOWN).map((name) => (
            <Tag key={name} mono>
              {name}
            </Tag>
          ))}
          {more > 0 && <Tag mono>+{more}</Tag>}
        </p>
      )}
    </Note>
  );
}

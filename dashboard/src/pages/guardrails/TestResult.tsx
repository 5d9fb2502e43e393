import { CircleCheck, Info, ShieldAlert, ShieldX, type LucideIcon } from "lucide-react";
import { Note } from "@/components/Note";
import { Tag } from "@/components/Status";
import { duration, plural } from "@/format";
import { partsOf } from "./MarkedTextArea";
import type { DryRun, Guardrail } from "./queries";

type Told = { kind: "ok" | "warn" | "bad" | "info"; icon: LucideIcon; title: string; detail?: string };

/** The verdict in words, and what follows from it. */
function tell(result: DryRun, guardrail: Guardrail): Told {
  const { verdict, error } = result.verdict;
  const kinds = Object.values(result.verdict.kinds ?? {}).reduce((sum, each) => sum + Number(each), 0);
  const found = result.spans?.length || kinds;
  const only = guardrail.mode === "monitor" ? "Mode monitor: the verdict is recorded, and the call goes on unchanged." : undefined;
  switch (verdict) {
    case "block":
      return { kind: "bad", icon: ShieldX, title: "Blocked", detail: only ?? "The call is refused with 400 guardrail_blocked; the model is not asked." };
    case "redact":
      return { kind: "warn", icon: ShieldAlert, title: found ? `Passes with ${plural(found, "redaction")}` : "Passes changed", detail: only };
    case "flag":
      return { kind: "warn", icon: ShieldAlert, title: "Flagged", detail: only ?? "The call is made, and the verdict is recorded." };
    case "error":
      return { kind: "bad", icon: ShieldX, title: "The guardrail failed", detail: [error, guardrail.on_error === "block" ? "on_error is block: the call is refused." : "on_error is allow: the call goes on."].filter(Boolean).join(" ") };
    case "not_asked":
      return { kind: "info", icon: Info, title: "Not inspected", detail: "This guardrail does not inspect such texts: see its direction and roles." };
    default:
      return { kind: "ok", icon: CircleCheck, title: result.changed ? "Passes changed" : "Passes unchanged", detail: only };
  }
}

/** The verdict on a sample, and the text after it. */
export function TestResult({ result, sample, guardrail }: { result: DryRun; sample: string; guardrail: Guardrail }) {
  const { kind, icon, title, detail } = tell(result, guardrail);
  const { score, classifier_score: classifier, kinds } = result.verdict;
  const facts = [result.duration_ms !== undefined && duration(result.duration_ms), score != null && `score ${score.toFixed(2)}`, classifier != null && `classifier ${classifier.toFixed(2)}`, detail].filter(Boolean);
  const blocked = result.verdict.verdict === "block" && guardrail.mode === "enforce";
  return (
    <>
      <Note
        kind={kind}
        icon={icon}
        action={
          <span className="flex max-w-[50%] flex-wrap justify-end gap-1.5">
            {Object.entries(kinds ?? {}).map(([name, count]) => (
              <Tag key={name} mono kind={kind === "bad" ? "bad" : "warn"}>
                {name} {String(count)}
              </Tag>
            ))}
            {result.rules.map((rule) => (
              <Tag key={rule} mono>
                {rule}
              </Tag>
            ))}
          </span>
        }
      >
        <strong className="font-strong">{title}</strong>
        {facts.length > 0 && <span className="block text-small text-ink-2">{facts.join(" · ")}</span>}
      </Note>
      {!blocked && result.verdict.verdict !== "not_asked" && (
        <div>
          <h3 className="mb-2 text-small font-medium">{result.verdict.subject === "answer" ? "Sent to the caller" : "Sent to the model"}</h3>
          <div className="rounded-lg border border-line bg-well p-4 text-[14px]/[26px] whitespace-pre-wrap [overflow-wrap:anywhere]">
            {result.spans?.length && result.changed
              ? partsOf(sample, result.spans).map(({ text, span }, i) =>
                  span?.replacement != null ? (
                    <span key={i} className="mx-px rounded-sm border border-accent-line bg-accent-soft px-1 py-px font-mono text-small text-accent-ink">
                      {span.replacement}
                    </span>
                  ) : (
                    text
                  ),
                )
              : result.text}
          </div>
        </div>
      )}
    </>
  );
}

import { useMutation } from "@tanstack/react-query";
import { Play } from "lucide-react";
import { useState } from "react";
import type { Schema } from "@/api/client";
import { Button, Kbd } from "@/components/Button";
import { ErrorNote } from "@/components/EmptyState";
import { Segmented } from "@/components/Segmented";
import { Select } from "@/components/Select";
import { kindOf } from "./kinds";
import { MarkedTextArea } from "./MarkedTextArea";
import { testGuardrail, type Guardrail } from "./queries";
import { TestResult } from "./TestResult";

type Role = Schema<"TextRole">;
type Subject = Schema<"GuardedSubject">;
const ROLES: Role[] = ["user", "system", "developer", "assistant", "tool"];

/** A sample text, its matches, the verdict, and what the model would get. */
export function TestBox({ guardrail }: { guardrail: Guardrail }) {
  const [text, setText] = useState(kindOf(guardrail.type).sample);
  const [role, setRole] = useState<Role>("user");
  const [subject, setSubject] = useState<Subject>(guardrail.direction === "output" ? "answer" : "request");
  const test = useMutation({ mutationFn: (sample: Schema<"GuardrailSample">) => testGuardrail(guardrail.name, sample) });
  const run = () => {
    if (text !== "" && !test.isPending) test.mutate(subject === "request" ? { text, role, subject } : { text, subject });
  };
  const result = test.data && test.variables?.text === text ? test.data : null;
  const blocked = result?.verdict.verdict === "block";

  return (
    <div className="max-w-[960px] space-y-4">
      <div>
        <div className="mb-2 flex flex-wrap items-center gap-x-3 gap-y-2">
          <label htmlFor="sample" className="text-small font-medium">
            Sample text
          </label>
          {guardrail.direction === "both" && <Segmented label="Test as" value={subject} onChange={setSubject} options={[{ value: "request", label: "Request" }, { value: "answer", label: "Answer" }]} />}
          {subject === "request" && <Select look="bar" aria-label="Role of the message" value={role} onChange={setRole} options={ROLES.map((each) => ({ value: each, label: `from ${each}` }))} />}
          <span className="ml-auto flex items-center gap-2">
            <span className="flex items-center gap-1 phone:hidden">
              <Kbd>⌘</Kbd>
              <Kbd>↵</Kbd>
            </span>
            <Button icon={Play} busy={test.isPending} disabled={text === ""} onClick={run}>
              Test
            </Button>
          </span>
        </div>
        <MarkedTextArea id="sample" value={text} onChange={setText} onSubmit={run} spans={result?.spans ?? []} tone={blocked ? "bad" : "warn"} placeholder="Type or paste a text, then test it" />
      </div>
      <div aria-live="polite" aria-busy={test.isPending} className="space-y-4">
        {test.error && <ErrorNote error={test.error} title="The test could not be made" onRetry={run} />}
        {result && <TestResult result={result} sample={text} guardrail={guardrail} />}
        {!result && !test.error && !test.isPending && <p className="text-small text-ink-3">The test is made with the stored guardrail. It calls no model, unless the guardrail itself does, and is not recorded.</p>}
      </div>
    </div>
  );
}

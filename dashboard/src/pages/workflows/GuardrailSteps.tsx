import { Trash2 } from "lucide-react";
import { IconButton } from "@/components/Button";
import { NumberInput } from "@/components/Input";
import { Select } from "@/components/Select";
import { useUsableGuardrails, type Payload } from "./queries";

type Step = NonNullable<Payload["guardrails"]>[number];

/** The guardrails of a workflow, each with its step. */
export function GuardrailSteps({ steps, onChange }: { steps: readonly Step[]; onChange: (steps: Step[]) => void }) {
  const known = useUsableGuardrails();
  const left = (known.data ?? []).filter((each) => !steps.some((step) => step.ref === each.name));
  const next = steps.reduce((most, step) => Math.max(most, step.step), 0) + 1;
  return (
    <div className="space-y-2">
      {steps.map((step, index) => (
        <div key={step.ref} className="flex items-center gap-2">
          <span className="min-w-0 flex-1 truncate font-medium">{step.ref}</span>
          <span className="w-24">
            <NumberInput aria-label={`Step of ${step.ref}`} affix="step" value={step.step} onChange={(value) => onChange(steps.map((each, i) => (i === index ? { ...each, step: value ?? 1 } : each)))} />
          </span>
          <IconButton label={`Remove ${step.ref}`} icon={Trash2} onClick={() => onChange(steps.filter((_, i) => i !== index))} />
        </div>
      ))}
      <Select
        aria-label="Add a guardrail"
        value=""
        disabled={!left.length}
        options={[{ value: "", label: known.isPending ? "Loading…" : left.length ? "Add a guardrail…" : steps.length ? "All guardrails are added" : "There are no guardrails yet" }, ...left.map((each) => ({ value: each.name, label: `${each.name} (${each.type})` }))]}
        onChange={(ref) => ref && onChange([...steps, { ref, step: next }])}
      />
    </div>
  );
}

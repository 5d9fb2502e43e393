import { ShieldCheck } from "lucide-react";
import { Page } from "@/app/Page";
import { EmptyState } from "@/components/EmptyState";

export default function GuardrailsPage() {
  return (
    <Page title="Guardrails">
      <EmptyState icon={ShieldCheck} title="Guardrails" />
    </Page>
  );
}

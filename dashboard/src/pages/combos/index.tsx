import { Split } from "lucide-react";
import { Page } from "@/app/Page";
import { EmptyState } from "@/components/EmptyState";

export default function CombosPage() {
  return (
    <Page title="Combos">
      <EmptyState icon={Split} title="Combos" />
    </Page>
  );
}

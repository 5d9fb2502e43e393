import { Route } from "lucide-react";
import { Page } from "@/app/Page";
import { EmptyState } from "@/components/EmptyState";

export default function ExplainPage() {
  return (
    <Page title="Explain">
      <EmptyState icon={Route} title="Explain" />
    </Page>
  );
}

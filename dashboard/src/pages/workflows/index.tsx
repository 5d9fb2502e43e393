import { Workflow } from "lucide-react";
import { Page } from "@/app/Page";
import { EmptyState } from "@/components/EmptyState";

export default function WorkflowsPage() {
  return (
    <Page title="Workflows">
      <EmptyState icon={Workflow} title="Workflows" />
    </Page>
  );
}

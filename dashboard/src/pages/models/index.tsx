import { Box } from "lucide-react";
import { Page } from "@/app/Page";
import { EmptyState } from "@/components/EmptyState";

export default function ModelsPage() {
  return (
    <Page title="Models">
      <EmptyState icon={Box} title="Models" />
    </Page>
  );
}

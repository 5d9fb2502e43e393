import { ChartColumn } from "lucide-react";
import { Page } from "@/app/Page";
import { EmptyState } from "@/components/EmptyState";

export default function UsagePage() {
  return (
    <Page title="Usage">
      <EmptyState icon={ChartColumn} title="Usage" />
    </Page>
  );
}

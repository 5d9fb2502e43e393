import { Gauge } from "lucide-react";
import { Page } from "@/app/Page";
import { EmptyState } from "@/components/EmptyState";

export default function MyUsagePage() {
  return (
    <Page title="My usage">
      <EmptyState icon={Gauge} title="My usage" />
    </Page>
  );
}

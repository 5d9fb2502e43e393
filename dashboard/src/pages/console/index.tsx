import { Activity } from "lucide-react";
import { Page } from "@/app/Page";
import { EmptyState } from "@/components/EmptyState";

export default function ConsolePage() {
  return (
    <Page title="Live console">
      <EmptyState icon={Activity} title="Live console" />
    </Page>
  );
}

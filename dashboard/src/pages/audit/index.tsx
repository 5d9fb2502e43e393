import { ScrollText } from "lucide-react";
import { Page } from "@/app/Page";
import { EmptyState } from "@/components/EmptyState";

export default function AuditPage() {
  return (
    <Page title="Audit log">
      <EmptyState icon={ScrollText} title="Audit log" />
    </Page>
  );
}

import { History } from "lucide-react";
import { Page } from "@/app/Page";
import { EmptyState } from "@/components/EmptyState";

export default function ChangesPage() {
  return (
    <Page title="Changes">
      <EmptyState icon={History} title="Changes" />
    </Page>
  );
}

import { Server } from "lucide-react";
import { Page } from "@/app/Page";
import { EmptyState } from "@/components/EmptyState";

export default function ProvidersPage() {
  return (
    <Page title="Providers and pools">
      <EmptyState icon={Server} title="Providers and pools" />
    </Page>
  );
}

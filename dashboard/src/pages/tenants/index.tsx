import { Boxes } from "lucide-react";
import { Page } from "@/app/Page";
import { EmptyState } from "@/components/EmptyState";

export default function TenantsPage() {
  return (
    <Page title="Tenants">
      <EmptyState icon={Boxes} title="Tenants" />
    </Page>
  );
}

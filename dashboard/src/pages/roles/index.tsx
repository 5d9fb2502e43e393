import { UserCog } from "lucide-react";
import { Page } from "@/app/Page";
import { EmptyState } from "@/components/EmptyState";

export default function RolesPage() {
  return (
    <Page title="Roles">
      <EmptyState icon={UserCog} title="Roles" />
    </Page>
  );
}

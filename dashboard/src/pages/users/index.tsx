import { Users } from "lucide-react";
import { Page } from "@/app/Page";
import { EmptyState } from "@/components/EmptyState";

export default function UsersPage() {
  return (
    <Page title="People and roles">
      <EmptyState icon={Users} title="People and roles" />
    </Page>
  );
}

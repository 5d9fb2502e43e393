import { Wallet } from "lucide-react";
import { Page } from "@/app/Page";
import { EmptyState } from "@/components/EmptyState";

export default function BudgetsPage() {
  return (
    <Page title="Budgets">
      <EmptyState icon={Wallet} title="Budgets" />
    </Page>
  );
}

import { KeyRound } from "lucide-react";
import { Page } from "@/app/Page";
import { EmptyState } from "@/components/EmptyState";

export default function KeysPage() {
  return (
    <Page title="API keys">
      <EmptyState icon={KeyRound} title="API keys" />
    </Page>
  );
}

import { SquareTerminal } from "lucide-react";
import { Page } from "@/app/Page";
import { EmptyState } from "@/components/EmptyState";

export default function CliToolsPage() {
  return (
    <Page title="CLI tools">
      <EmptyState icon={SquareTerminal} title="CLI tools" />
    </Page>
  );
}

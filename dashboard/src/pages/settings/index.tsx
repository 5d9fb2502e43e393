import { Settings } from "lucide-react";
import { Page } from "@/app/Page";
import { EmptyState } from "@/components/EmptyState";

export default function SettingsPage() {
  return (
    <Page title="Settings">
      <EmptyState icon={Settings} title="Settings" />
    </Page>
  );
}

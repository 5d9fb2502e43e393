import { DatabaseZap } from "lucide-react";
import { Page } from "@/app/Page";
import { EmptyState } from "@/components/EmptyState";

export default function CachePage() {
  return (
    <Page title="Cache">
      <EmptyState icon={DatabaseZap} title="Cache" />
    </Page>
  );
}

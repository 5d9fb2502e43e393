import { Rocket } from "lucide-react";
import { Page } from "@/app/Page";
import { EmptyState } from "@/components/EmptyState";

export default function StartPage() {
  return (
    <Page title="Start">
      <EmptyState icon={Rocket} title="Start" />
    </Page>
  );
}

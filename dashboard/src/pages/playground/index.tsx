import { MessagesSquare } from "lucide-react";
import { Page } from "@/app/Page";
import { EmptyState } from "@/components/EmptyState";

export default function PlaygroundPage() {
  return (
    <Page title="Playground">
      <EmptyState icon={MessagesSquare} title="Playground" />
    </Page>
  );
}

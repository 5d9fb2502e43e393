import { LogIn } from "lucide-react";
import { Page } from "@/app/Page";
import { EmptyState } from "@/components/EmptyState";

export default function LoginPage() {
  return (
    <Page title="Login">
      <EmptyState icon={LogIn} title="Login" />
    </Page>
  );
}

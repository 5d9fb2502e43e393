import { ExternalLink, LogIn } from "lucide-react";
import { api } from "@/api/client";
import { useResource } from "@/api/query";
import { Page } from "@/app/Page";
import { useSession } from "@/app/session";
import { CodeBlock } from "@/components/CodeBlock";
import { ErrorNote } from "@/components/EmptyState";
import { Note } from "@/components/Note";
import { KeyValues, Panel } from "@/components/Panel";
import { SkeletonRows } from "@/components/Skeleton";
import { Status } from "@/components/Status";

const EXAMPLE = `identity:
  oidc_providers:
    - name: corp
      issuer: https://id.example.com
      client_id: gatehouse
      client_secret: \${CORP_CLIENT_SECRET}
      roles:
        claim: groups
        values: {platform: admin, oncall: operator}
        default: [viewer]`;

/** Sign-in methods: email and password, and single sign-on providers. */
export default function LoginPage() {
  const { config } = useSession();
  const providers = useResource(["identity", "providers"], (signal) => api.GET("/admin/api/v1/identity/providers", { signal }));
  return (
    <Page title="Login" flush>
      <div className="max-w-[960px] flex-1 space-y-4 px-6 py-5 phone:px-3">
        <Panel title="Email and password">
          <p className="px-4 pb-4 text-ink-2">{config.identity.enabled ? "People with a password sign in by email." : "Identity is not set up: people sign in with a key. Set IDENTITY_ADMIN_EMAIL and IDENTITY_ADMIN_PASSWORD to create the first admin."}</p>
        </Panel>
        {providers.error && <ErrorNote error={providers.error} onRetry={() => void providers.refetch()} />}
        {providers.isPending && <SkeletonRows rows={3} columns={3} />}
        {providers.data?.map((provider) => (
          <Panel key={provider.name} title={provider.name} sub="OpenID Connect" actions={<Status kind="ok">Configured</Status>}>
            <KeyValues
              className="px-4 pb-4"
              items={[
                { label: "Issuer", value: provider.issuer, mono: true },
                { label: "Client", value: `${provider.client_id}${provider.client_secret_set ? "" : " (public client)"}`, mono: true },
                { label: "Scopes", value: provider.scopes.join(" "), mono: true },
                { label: "Role claim", value: provider.role_claim ?? "none: the default roles", mono: provider.role_claim != null },
                { label: "Login address", value: <a href={provider.login_path} className="link inline-flex items-center gap-1">{provider.login_path}<ExternalLink aria-hidden className="size-3.5" /></a>, mono: true },
              ]}
            />
          </Panel>
        ))}
        {providers.data && (
          <Panel title={providers.data.length ? "Add another provider" : "No single sign-on yet"} sub="in gatehouse.yaml">
            <div className="space-y-3 px-4 pb-4">
              <Note icon={LogIn}>
                Providers are read from the configuration file at the start (<code>OIDC_PROVIDERS</code>). Register the address <code className="[overflow-wrap:anywhere]">{location.origin}/admin/api/v1/auth/oidc/callback</code> there.
              </Note>
              <CodeBlock code={EXAMPLE} language="yaml" />
            </div>
          </Panel>
        )}
      </div>
    </Page>
  );
}

import { useRouter, useSearch } from "@tanstack/react-router";
import { Building2 } from "lucide-react";
import { useEffect, useState } from "react";
import { ADMIN } from "@/api/client";
import { messageOf } from "@/api/errors";
import { Brand } from "@/app/Brand";
import { signInWays, signInWithKey, signInWithPassword, useSessionQuery, type SignInWays } from "@/app/session";
import { Button, buttonClass } from "@/components/Button";
import { ErrorNote } from "@/components/EmptyState";
import { Field } from "@/components/Field";
import { Input } from "@/components/Input";
import { Note } from "@/components/Note";
import { Segmented } from "@/components/Segmented";
import { Arches } from "./Arches";

type Way = "email" | "key";

/** Only addresses of this dashboard; anything else leads to the overview. */
function target(next: string | undefined) {
  if (!next?.startsWith("/") || next.startsWith("//") || next.startsWith("/sign-in")) return { to: "/", search: {} };
  const { pathname, searchParams } = new URL(next, location.origin);
  return { to: pathname, search: Object.fromEntries(searchParams) };
}

/** Sign in by OpenID Connect, by email, or with a gateway key. */
export default function SignInPage() {
  const { next } = useSearch({ strict: false }) as { next?: string };
  const session = useSessionQuery();
  const router = useRouter();
  const signedIn = Boolean(session.data);
  useEffect(() => {
    document.title = "Sign in · Gatehouse";
  }, []);
  useEffect(() => {
    if (signedIn) void router.navigate({ ...target(next), replace: true });
  }, [signedIn, router, next]);
  if (signedIn) return null;
  return (
    <main className="grid min-h-dvh grid-cols-2 phone:grid-cols-1">
      <div className="grid place-items-center px-6 py-8">
        <div className="w-[344px] max-w-full">
          <div className="mb-8 flex items-center gap-2 text-title font-strong">
            <Brand className="size-6" />
            Gatehouse
          </div>
          <h1 className="text-figure font-strong tracking-[-0.018em]">Sign in</h1>
          <p className="mt-1.5 text-ink-2">{location.host}</p>
          {session.data === null && <SignInForm ways={signInWays()} />}
          {session.error && <ErrorNote error={session.error} title="The gateway did not answer" onRetry={() => void session.refetch()} />}
        </div>
      </div>
      <Arches />
    </main>
  );
}

function SignInForm({ ways: { enabled: users, oidc_providers: providers } }: { ways: SignInWays }) {
  const [chosen, setWay] = useState<Way | null>(null);
  const [email, setEmail] = useState("");
  const [secret, setSecret] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const way: Way = users ? (chosen ?? "email") : "key";

  const submit = async () => {
    setBusy(true);
    setError(null);
    try {
      if (way === "key") await signInWithKey(secret.trim());
      else await signInWithPassword(email.trim(), secret);
    } catch (failed) {
      setError(failed);
    }
    setBusy(false);
  };

  return (
    <form
      className="mt-6 space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {providers.map((provider) => (
        <a key={provider} href={`${ADMIN}/auth/oidc/${encodeURIComponent(provider)}`} className={buttonClass({ size: "lg", full: true })}>
          <Building2 aria-hidden />
          Continue with {provider}
        </a>
      ))}
      {providers.length > 0 && (
        <div className="flex items-center gap-3 text-small text-ink-3 before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">or</div>
      )}
      {users && (
        <Segmented
          full
          label="How to sign in"
          value={way}
          onChange={(next) => {
            setWay(next);
            setSecret("");
            setError(null);
          }}
          options={[{ value: "email", label: "Email" }, { value: "key", label: "Gateway key" }]}
        />
      )}
      {way === "email" && (
        <Field label="Email">
          <Input type="email" autoComplete="username" autoFocus className="h-10" value={email} onChange={(event) => setEmail(event.target.value)} />
        </Field>
      )}
      <Field key={way} label={way === "key" ? "Gateway key" : "Password"}>
        <Input type="password" autoComplete={way === "key" ? "off" : "current-password"} autoFocus={way === "key"} className="h-10" value={secret} onChange={(event) => setSecret(event.target.value)} />
      </Field>
      {error != null && <Note kind="bad">{messageOf(error)}</Note>}
      <Button type="submit" look="primary" size="lg" full shortcut="↵" busy={busy} disabled={!secret || (way === "email" && !email)}>
        Sign in
      </Button>
      <p className="text-small text-ink-3">A key is exchanged for a session cookie and never kept in the browser.</p>
    </form>
  );
}

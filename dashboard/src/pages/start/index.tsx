import { Link } from "@tanstack/react-router";
import { Check, Copy } from "lucide-react";
import { useState, type ReactNode } from "react";
import { BASE } from "@/api/client";
import { Page } from "@/app/Page";
import { Button, buttonClass } from "@/components/Button";
import { cx } from "@/components/cx";
import { copy } from "@/components/Toast";
import { duration } from "@/format";
import { handOverKey } from "../cli-tools/key";
import { DemoStep } from "./DemoStep";
import { KeyStep } from "./KeyStep";
import { ProviderStep } from "./ProviderStep";
import { useProviders, type DemoAnswer } from "./queries";

const AGENTS = [["claude-code", "Claude Code"], ["codex", "Codex"], ["opencode", "opencode"], ["cursor", "Cursor"]] as const;

type StepProps = { at: number; now: boolean; done: boolean; title: string; aside?: ReactNode; sub?: string; last?: boolean; onOpen: () => void; children?: ReactNode };

function Step({ at, now, done, title, aside, sub, last, onOpen, children }: StepProps) {
  return (
    <li aria-current={now ? "step" : undefined} className="relative grid grid-cols-[28px_minmax(0,1fr)] gap-x-4 pb-4">
      {!last && <span aria-hidden className="absolute top-[34px] bottom-1.5 left-[13.5px] w-px bg-line-strong" />}
      <span aria-hidden className={cx("num grid size-7 place-items-center rounded-full border text-small font-medium", done ? "border-ok-line bg-ok-soft text-ok" : now ? "border-accent bg-accent text-on-accent" : "border-line-strong bg-surface text-ink-2")}>{done ? <Check className="size-3.5" /> : at}</span>
      <div className="min-w-0">
        <h3 className={cx("flex items-center gap-2 text-lead/7 font-strong", !now && !done && "text-ink-2")}>
          {now || done ? title : <button type="button" onClick={onOpen} className="hover:text-ink">{title}</button>}
          {done && <span className="sr-only">done</span>}
          {aside && <span className="text-small font-regular text-ink-3">{aside}</span>}
        </h3>
        {sub && <p className="text-ink-2">{sub}</p>}
        {children}
      </div>
    </li>
  );
}

/** The guided start: a first call, a provider, a key, a coding agent. */
export default function StartPage() {
  const providers = useProviders();
  const [answer, setAnswer] = useState<DemoAnswer | null>(null);
  const [key, setKey] = useState("");
  const [opened, setOpened] = useState<number | null>(null);
  const address = `${location.origin}${BASE}/v1`;
  const demo = providers.data?.some((provider) => provider.type === "demo" && provider.enabled) ?? false;
  const real = providers.data?.filter((provider) => provider.type !== "demo") ?? [];
  const done = [answer !== null || (providers.data !== undefined && !demo), real.length > 0, key !== "", false];
  const now = opened ?? done.indexOf(false);
  const open = (at: number) => () => setOpened(at);
  const step = (at: number) => ({ at: at + 1, now: now === at, done: done[at]!, onOpen: open(at) });
  return (
    <Page title="Start" actions={<Link to="/" search={{ guide: "off" }} className={buttonClass({ look: "quiet" })}>Skip, go to the overview</Link>}>
      <div className="mx-auto w-full max-w-[712px] pt-7 pb-8 phone:pt-3">
        <h2 className="text-display font-strong tracking-[-0.022em]">Your gateway is running</h2>
        <p className="mt-2 text-lead/[26px] text-ink-2">
          It answers at <code className="rounded-sm border border-line bg-surface px-2 py-1 text-ink [overflow-wrap:anywhere]">{address}</code>{" "}
          <Button size="sm" icon={Copy} className="align-middle" aria-label="Copy the address" onClick={() => void copy(address)}>Copy</Button>
          <br />
          Four short steps, and every call you make is routed, priced and logged.
        </p>
        <ol className="mt-8">
          <Step {...step(0)} title="Try the demo model" aside={answer ? `done in ${duration(answer.ms)}` : undefined} sub={!answer && providers.data && !demo ? "The demo model is off, because a provider is configured. DEMO_ENABLED=true brings it back." : undefined}>
            {demo && (answer || now === 0) && <DemoStep answer={answer} onAnswer={(next) => (setAnswer(next), setOpened(null))} />}
          </Step>
          <Step {...step(1)} title="Add a provider" aside={real.length ? real.map((provider) => provider.name).join(", ") : undefined} sub={real.length ? undefined : "Choose one. You can add more, and pools, later."}>
            {now === 1 && !real.length && <ProviderStep />}
          </Step>
          <Step {...step(2)} title="Make a key" sub={key ? undefined : "For your app or your team, with limits if you like."}>
            {(now === 2 || key) && <KeyStep value={key} onKey={(next) => (setKey(next), handOverKey(next), setOpened(null))} />}
          </Step>
          <Step {...step(3)} last title="Connect a coding agent" sub="Claude Code, Codex, opencode, Cursor and ten more: one command each.">
            {now === 3 && (
              <div className="mt-3 flex flex-wrap gap-2">
                {AGENTS.map(([id, name]) => (
                  <Link key={id} to="/cli-tools" search={{ tool: id }} className={buttonClass({})}>{name}</Link>
                ))}
                <Link to="/cli-tools" className={buttonClass({ look: "quiet" })}>All tools</Link>
              </div>
            )}
          </Step>
        </ol>
      </div>
    </Page>
  );
}

import { Link } from "@tanstack/react-router";
import { Copy, MessageSquareX, RotateCw, Square, Undo2, X } from "lucide-react";
import { useSession } from "@/app/session";
import { Button, IconButton } from "@/components/Button";
import { EmptyState } from "@/components/EmptyState";
import { MiniJourney } from "@/components/Journey";
import { Menu } from "@/components/Menu";
import { Status, type StatusKind } from "@/components/Status";
import { copy } from "@/components/Toast";
import { callCost, count, duration, NONE } from "@/format";
import { buildBody } from "./body";
import { Messages } from "./Messages";
import { ModelPicker } from "./ModelPicker";
import { costOf, type Choice } from "./queries";
import type { Answer, Settings } from "./types";
import type { LaneState } from "./useLane";

type LaneProps = { label: string; model: string; onModel: (model: string) => void; choices: Choice[]; lane: LaneState; settings: Settings; onClose?: () => void };

/** One conversation: its model, messages, and the figures and route of the last answer. */
export function Lane({ label, model, onModel, choices, lane, settings, onClose }: LaneProps) {
  const { last, running } = lane;
  const rate = last && running && last.firstMs != null && last.totalMs - last.firstMs > 200 ? (last.text.length / 4 / (last.totalMs - last.firstMs)) * 1000 : null;
  return (
    <section aria-label={model || label} className="flex min-h-0 min-w-0 flex-col bg-surface not-first:border-l not-first:border-line phone:not-first:border-t phone:not-first:border-l-0">
      <header className="flex h-12 flex-none items-center gap-2 border-b border-line pr-3 pl-5 phone:h-14 phone:pl-4">
        <ModelPicker label={label} value={model} choices={choices} onChange={onModel} />
        <span className="ml-auto flex flex-none items-center gap-1.5 text-small text-ink-2">
          {rate != null && <span className="num phone:hidden">≈ {count(rate)} tokens/s</span>}
          {running ? (
            <Button size="sm" icon={Square} onClick={lane.stop}>
              Stop
            </Button>
          ) : (
            last && <Outcome answer={last} />
          )}
          <Menu
            label={`More for ${model || label}`}
            items={[
              { label: "Ask again", icon: RotateCw, run: lane.again, disabled: !last || running },
              { label: "Take back the last message", icon: Undo2, run: lane.takeBack, disabled: !lane.turns.length },
              { label: "Copy the conversation", icon: Copy, run: () => void copy(JSON.stringify(buildBody(model, lane.turns, settings).messages, null, 2), "Copied as JSON"), disabled: !lane.turns.length },
              "separator",
              { label: "Clear", icon: MessageSquareX, run: lane.clear, disabled: !lane.turns.length },
            ]}
          />
          {onClose && <IconButton size="sm" label={`Close ${model || label}`} icon={X} onClick={onClose} />}
        </span>
      </header>
      {lane.turns.length ? (
        <Messages turns={lane.turns} onSend={lane.send} />
      ) : (
        <div className="grid min-h-0 flex-1 place-items-center overflow-auto">
          <EmptyState small title={model ? `Talk to ${model}` : "Choose a model"}>
            {model ? "Write a message below. The call goes the way of every call: limits, guardrails, cache and route." : "An alias, a combo, a pool or a model."}
          </EmptyState>
        </div>
      )}
      {last && <LaneFigures answer={last} model={model} choices={choices} />}
    </section>
  );
}

function Outcome({ answer }: { answer: Answer }) {
  const [kind, word] = ({ done: ["ok", "Done"], stopped: ["paused", "Stopped"], failed: ["bad", "Failed"], running: ["unknown", "Running"] } as const)[answer.state];
  return <Status kind={kind as StatusKind} className="text-ink-3">{word}</Status>;
}

function LaneFigures({ answer, model, choices }: { answer: Answer; model: string; choices: Choice[] }) {
  const session = useSession();
  const running = answer.state === "running";
  const cost = costOf(answer, choices);
  const out = answer.usage ? count(answer.usage.completion_tokens) : answer.text ? `≈ ${count(Math.ceil(answer.text.length / 4))}` : NONE;
  const figures = [
    { label: "In", value: answer.usage ? count(answer.usage.prompt_tokens) : NONE },
    { label: "Out", value: out },
    { label: "Cost", value: cost.known ? callCost(cost.value, cost) : NONE, title: cost.estimated ? "Estimated from the tokens and the model's price; the audit log has the booked cost." : cost.known || running ? undefined : "A stream brings no cost, and your key may not read prices (scope admin:models:read)." },
    { label: "First byte", value: duration(answer.firstMs) },
    { label: running ? "So far" : "Total", value: duration(answer.totalMs) },
  ];
  const canOpen = !running && answer.requestId && session.can("admin:audit:read") && session.feature("audit")?.enabled !== false;
  return (
    <div className="flex-none border-t border-line px-5 pt-2.5 pb-3 phone:px-4">
      <dl className="flex justify-between gap-3">
        {figures.map((figure) => (
          <div key={figure.label} title={figure.title}>
            <dt className="text-micro text-ink-3">{figure.label}</dt>
            <dd className="num font-medium whitespace-nowrap">{figure.value}</dd>
          </div>
        ))}
      </dl>
      <div className="mt-2">
        <MiniJourney
          steps={route(answer, model)}
          end={
            canOpen ? (
              <Link to="/audit" search={{ open: answer.requestId! }} className="text-accent-ink hover:underline">
                Open the call
              </Link>
            ) : undefined
          }
        />
      </div>
    </div>
  );
}

/** The way of the call, as the headers of its answer tell it. */
function route({ headers, state }: Answer, model: string): { label: string; kind?: StatusKind }[] {
  const served = headers["x-gateway-model"];
  const provider = headers["x-gateway-provider"];
  const cache = headers["x-gateway-cache"];
  const attempts = Number(headers["x-gateway-attempts"] ?? 0);
  const kind: StatusKind = state === "failed" ? "bad" : state === "running" ? "unknown" : "ok";
  if (!provider && !served) return [{ label: model }, { label: state === "running" ? "waiting" : state === "failed" ? "no provider answered" : "stopped", kind: kind === "ok" ? "paused" : kind }];
  const direct = served === model || served?.endsWith(`/${model}`);
  return [
    ...(direct ? [{ label: "asked directly" }] : [{ label: model }, { label: served?.split("/").slice(1).join("/") ?? "" }]),
    ...(cache && cache !== "off" ? [{ label: `cache ${cache}` }] : []),
    { label: `${provider}${attempts > 1 ? `, attempt ${attempts}` : ""}`, kind },
  ];
}

import { Columns2, Eraser, SlidersHorizontal } from "lucide-react";
import { useState } from "react";
import { useFilters } from "@/app/filters";
import { Page } from "@/app/Page";
import { useSession } from "@/app/session";
import { Button } from "@/components/Button";
import { Drawer } from "@/components/Drawer";
import { ErrorNote } from "@/components/EmptyState";
import { useMedia } from "@/components/media";
import { SkeletonRows } from "@/components/Skeleton";
import { Tabs } from "@/components/Tabs";
import { callCost, count } from "@/format";
import { buildBody, problemOf } from "./body";
import { Composer, type Draft } from "./Composer";
import { Lane } from "./Lane";
import { priceOf, useChoices } from "./queries";
import { SettingsPanel } from "./SettingsPanel";
import { CodePanel, RawPanel, type LaneChoice } from "./SidePanel";
import { ToolDialog } from "./ToolDialog";
import { DEFAULTS, type Settings, type Turn } from "./types";
import { useLane } from "./useLane";

const TABS = [{ value: "settings", label: "Settings" }, { value: "code", label: "Code" }, { value: "raw", label: "Raw" }] as const;

/** Talks to one or two models through the gateway, and shows what a call costs and which way it went. */
export default function PlaygroundPage() {
  const { config } = useSession();
  const [filters, setFilters] = useFilters({ model: "", compare: "", tab: "settings" }, { tab: TABS.map((tab) => tab.value) });
  const { choices, error, isPending, refetch } = useChoices();
  const [settings, setSettings] = useState<Settings>(DEFAULTS);
  const [draft, setDraft] = useState<Draft>({ text: "", images: [] });
  const [tool, setTool] = useState<{ name: string | null } | null>(null);
  const [sideOpen, setSideOpen] = useState(false);
  const narrow = useMedia("(max-width: 1180px)");

  const model = filters.model || choices[0]?.id || "";
  const second = filters.compare;
  const first = useLane(model, settings);
  const other = useLane(second, settings);
  const lanes = second ? [first, other] : [first];
  const models = second ? [model, second] : [model];
  const busy = lanes.some((lane) => lane.running);

  const change = (next: Partial<Settings>) => setSettings({ ...settings, ...next });
  const turn: Turn | null = draft.text.trim() || draft.images.length ? { role: "user", text: draft.text.trim(), images: draft.images } : null;
  const send = () => {
    if (!turn) return;
    for (const lane of lanes) lane.send([turn]);
    setDraft({ text: "", images: [] });
  };
  const compare = () => setFilters({ compare: second ? null : (choices.find((choice) => choice.id !== model)?.id ?? model) });
  const shown: LaneChoice[] = lanes.map((lane, i) => ({ model: models[i]!, turns: lane.turns, last: lane.last }));
  const problem = model ? problemOf(settings) : "Choose a model.";

  const side = (
    <Tabs label="Side panel" value={filters.tab as (typeof TABS)[number]["value"]} onChange={(tab) => setFilters({ tab })} tabs={TABS} className="px-5 [&>button]:h-12 phone:px-0">
      <div className="px-5 pb-6 phone:px-0">
        {filters.tab === "code" ? <CodePanel lanes={shown} settings={settings} draft={turn} /> : filters.tab === "raw" ? <RawPanel lanes={shown} /> : <SettingsPanel settings={settings} onChange={change} onTool={(name) => (setSideOpen(false), setTool({ name }))} />}
      </div>
    </Tabs>
  );

  return (
    <Page
      flush
      title="Playground"
      className="h-[calc(100dvh-52px)] flex-none! phone:h-[calc(100dvh-108px)]"
      actions={
        <>
          <Button look="quiet" icon={Eraser} disabled={!lanes.some((lane) => lane.turns.length)} onClick={() => lanes.forEach((lane) => lane.clear())}>
            Clear
          </Button>
          <Button icon={Columns2} aria-pressed={Boolean(second)} onClick={compare} className="aria-pressed:bg-selected phone:hidden">
            Compare
          </Button>
          {narrow && (
            <Button icon={SlidersHorizontal} onClick={() => setSideOpen(true)}>
              Settings
            </Button>
          )}
        </>
      }
    >
      {error && !choices.length ? (
        <ErrorNote error={error} onRetry={refetch} />
      ) : isPending ? (
        <SkeletonRows rows={8} columns={3} />
      ) : (
        <div className="grid min-h-0 flex-1 grid-cols-[minmax(0,1fr)_336px] narrow:grid-cols-1">
          <div className="flex min-h-0 min-w-0 flex-col">
            <div className={second ? "grid min-h-0 flex-1 grid-cols-2 phone:grid-cols-1 phone:overflow-y-auto" : "grid min-h-0 flex-1"}>
              <Lane label="Model" model={model} onModel={(next) => setFilters({ model: next })} choices={choices} lane={first} settings={settings} />
              {second && <Lane label="Second model" model={second} onModel={(next) => setFilters({ compare: next })} choices={choices} lane={other} settings={settings} onClose={() => setFilters({ compare: null })} />}
            </div>
            <Composer draft={draft} onDraft={setDraft} onSend={send} onTools={() => setTool({ name: null })} lanes={lanes.length} estimate={turn ? estimateOf(models, lanes.map((lane) => [...lane.turns, turn]), settings, choices) : ""} problem={problem} busy={busy} maxBytes={config.limits.body_size_bytes ?? Infinity} />
          </div>
          {!narrow && (
            <aside aria-label="Settings and code" className="min-h-0 overflow-y-auto border-l border-line">
              {side}
            </aside>
          )}
        </div>
      )}
      {narrow && sideOpen && (
        <Drawer title="Settings and code" onClose={() => setSideOpen(false)}>
          <div className="-mx-5 -mt-4 phone:mx-0">{side}</div>
        </Drawer>
      )}
      {tool && (
        <ToolDialog
          key={tool.name}
          tool={settings.tools.find((each) => each.name === tool.name) ?? null}
          taken={settings.tools.map((each) => each.name).filter((name) => name !== tool.name)}
          onClose={() => setTool(null)}
          onSave={(saved) => {
            change({ tools: tool.name ? settings.tools.map((each) => (each.name === tool.name ? saved : each)) : [...settings.tools, saved] });
            setTool(null);
          }}
          onDelete={() => {
            change({ tools: settings.tools.filter((each) => each.name !== tool.name) });
            setTool(null);
          }}
        />
      )}
    </Page>
  );
}

/** Tokens of the next call by the length of its text, and the most that it can cost. */
function estimateOf(models: string[], turns: Turn[][], settings: Settings, choices: ReturnType<typeof useChoices>["choices"]): string {
  const sizes = models.map((model, i) => Math.ceil(JSON.stringify(buildBody(model, turns[i]!.map((turn) => (turn.role === "user" ? { ...turn, images: [] } : turn)), settings)).length / 4));
  const tokens = `About ${count(sizes.reduce((sum, size) => sum + size, 0))} tokens`;
  if (settings.maxTokens == null) return tokens;
  const costs = models.map((model, i) => priceOf(choices.find((choice) => choice.id === model)?.pricing, { prompt_tokens: sizes[i]!, completion_tokens: settings.maxTokens ?? 0 }));
  if (costs.some((cost) => cost == null)) return tokens;
  return `${tokens}, at most ${callCost(costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0), { estimated: true })}${models.length > 1 ? " for both" : ""}`;
}

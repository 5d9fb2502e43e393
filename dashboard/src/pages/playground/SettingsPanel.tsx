import { Plus } from "lucide-react";
import { useSession } from "@/app/session";
import { Button } from "@/components/Button";
import { Field, Pair } from "@/components/Field";
import { Input, NumberInput, TextArea } from "@/components/Input";
import { Note } from "@/components/Note";
import { Select } from "@/components/Select";
import { Slider, Switch } from "@/components/Switch";
import { parseObject } from "./body";
import { DEFAULTS, type Format, type Settings } from "./types";

const FORMATS: { value: Format; label: string }[] = [{ value: "text", label: "Text" }, { value: "json_object", label: "JSON" }, { value: "json_schema", label: "JSON Schema" }];

type SettingsProps = { settings: Settings; onChange: (change: Partial<Settings>) => void; onTool: (name: string | null) => void };

/** The request parameters that both lanes send beside the messages. */
export function SettingsPanel({ settings, onChange, onTool }: SettingsProps) {
  const { caller } = useSession();
  const who = caller.email ?? caller.name ?? "your session";
  const changed = settings.temperature != null || settings.topP != null || settings.maxTokens != null || settings.format !== "text" || settings.more !== "";
  return (
    <div className="space-y-4">
      <Field label="System prompt">
        <TextArea rows={4} placeholder="How the model should behave" value={settings.system} onChange={(event) => onChange({ system: event.target.value })} />
      </Field>
      <Slider label="Temperature" min={0} max={2} step={0.1} value={settings.temperature ?? 1} display={settings.temperature?.toFixed(1) ?? "model's default"} onChange={(temperature) => onChange({ temperature })} />
      <Slider label="Top p" min={0} max={1} step={0.05} value={settings.topP ?? 1} display={settings.topP?.toFixed(2) ?? "model's default"} onChange={(topP) => onChange({ topP })} />
      <Pair>
        <Field label="Max tokens">
          <NumberInput value={settings.maxTokens} placeholder="default" onChange={(maxTokens) => onChange({ maxTokens: maxTokens == null ? null : Math.max(1, Math.round(maxTokens)) })} />
        </Field>
        <Field label="Format">
          <Select value={settings.format} options={FORMATS} onChange={(format) => onChange({ format })} />
        </Field>
      </Pair>
      {settings.format === "json_schema" && (
        <Field label="Schema" error={parseObject(settings.schema) ? undefined : "Not a JSON object."}>
          <TextArea mono rows={6} spellCheck={false} value={settings.schema} onChange={(event) => onChange({ schema: event.target.value })} />
        </Field>
      )}
      <div className="flex flex-wrap justify-between gap-x-4 gap-y-2">
        <Switch checked={settings.stream} onChange={(stream) => onChange({ stream })}>Stream</Switch>
        <Switch checked={settings.skipCache} onChange={(skipCache) => onChange({ skipCache })}>Skip the cache</Switch>
      </div>
      <div role="group" aria-label="Tools">
        <div className="mb-1.5 flex text-small font-medium">
          Tools
          <span className="num ml-auto font-regular text-ink-3">{settings.tools.length || "none"}</span>
        </div>
        <div className="flex flex-wrap items-center gap-1.5">
          {settings.tools.map((tool) => (
            <button key={tool.name} type="button" aria-label={`Edit ${tool.name}`} onClick={() => onTool(tool.name)} className="inline-flex h-6 max-w-full items-center rounded-sm border border-line bg-well px-1.5 font-mono text-[11.5px] text-ink-2 hover:border-line-control phone:h-10">
              <span className="truncate">{tool.name}</span>
            </button>
          ))}
          <Button size="sm" icon={Plus} className="h-6 border-dashed" onClick={() => onTool(null)}>
            Tool
          </Button>
        </div>
      </div>
      <Field label="User path" aside="optional" hint="Books the call below a path of yours, with its limits and budgets.">
        <Input mono placeholder={caller.userPath} value={settings.userPath} onChange={(event) => onChange({ userPath: event.target.value })} />
      </Field>
      <Field label="More parameters" aside="JSON" error={settings.more.trim() && !parseObject(settings.more) ? "Not a JSON object." : undefined}>
        <TextArea mono rows={2} spellCheck={false} placeholder='{"seed": 7}' value={settings.more} onChange={(event) => onChange({ more: event.target.value })} />
      </Field>
      {changed && (
        <Button size="sm" look="quiet" onClick={() => onChange({ temperature: null, topP: null, maxTokens: null, format: DEFAULTS.format, more: "" })}>
          Use the model's defaults
        </Button>
      )}
      <Note className="text-small">
        Sent as <b className="font-medium">{who}</b>. Its limits, budgets and guardrails hold here too.
      </Note>
    </div>
  );
}

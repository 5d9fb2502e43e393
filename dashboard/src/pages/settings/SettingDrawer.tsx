import { Link } from "@tanstack/react-router";
import { Lock, RotateCcw } from "lucide-react";
import { useState } from "react";
import { ADMIN, unwrap } from "@/api/client";
import type { ApiError } from "@/api/errors";
import { useSave } from "@/api/save";
import { useSession } from "@/app/session";
import { Button } from "@/components/Button";
import { EditDrawer, fieldError } from "@/components/EditDrawer";
import { Field } from "@/components/Field";
import { Input } from "@/components/Input";
import { Note } from "@/components/Note";
import { KeyValues } from "@/components/Panel";
import { Segmented } from "@/components/Segmented";
import { Select } from "@/components/Select";
import { choicesOf, patchSettings, SETTINGS, shownValue, type Setting } from "./queries";
import { Source } from "./SettingsTable";
import { Prose } from "@/components/Prose";

function ValueField({ setting, value, onChange }: { setting: Setting; value: string; onChange: (value: string) => void }) {
  const choices = setting.kind === "true or false" ? ["true", "false"] : choicesOf(setting.kind);
  if (choices && choices.length <= 3) return <Segmented label="Value" full value={value} onChange={onChange} options={choices.map((each) => ({ value: each, label: each }))} />;
  if (choices) return <Select value={value} onChange={onChange} options={choices} />;
  return <Input mono autoFocus autoComplete="off" type={setting.secret ? "password" : "text"} value={value} placeholder={setting.default} onChange={(event) => onChange(event.target.value)} />;
}

/** One setting: what it is, where its value comes from, and the form that changes it. */
export function SettingDrawer({ setting, onClose }: { setting: Setting; onClose: () => void }) {
  const { can } = useSession();
  const stored = setting.secret ? "" : setting.value;
  const [value, setValue] = useState(stored);
  const [failed, setFailed] = useState<ApiError | null>(null);
  const editable = !setting.locked && can("admin:settings:write");
  const own = setting.source === "admin";
  // Undo restores the value that was set here, or the layer below; a secret is not known any more.
  const before = own ? setting.value : null;
  const save = useSave({
    write: (next: string | null) => patchSettings({ [setting.name]: next }),
    invalidates: [SETTINGS, ["changes"], ["session"]],
    done: (_, next) => ({ title: next === null ? `${setting.env} follows its default or file again` : `${setting.env} is ${setting.secret ? "set" : shownValue(next)}`, detail: setting.restart_required ? "It takes effect after a restart." : "It is in effect." }),
    undo: setting.secret && own ? undefined : () => unwrap(patchSettings({ [setting.name]: before })),
    onSuccess: onClose,
    onError: (error) => {
      setFailed(error);
      return true;
    },
  });
  const run = (next: string | null) => {
    setFailed(null);
    save.mutate({ input: next });
  };
  const document = (text: string) => ({ [setting.name]: setting.secret ? (text === "" ? "not changed" : "a new value") : text });
  return (
    <EditDrawer
      title={<code className="text-body">{setting.name}</code>}
      before={document(stored)}
      after={document(value)}
      onSave={() => run(value)}
      onClose={onClose}
      busy={save.busy}
      failed={failed}
      fields={[setting.name]}
      readOnly={!editable}
      aside={
        own && (
          <Button icon={RotateCcw} busy={save.busy} onClick={() => run(null)}>
            Reset
          </Button>
        )
      }
      call={{ method: "PATCH", path: `${ADMIN}/settings`, body: { [setting.name]: setting.secret ? "…" : value } }}
      yaml={nested(setting.name, setting.secret ? `\${${setting.env}}` : value)}
    >
      <p className="text-ink-2"><Prose text={setting.description} /></p>
      {setting.locked && (
        <Note icon={Lock}>
          <strong className="font-medium">Locked.</strong> {sentence(setting.locked_reason ?? "It cannot be changed here")}
        </Note>
      )}
      {!setting.locked && setting.restart_required && (
        <Note kind="warn">
          A change takes effect after a restart of the gateway. {setting.restart_reason && sentence(setting.restart_reason)}
        </Note>
      )}
      {editable && (
        <Field label="Value" hint={sentence(setting.kind)} error={fieldError(failed, setting.name)}>
          <ValueField setting={setting} value={value} onChange={setValue} />
        </Field>
      )}
      <KeyValues
        items={[
          { label: "Value now", value: setting.secret && setting.value !== "" ? "set" : shownValue(setting.value), mono: true },
          { label: "Default", value: shownValue(setting.default), mono: true },
          { label: "Source", value: <Source setting={setting} /> },
          { label: "Environment", value: setting.env, mono: true },
          { label: "Takes effect", value: setting.restart_required ? "after a restart" : "at once" },
          { label: "History", value: <Link to="/changes" search={{ kind: "settings" } as never} className="link">changes of settings</Link> },
        ]}
      />
    </EditDrawer>
  );
}

function sentence(text: string): string {
  const long = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(long) ? long : `${long}.`;
}

/** `logging.enabled` as nested members, as the configuration file has it. */
function nested(name: string, value: string): unknown {
  return name.split(".").reduceRight<unknown>((inner, part) => ({ [part]: inner }), value);
}

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, unwrap, type Schema } from "@/api/client";
import { messageOf } from "@/api/errors";
import { Button } from "@/components/Button";
import { Drawer } from "@/components/Drawer";
import { Field } from "@/components/Field";
import { Input, TextArea } from "@/components/Input";
import { Note } from "@/components/Note";
import { Facts } from "@/components/Panel";
import { Segmented } from "@/components/Segmented";
import { toast } from "@/components/Toast";
import { plural } from "@/format";

type Mode = "merge" | "replace";
const MODES = [{ value: "merge", label: "Merge" }, { value: "replace", label: "Replace all" }] as const;
const MEANING = { merge: "Prices in the file are added or changed; all others stay.", replace: "Afterwards exactly the prices in the file are overridden; all other overrides are deleted." };

/** The prices of an export, or a bare list of prices. */
function parse(text: string): Schema<"ModelPrice">[] | string {
  try {
    const value = JSON.parse(text) as unknown;
    const list = Array.isArray(value) ? value : (value as { prices?: unknown } | null)?.prices;
    return Array.isArray(list) ? (list as Schema<"ModelPrice">[]) : "A file of prices has a list `prices`, as the export writes it.";
  } catch (error) {
    return `This is not JSON: ${messageOf(error)}`;
  }
}

/** Imports price overrides: check first, then import. */
export function PriceImport({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [text, setText] = useState("");
  const [mode, setMode] = useState<Mode>("merge");
  const prices = text.trim() ? parse(text) : null;
  const list = Array.isArray(prices) ? prices : [];
  const send = (as: "dry_run" | Mode) => unwrap(api.POST("/admin/api/v1/model-pricing/import", { body: { mode: as, prices: list } as Schema<"PriceImport"> }));
  const check = useMutation({ mutationFn: () => send("dry_run"), onMutate: () => ({ text, mode }) });
  const run = useMutation({
    mutationFn: () => send(mode),
    onSuccess: async (result) => {
      await Promise.all([["model-pricing"], ["models"]].map((queryKey) => client.invalidateQueries({ queryKey })));
      toast({ title: "Prices are imported", detail: `${result.created} created, ${result.updated} updated, ${result.deleted} deleted. History takes it back.` });
      onClose();
    },
  });
  const checked = check.data && check.context?.text === text ? check.data : null;
  const ready = checked !== null && checked.errors.length === 0;
  return (
    <Drawer
      title="Import prices"
      onClose={onClose}
      footer={
        <>
          <Button className="ml-auto" onClick={onClose}>Cancel</Button>
          {ready ? (
            <Button look="primary" busy={run.isPending} onClick={() => run.mutate()}>Import {plural(list.length, "price")}</Button>
          ) : (
            <Button look="primary" disabled={list.length === 0} busy={check.isPending} onClick={() => check.mutate()}>Check</Button>
          )}
        </>
      }
    >
      <div className="space-y-4">
        <Field label="File" aside="JSON, as the export writes it">
          <Input type="file" accept="application/json,.json" onChange={(event) => void event.target.files?.[0]?.text().then(setText)} />
        </Field>
        <Field label="Prices" error={typeof prices === "string" ? prices : undefined} hint={list.length ? plural(list.length, "price") : undefined}>
          <TextArea mono rows={10} value={text} spellCheck={false} onChange={(event) => setText(event.target.value)} placeholder={'{"version": 1, "prices": [\n  {"selector": "openai/gpt-4o", "input_per_mtok": 2.5, "output_per_mtok": 10}\n]}'} />
        </Field>
        <div>
          <div className="mb-1.5 text-small font-medium">Mode</div>
          <Segmented label="Mode" full value={mode} onChange={setMode} options={MODES} />
          <p className="mt-1.5 text-small text-ink-3">{MEANING[mode]}</p>
        </div>
        {checked && (
          <Note kind={checked.errors.length ? "bad" : "ok"}>
            <strong className="font-medium">{checked.errors.length ? `${plural(checked.errors.length, "price")} cannot be imported` : "Checked: nothing is stored yet"}</strong>
            <Facts className="mt-2" items={[{ label: "New", value: checked.created }, { label: "Changed", value: checked.updated }, { label: "Same", value: checked.unchanged }, ...(mode === "replace" ? [{ label: "Deleted", value: checked.deleted }] : [])]} />
            <ul className="mt-2 text-small">{checked.errors.slice(0, 20).map((error) => <li key={error.index}>{error.selector ?? `Price ${error.index + 1}`}: {error.message}</li>)}</ul>
          </Note>
        )}
        {(check.error ?? run.error) && <Note kind="bad">{messageOf(check.error ?? run.error)}</Note>}
      </div>
    </Drawer>
  );
}

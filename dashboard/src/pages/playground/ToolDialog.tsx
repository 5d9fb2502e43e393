import { useState } from "react";
import { Button } from "@/components/Button";
import { Dialog } from "@/components/Dialog";
import { Field, Form } from "@/components/Field";
import { Input, TextArea } from "@/components/Input";
import { parseObject } from "./body";
import type { Tool } from "./types";

const EXAMPLE = '{\n  "type": "object",\n  "properties": {\n    "city": { "type": "string" }\n  },\n  "required": ["city"]\n}';

type ToolDialogProps = { tool: Tool | null; taken: string[]; onSave: (tool: Tool) => void; onDelete: () => void; onClose: () => void };

/** A function that the models may call: name, purpose and the JSON Schema of its arguments. */
export function ToolDialog({ tool, taken, onSave, onDelete, onClose }: ToolDialogProps) {
  const [draft, setDraft] = useState<Tool>(tool ?? { name: "", description: "", parameters: EXAMPLE });
  const set = (change: Partial<Tool>) => setDraft({ ...draft, ...change });
  const named = /^[\w-]{1,64}$/.test(draft.name);
  const nameError = draft.name && !named ? "Letters, digits, _ and -; at most 64." : taken.includes(draft.name) ? "There is a tool with this name." : undefined;
  const schemaError = parseObject(draft.parameters) ? undefined : "Not a JSON object.";
  const ready = named && !nameError && !schemaError;
  const save = () => {
    if (ready) onSave(draft);
  };
  return (
    <Dialog
      title={tool ? "Edit tool" : "Add tool"}
      onClose={onClose}
      actions={
        <>
          {tool && (
            <Button look="danger" className="mr-auto" onClick={onDelete}>
              Remove tool
            </Button>
          )}
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" disabled={!ready} onClick={save}>
            {tool ? "Save" : "Add tool"}
          </Button>
        </>
      }
    >
      <Form className="mt-3" onSubmit={save}>
        <Field label="Name" error={nameError}>
          <Input mono autoFocus placeholder="get_weather" value={draft.name} onChange={(event) => set({ name: event.target.value })} />
        </Field>
        <Field label="Description" aside="optional" hint="Tells the model when to call the tool.">
          <Input value={draft.description} onChange={(event) => set({ description: event.target.value })} />
        </Field>
        <Field label="Parameters (JSON Schema)" error={schemaError}>
          <TextArea mono rows={8} spellCheck={false} value={draft.parameters} onChange={(event) => set({ parameters: event.target.value })} />
        </Field>
      </Form>
    </Dialog>
  );
}

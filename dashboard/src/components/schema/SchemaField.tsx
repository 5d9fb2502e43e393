import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { Button, IconButton } from "../Button";
import { Field } from "../Field";
import { Input, NumberInput, TextArea } from "../Input";
import { ListInput } from "../ListInput";
import { Select } from "../Select";
import { Switch } from "../Switch";
import { discriminatorOf, labelOf, resolve, typeOf, type Json, type JsonObject, type JsonSchema } from "./types";

type SchemaFieldProps = {
  name: string;
  schema: JsonSchema;
  root: JsonSchema;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  required?: boolean;
  /** Errors by path, e.g. `{"patterns[0].name": "…"}`. */
  errors?: Record<string, string>;
  path: string;
};

/** One property of a JSON Schema as a field. */
export function SchemaField(props: SchemaFieldProps) {
  const { name, root, value, onChange, required, errors, path } = props;
  const schema = resolve(props.schema, root);
  const type = typeOf(schema);
  const label = labelOf(name, schema);
  const error = errors?.[path];
  const frame = { label, hint: schema.description, error, aside: required ? undefined : "optional" };

  if (type === "object" && (schema.properties || schema.oneOf)) return <ObjectField {...props} schema={schema} label={label} />;
  if (type === "boolean")
    return (
      <div>
        <Switch checked={Boolean(value ?? schema.default)} onChange={onChange}>
          {label}
        </Switch>
        {schema.description && <p className="mt-1 ml-9 text-small text-ink-3">{schema.description}</p>}
      </div>
    );
  if (schema.enum) {
    const values = schema.enum.filter((each): each is string => typeof each === "string");
    const options = required ? values.map((each) => ({ value: each, label: each })) : [{ value: "", label: schema.default === undefined || schema.default === null ? "Not set" : `Default (${String(schema.default)})` }, ...values.map((each) => ({ value: each, label: each }))];
    return (
      <Field {...frame}>
        <Select value={typeof value === "string" ? value : ""} options={options} onChange={(next) => onChange(next === "" ? undefined : next)} />
      </Field>
    );
  }
  if (type === "number" || type === "integer")
    return (
      <Field {...frame}>
        <NumberInput value={typeof value === "number" ? value : null} onChange={(next) => onChange(next ?? undefined)} placeholder={hintOf(schema)} />
      </Field>
    );
  if (type === "array") return <ArrayField {...props} schema={schema} label={label} />;
  if (type === "string")
    return (
      <Field {...frame}>
        {schema.format === "textarea" || /prompt|text|template|message/.test(name) ? (
          <TextArea rows={4} value={typeof value === "string" ? value : ""} placeholder={hintOf(schema)} onChange={(event) => onChange(event.target.value || (required ? "" : undefined))} />
        ) : (
          <Input type={schema.writeOnly || schema.format === "password" ? "password" : "text"} autoComplete="off" value={typeof value === "string" ? value : ""} placeholder={hintOf(schema)} onChange={(event) => onChange(event.target.value || (required ? "" : undefined))} />
        )}
      </Field>
    );
  return <JsonField {...props} schema={schema} label={label} />;
}

const hintOf = (schema: JsonSchema) => (schema.default !== undefined && schema.default !== null ? String(schema.default) : schema.examples?.[0] !== undefined ? String(schema.examples[0]) : undefined);

type Labelled = SchemaFieldProps & { label: string };

function ObjectField({ schema, root, value, onChange, errors, path, label }: Labelled) {
  return (
    <fieldset className="rounded-md border border-line p-3">
      <legend className="px-1 text-small font-medium">{label}</legend>
      {schema.description && <p className="mb-3 text-small text-ink-3">{schema.description}</p>}
      <SchemaFields schema={schema} root={root} value={isObject(value) ? value : {}} onChange={onChange} errors={errors} path={path} />
    </fieldset>
  );
}

function ArrayField({ schema, root, value, onChange, errors, path, label, required }: Labelled) {
  const list = Array.isArray(value) ? value : [];
  const items = resolve(schema.items ?? {}, root);
  const frame = { label, hint: schema.description, error: errors?.[path], aside: required ? undefined : "optional" };
  if (typeOf(items) === "string")
    return (
      <Field {...frame}>
        <ListInput values={list.map(String)} suggestions={items.enum?.map(String)} onChange={(next) => onChange(next)} />
      </Field>
    );
  return (
    <fieldset>
      <legend className="mb-1.5 text-small font-medium">{label}</legend>
      {schema.description && <p className="mb-2 text-small text-ink-3">{schema.description}</p>}
      <div className="space-y-2">
        {list.map((each, i) => (
          <div key={i} className="flex gap-2">
            <div className="min-w-0 flex-1">
              <SchemaField name={`${label} ${i + 1}`} schema={{ ...items, title: `${labelOf("item", items)} ${i + 1}` }} root={root} value={each} required errors={errors} path={`${path}[${i}]`} onChange={(next) => onChange(list.map((old, k) => (k === i ? (next ?? null) : old)))} />
            </div>
            <IconButton label={`Remove item ${i + 1} of ${label}`} icon={Trash2} size="sm" onClick={() => onChange(list.filter((_, k) => k !== i))} />
          </div>
        ))}
        <Button size="sm" icon={Plus} onClick={() => onChange([...list, typeOf(items) === "object" ? {} : typeOf(items) === "boolean" ? false : null])}>
          Add
        </Button>
      </div>
    </fieldset>
  );
}

function JsonField({ schema, value, onChange, label, errors, path }: Labelled) {
  const [text, setText] = useState(value === undefined ? "" : JSON.stringify(value, null, 2));
  const [wrong, setWrong] = useState<string>();
  const change = (next: string) => {
    setText(next);
    try {
      onChange(next.trim() ? (JSON.parse(next) as Json) : undefined);
      setWrong(undefined);
    } catch {
      setWrong("This is not JSON yet.");
    }
  };
  return (
    <Field label={label} aside="JSON" hint={schema.description} error={wrong ?? errors?.[path]}>
      <TextArea mono rows={4} value={text} onChange={(event) => change(event.target.value)} />
    </Field>
  );
}

export const isObject = (value: unknown): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

type FieldsProps = { schema: JsonSchema; root: JsonSchema; value: JsonObject; onChange: (value: JsonObject) => void; errors?: Record<string, string>; path: string; hide?: readonly string[] };

/** The properties of an object schema as fields; a union of objects gets a choice of its discriminator first. */
export function SchemaFields({ schema, root, value, onChange, errors, path, hide = [] }: FieldsProps) {
  const union = discriminatorOf(schema, root);
  const chosen = union?.choices.find((choice) => choice.value === value[union.name]) ?? union?.choices[0];
  const shape = chosen?.schema ?? schema;
  const names = Object.keys(shape.properties ?? {}).filter((name) => name !== union?.name && !hide.includes(name));
  const set = (name: string, next: Json | undefined) => {
    const rest: JsonObject = { ...(union && chosen && { [union.name]: chosen.value }), ...value };
    if (next === undefined) delete rest[name];
    else rest[name] = next;
    onChange(rest);
  };
  return (
    <div className="space-y-4">
      {union && chosen && (
        <Field label={labelOf(union.name, {})}>
          <Select value={chosen.value} options={union.choices.map((choice) => ({ value: choice.value, label: choice.schema.title ?? choice.value }))} onChange={(next) => onChange({ [union.name]: next })} />
        </Field>
      )}
      {names.map((name) => (
        <SchemaField key={name} name={name} schema={shape.properties?.[name] ?? {}} root={root} value={value[name]} required={shape.required?.includes(name)} errors={errors} path={path ? `${path}.${name}` : name} onChange={(next) => set(name, next)} />
      ))}
    </div>
  );
}

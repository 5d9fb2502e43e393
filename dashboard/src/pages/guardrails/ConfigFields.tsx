import type { ApiError } from "@/api/errors";
import { ChoiceTags } from "@/components/ChoiceTags";
import { Field } from "@/components/Field";
import { LinesInput } from "@/components/LinesInput";
import { SchemaField } from "@/components/schema/SchemaField";
import { labelOf, resolve, typeOf, type Json, type JsonObject, type JsonSchema } from "@/components/schema/types";

type ConfigProps = { schema: JsonSchema; value: JsonObject; onChange: (value: JsonObject) => void; failed: ApiError | null };

/** The fields of a guardrail's configuration from the schema of its type. */
export function ConfigFields({ schema, value, onChange, failed }: ConfigProps) {
  const errors = failed?.param?.startsWith("config.") ? { [failed.param.slice("config.".length)]: failed.message } : undefined;
  const set = (name: string, next: Json | undefined) => {
    const rest = { ...value };
    if (next === undefined) delete rest[name];
    else rest[name] = next;
    onChange(rest);
  };
  return Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const required = schema.required?.includes(name);
    const shape = resolve(property, schema);
    if (typeOf(shape) === "array" && typeOf(shape.items ?? {}) === "string") {
      const list = Array.isArray(value[name]) ? value[name].map(String) : [];
      const label = labelOf(name, shape);
      const options = shape.items?.enum?.map(String);
      const error = Object.entries(errors ?? {}).find(([path]) => path === name || path.startsWith(`${name}[`))?.[1];
      return (
        <Field key={name} label={label} aside={required ? undefined : "optional"} hint={shape.description} error={error}>
          {options ? <ChoiceTags label={label} options={options} values={list} onChange={(next) => set(name, next)} /> : <LinesInput values={list} onChange={(next) => set(name, next)} placeholder="One per line" />}
        </Field>
      );
    }
    return <SchemaField key={name} name={name} schema={property} root={schema} value={value[name]} required={required} errors={errors} path={name} onChange={(next) => set(name, next)} />;
  });
}

/** Parameters whose errors the fields of a schema show. */
export function configParams(schema: JsonSchema | undefined, failed: ApiError | null): string[] {
  const param = failed?.param;
  const name = param?.startsWith("config.") ? param.slice("config.".length).split(/[.[]/)[0] : undefined;
  return param && name && schema?.properties?.[name] ? [param] : [];
}

/** The part of JSON Schema that forms are made from. */
export type JsonSchema = {
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  additionalProperties?: boolean | JsonSchema;
  oneOf?: JsonSchema[];
  anyOf?: JsonSchema[];
  allOf?: JsonSchema[];
  discriminator?: { propertyName: string };
  minimum?: number;
  maximum?: number;
  format?: string;
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  definitions?: Record<string, JsonSchema>;
  writeOnly?: boolean;
  examples?: unknown[];
};

export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

/** Follows `$ref` into `$defs`, joins `allOf`, and takes the one type beside null. */
export function resolve(schema: JsonSchema, root: JsonSchema): JsonSchema {
  let found = schema;
  for (let depth = 0; found.$ref && depth < 8; depth++) {
    const name = found.$ref.split("/").pop() ?? "";
    const target = root.$defs?.[name] ?? root.definitions?.[name];
    if (!target) break;
    found = { ...target, ...found, $ref: target.$ref };
  }
  if (found.allOf) found = Object.assign({}, found, ...found.allOf.map((part) => resolve(part, root)), { allOf: undefined });
  const choices = (found.oneOf ?? found.anyOf)?.filter((choice) => choice.type !== "null");
  if (choices?.length === 1 && choices[0]) found = { ...resolve(choices[0], root), title: found.title ?? choices[0].title, description: found.description ?? choices[0].description };
  return found;
}

/** The type of a schema beside null. */
export function typeOf(schema: JsonSchema): string | undefined {
  if (Array.isArray(schema.type)) return schema.type.find((type) => type !== "null");
  return schema.type ?? (schema.properties ? "object" : schema.enum ? "string" : undefined);
}

/** The discriminator of a union of objects: the property that is a constant in every choice. */
export function discriminatorOf(schema: JsonSchema, root: JsonSchema): { name: string; choices: { value: string; schema: JsonSchema }[] } | null {
  const union = (schema.oneOf ?? schema.anyOf)?.map((choice) => resolve(choice, root)).filter((choice) => typeOf(choice) === "object");
  if (!union || union.length < 2) return null;
  const constant = (part: JsonSchema | undefined) => (part?.const ?? (part?.enum?.length === 1 ? part.enum[0] : undefined)) as string | undefined;
  const names = schema.discriminator ? [schema.discriminator.propertyName] : Object.keys(union[0]?.properties ?? {});
  const name = names.find((each) => union.every((choice) => constant(choice.properties?.[each]) !== undefined));
  return name ? { name, choices: union.map((choice) => ({ value: String(constant(choice.properties?.[name])), schema: choice })) } : null;
}

/** "max_tokens" as a label: "Max tokens". */
export function labelOf(name: string, schema: JsonSchema): string {
  const text = schema.title ?? name.replace(/[_-]+/g, " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

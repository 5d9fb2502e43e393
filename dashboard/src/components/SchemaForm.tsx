import { SchemaFields } from "./schema/SchemaField";
import { resolve, type JsonObject, type JsonSchema } from "./schema/types";

export type { Json, JsonObject, JsonSchema } from "./schema/types";

/**
 * A form made from a JSON Schema of an object: enum, boolean, number, string, arrays, nested objects, and unions by a
 * constant property; anything else is edited as JSON. `errors` are shown by path, e.g. `{"max_length": "…"}`.
 */
export function SchemaForm({ schema, value, onChange, errors, hide }: { schema: JsonSchema; value: JsonObject; onChange: (value: JsonObject) => void; errors?: Record<string, string>; hide?: readonly string[] }) {
  return <SchemaFields schema={resolve(schema, schema)} root={schema} value={value} onChange={onChange} errors={errors} path="" hide={hide} />;
}

import type { Settings, Turn } from "./types";

type Json = Record<string, unknown>;

/** The object in a JSON text; null when it is not one. */
export function parseObject(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return value && typeof value === "object" && !Array.isArray(value) ? (value as Json) : null;
  } catch {
    return null;
  }
}

function messageOfTurn(turn: Turn): Json[] {
  if (turn.role === "user") {
    if (!turn.images.length) return [{ role: "user", content: turn.text }];
    const images = turn.images.map((image) => ({ type: "image_url", image_url: { url: image.url } }));
    return [{ role: "user", content: [...(turn.text ? [{ type: "text", text: turn.text }] : []), ...images] }];
  }
  if (turn.role === "tool") return [{ role: "tool", tool_call_id: turn.call.id, content: turn.text }];
  const { text, toolCalls } = turn.answer;
  if (!text && !toolCalls.length) return [];
  const calls = toolCalls.map((call) => ({ id: call.id, type: "function", function: { name: call.name, arguments: call.arguments } }));
  return [{ role: "assistant", content: text || null, ...(calls.length && { tool_calls: calls }) }];
}

/** The body of the call that continues a conversation. */
export function buildBody(model: string, turns: Turn[], settings: Settings): Json {
  const { system, temperature, topP, maxTokens, format, tools, stream } = settings;
  const messages = [...(system.trim() ? [{ role: "system", content: system }] : []), ...turns.flatMap(messageOfTurn)];
  return {
    model,
    messages,
    ...(temperature != null && { temperature }),
    ...(topP != null && { top_p: topP }),
    ...(maxTokens != null && { max_tokens: maxTokens }),
    ...(format === "json_object" && { response_format: { type: "json_object" } }),
    ...(format === "json_schema" && { response_format: { type: "json_schema", json_schema: { name: "answer", schema: parseObject(settings.schema) ?? {}, strict: true } } }),
    ...(tools.length > 0 && { tools: tools.map((tool) => ({ type: "function", function: { name: tool.name, ...(tool.description && { description: tool.description }), parameters: parseObject(tool.parameters) ?? {} } })) }),
    ...(stream && { stream: true, stream_options: { include_usage: true } }),
    ...parseObject(settings.more || "{}"),
  };
}

/** Headers of the call beside the key. */
export function buildHeaders({ skipCache, userPath }: Settings): Record<string, string> {
  return { ...(skipCache && { "Cache-Control": "no-cache" }), ...(userPath.trim() && { "X-Gateway-User-Path": userPath.trim() }) };
}

/** The first validation error of the settings, or null. */
export function problemOf(settings: Settings): string | null {
  if (settings.more.trim() && !parseObject(settings.more)) return "More parameters: not a JSON object.";
  if (settings.format === "json_schema" && !parseObject(settings.schema)) return "Schema: not a JSON object.";
  if (settings.userPath.trim() && !settings.userPath.trim().startsWith("/")) return "User path: begins with /.";
  return null;
}

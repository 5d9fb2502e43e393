import type { ApiError } from "@/api/errors";

export type Image = { name: string; url: string };
export type ToolCall = { id: string; name: string; arguments: string };

/** A function that the models may call, as in the request. */
export type Tool = { name: string; description: string; parameters: string };

export type Usage = { prompt_tokens: number; completion_tokens: number; total_tokens: number; prompt_tokens_details?: { cached_tokens?: number | null } | null };

/** One answer of a model, complete or on its way. */
export type Answer = {
  state: "running" | "done" | "stopped" | "failed";
  text: string;
  reasoning: string;
  toolCalls: ToolCall[];
  finish: string | null;
  usage: Usage | null;
  /** Headers of the answer by lower-case name. */
  headers: Record<string, string>;
  requestId: string | null;
  firstMs: number | null;
  totalMs: number;
  error: ApiError | Error | null;
  /** The body that was sent, for the raw view. */
  sent: unknown;
  /** The body that came, or the events of a stream. */
  received: unknown[];
};

export type Turn =
  | { role: "user"; text: string; images: Image[] }
  | { role: "assistant"; model: string; answer: Answer }
  | { role: "tool"; call: ToolCall; text: string };

export type Format = "text" | "json_object" | "json_schema";

export type Settings = {
  system: string;
  temperature: number | null;
  topP: number | null;
  maxTokens: number | null;
  format: Format;
  schema: string;
  stream: boolean;
  skipCache: boolean;
  tools: Tool[];
  /** Narrows the caller's own path, as X-Gateway-User-Path. */
  userPath: string;
  /** More members of the body, as JSON. */
  more: string;
};

export const DEFAULTS: Settings = { system: "", temperature: null, topP: null, maxTokens: null, format: "text", schema: '{\n  "type": "object",\n  "properties": {}\n}', stream: true, skipCache: false, tools: [], userPath: "", more: "" };

import { BASE, request } from "@/api/client";
import { readEvents } from "@/api/sse";
import type { Answer, ToolCall, Usage } from "./types";

type Delta = { content?: string | null; reasoning_content?: string | null; reasoning?: string | null; tool_calls?: { index: number; id?: string; function?: { name?: string; arguments?: string } }[] };
type Chunk = { choices?: { delta?: Delta; message?: Delta & { tool_calls?: { id: string; function: { name: string; arguments: string } }[] }; finish_reason?: string | null }[]; usage?: Usage | null; error?: { message?: string } };

export const CHAT = `${BASE}/v1/chat/completions`;
const SHOWN = /^(x-gateway-|x-cache|x-ratelimit-|x-request-id$)/;
const KEPT_EVENTS = 2000;

export const EMPTY: Answer = { state: "running", text: "", reasoning: "", toolCalls: [], finish: null, usage: null, headers: {}, requestId: null, firstMs: null, totalMs: 0, error: null, sent: null, received: [] };

function joinCalls(calls: ToolCall[], parts: NonNullable<Delta["tool_calls"]>): ToolCall[] {
  const next = [...calls];
  parts.forEach((part, at) => {
    const index = part.index ?? at;
    const before = next[index] ?? { id: "", name: "", arguments: "" };
    next[index] = { id: part.id || before.id, name: before.name || part.function?.name || "", arguments: before.arguments + (part.function?.arguments ?? "") };
  });
  return next;
}

/** The answer after one more chunk of the stream, or after the whole body. */
export function addChunk(answer: Answer, chunk: Chunk): Answer {
  const choice = chunk.choices?.[0];
  const delta: Delta = choice?.delta ?? choice?.message ?? {};
  return {
    ...answer,
    text: answer.text + (delta.content ?? ""),
    reasoning: answer.reasoning + (delta.reasoning_content ?? delta.reasoning ?? ""),
    toolCalls: delta.tool_calls ? joinCalls(answer.toolCalls, delta.tool_calls) : answer.toolCalls,
    finish: choice?.finish_reason ?? answer.finish,
    usage: chunk.usage ?? answer.usage,
    received: answer.received.length < KEPT_EVENTS ? [...answer.received, chunk] : answer.received,
  };
}

type CallOptions = { body: unknown; headers: Record<string, string>; signal: AbortSignal; onChange: (answer: Answer) => void };

/** Makes one call and reports the answer as it grows. Never throws: an error is part of the answer. */
export async function makeCall({ body, headers, signal, onChange }: CallOptions): Promise<Answer> {
  const start = performance.now();
  const passed = () => performance.now() - start;
  let answer: Answer = { ...EMPTY, sent: body };
  const change = (next: Answer) => onChange((answer = next));
  try {
    const response = await request(CHAT, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body), signal });
    const shown = Object.fromEntries([...response.headers].filter(([name]) => SHOWN.test(name)));
    change({ ...answer, headers: shown, requestId: response.headers.get("x-request-id"), totalMs: passed() });
    if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
      const first = passed();
      change({ ...addChunk(answer, (await response.json()) as Chunk), firstMs: first, totalMs: passed(), state: "done" });
      return answer;
    }
    for await (const event of readEvents(response)) {
      if (event.data === "[DONE]") break;
      const chunk = JSON.parse(event.data) as Chunk;
      if (chunk.error) throw new Error(chunk.error.message ?? "The stream ended with an error.");
      const next = addChunk(answer, chunk);
      const content = next.text !== "" || next.reasoning !== "" || next.toolCalls.length > 0;
      change({ ...next, firstMs: answer.firstMs ?? (content ? passed() : null), totalMs: passed() });
    }
    change({ ...answer, state: "done", totalMs: passed() });
  } catch (error) {
    const failed = error instanceof Error ? error : new Error(String(error));
    const requestId = answer.requestId ?? ("requestId" in failed && typeof failed.requestId === "string" ? failed.requestId : null);
    change(signal.aborted ? { ...answer, state: "stopped", totalMs: passed() } : { ...answer, state: "failed", error: failed, requestId, totalMs: passed() });
  }
  return answer;
}

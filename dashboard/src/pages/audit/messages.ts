/** One message of a request or an answer, as text. */
export type Turn = { role: string; text: string };
type Fields = Record<string, unknown>;
const fields = (value: unknown): Fields => (value && typeof value === "object" && !Array.isArray(value) ? (value as Fields) : {});
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** The text of a content: a text, or parts of the chat, responses, messages and generate formats. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return list(content)
    .map((part) => {
      const { text, type, thinking, name, input, content: inner, functionCall } = fields(part);
      if (typeof text === "string") return text;
      if (typeof thinking === "string") return thinking;
      if (type === "tool_use") return `${String(name)}(${JSON.stringify(input)})`;
      if (functionCall) return `${String(fields(functionCall).name)}(${JSON.stringify(fields(functionCall).args)})`;
      if (inner !== undefined) return textOf(inner);
      return type ? `[${String(type)}]` : "";
    })
    .filter(Boolean)
    .join("\n");
}

const calls = (value: unknown) => list(value).map((call) => `${String(fields(fields(call).function).name)}(${String(fields(fields(call).function).arguments)})`).join("\n");
const turn = (message: unknown): Turn => {
  const { role, content, parts, tool_calls, type, output, name, arguments: args } = fields(message);
  const text = [textOf(content ?? parts ?? output), calls(tool_calls), type === "function_call" ? `${String(name)}(${String(args)})` : ""].filter(Boolean).join("\n");
  return { role: String(role ?? type ?? "input"), text };
};

/** The messages of a request in any of the formats; [] when it has none. */
export function messagesOf(body: unknown): Turn[] {
  const { messages, input, contents, system, instructions, systemInstruction, prompt } = fields(body);
  const first = system ?? instructions ?? fields(systemInstruction).parts;
  const head: Turn[] = first ? [{ role: "system", text: textOf(first) }] : [];
  if (typeof input === "string") return [...head, { role: "user", text: input }];
  if (typeof prompt === "string") return [{ role: "prompt", text: prompt }];
  const turns = list(messages ?? contents ?? input);
  return turns.every((each) => typeof each === "string") ? [...head, ...turns.map((text) => ({ role: "input", text: text as string }))] : [...head, ...turns.map(turn)];
}

/** The text of an answer, whole or as events; null when it has none. */
export function textOfAnswer(body: unknown): string | null {
  if (typeof body === "string") return body.startsWith("data:") || body.startsWith("event:") ? textOfEvents(body) : null;
  const { choices, output, content, candidates, error } = fields(body);
  if (error) return null;
  const message = fields(fields(list(choices)[0]).message);
  const text = [textOf(message.content), calls(message.tool_calls)].filter(Boolean).join("\n") || list(output).map(turn).map((each) => each.text).filter(Boolean).join("\n") || textOf(content) || textOf(fields(fields(list(candidates)[0]).content).parts);
  return text || null;
}

function textOfEvents(events: string): string | null {
  let text = "";
  for (const line of events.split("\n")) {
    if (!line.startsWith("data: {")) continue;
    try {
      const event = fields(JSON.parse(line.slice(6)));
      const delta = event.delta;
      const chunk = fields(fields(list(event.choices)[0]).delta).content ?? (event.type === "response.output_text.delta" ? delta : undefined) ?? (event.type === "content_block_delta" ? fields(delta).text : undefined) ?? (event.candidates ? textOf(fields(fields(list(event.candidates)[0]).content).parts) : undefined);
      if (typeof chunk === "string") text += chunk;
    } catch {
      // The record ends inside an event.
    }
  }
  return text || null;
}

import { Copy } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/Button";
import { CodeBlock, JsonView } from "@/components/CodeBlock";
import { EmptyState } from "@/components/EmptyState";
import { highlight } from "@/components/highlight";
import { KeyValues } from "@/components/Panel";
import { Segmented } from "@/components/Segmented";
import { copy } from "@/components/Toast";
import { buildBody, buildHeaders } from "./body";
import { asCode, withoutBytes, type CodeLanguage } from "./code";
import type { Answer, Settings, Turn } from "./types";

const LANGUAGES: { value: CodeLanguage; label: string }[] = [{ value: "curl", label: "curl" }, { value: "python", label: "Python" }, { value: "typescript", label: "TypeScript" }];

export type LaneChoice = { model: string; turns: Turn[]; last: Answer | null };

function LanePick({ lanes, at, onPick }: { lanes: LaneChoice[]; at: number; onPick: (at: number) => void }) {
  if (lanes.length < 2) return null;
  return <Segmented full label="Conversation" value={String(at)} onChange={(value) => onPick(Number(value))} options={lanes.map((lane, i) => ({ value: String(i), label: lane.model || `Model ${i + 1}` }))} />;
}

/** The next call as a program, with the draft as its last message. */
export function CodePanel({ lanes, settings, draft }: { lanes: LaneChoice[]; settings: Settings; draft: Turn | null }) {
  const [picked, setPicked] = useState(0);
  const [language, setLanguage] = useState<CodeLanguage>("curl");
  const at = Math.min(picked, lanes.length - 1);
  const lane = lanes[at]!;
  const turns = draft ? [...lane.turns, draft] : lane.turns.at(-1)?.role === "assistant" ? lane.turns.slice(0, -1) : lane.turns;
  const code = asCode(language, { body: buildBody(lane.model, turns, settings), headers: buildHeaders(settings) });
  const headers = Object.entries(lane.last?.headers ?? {});
  return (
    <div className="space-y-3">
      <LanePick lanes={lanes} at={at} onPick={setPicked} />
      <div className="flex items-center justify-between gap-2">
        <Segmented size="sm" label="Language" value={language} onChange={setLanguage} options={LANGUAGES} />
        <Button size="sm" icon={Copy} onClick={() => void copy(code, `Copied as ${LANGUAGES.find((each) => each.value === language)!.label}`)}>
          Copy
        </Button>
      </div>
      <pre tabIndex={0} aria-label="The call as code" className="overflow-auto rounded-md border border-line bg-well p-3 text-small/[18px] whitespace-pre-wrap [overflow-wrap:anywhere]">
        {highlight(withoutBytes(code), language).map((part, i) => (part.tone ? <span key={i} className={part.tone}>{part.text}</span> : part.text))}
      </pre>
      <p className="text-small text-ink-3">The key stays in your environment. Nothing here contains a secret.</p>
      {headers.length > 0 && (
        <>
          <h3 className="pt-2 text-small font-medium">Headers of the answer</h3>
          <KeyValues items={headers.map(([name, value]) => ({ label: name, value, mono: true }))} />
        </>
      )}
    </div>
  );
}

/** The raw request body and the received chunks. */
export function RawPanel({ lanes }: { lanes: LaneChoice[] }) {
  const [picked, setPicked] = useState(0);
  const at = Math.min(picked, lanes.length - 1);
  const answer = lanes[at]!.last;
  const events = answer?.received.map((each) => JSON.stringify(each)).join("\n") ?? "";
  return (
    <div className="space-y-3">
      <LanePick lanes={lanes} at={at} onPick={setPicked} />
      {answer ? (
        <>
          <h3 className="text-small font-medium">Sent</h3>
          <CodeBlock wrap language="json" className="max-h-72" code={withoutBytes(JSON.stringify(answer.sent, null, 2))} />
          <h3 className="text-small font-medium">Received{answer.received.length > 1 && <span className="font-regular text-ink-3">, {answer.received.length} events</span>}</h3>
          {answer.received.length === 1 ? <JsonView value={answer.received[0]} /> : <CodeBlock wrap language="json" className="max-h-[60vh]" code={events || "Nothing yet."} />}
        </>
      ) : (
        <EmptyState small title="No call yet">Shows the raw request and answer of the last call.</EmptyState>
      )}
    </div>
  );
}

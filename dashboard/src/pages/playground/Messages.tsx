import { Wrench } from "lucide-react";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { ApiError, messageOf } from "@/api/errors";
import { Button } from "@/components/Button";
import { Input } from "@/components/Input";
import { Markdown } from "@/components/Markdown";
import { Note } from "@/components/Note";
import type { Answer, ToolCall, Turn } from "./types";

function Message({ who, children }: { who: ReactNode; children: ReactNode }) {
  return (
    <div className="max-w-[62ch]">
      <div className="mb-0.5 text-small text-ink-3">{who}</div>
      <div className="text-lead/[22px]">{children}</div>
    </div>
  );
}

function Tool({ call, children }: { call: ToolCall; children?: ReactNode }) {
  return (
    <div className="my-1.5 rounded-md border border-line bg-well px-2.5 py-1.5 text-small text-ink-2">
      <div className="flex items-center gap-2">
        <Wrench aria-hidden className="size-3.5 text-ink-3" />
        <span className="min-w-0 [overflow-wrap:anywhere]">
          <b className="font-medium text-ink">{call.name}</b> <code>{call.arguments}</code>
        </span>
      </div>
      {children}
    </div>
  );
}

/** Asks for what the tools would have answered, and goes on with it. */
function ToolResults({ calls, onSend }: { calls: ToolCall[]; onSend: (turns: Turn[]) => void }) {
  const [texts, setTexts] = useState<Record<string, string>>({});
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSend(calls.map((call) => ({ role: "tool", call, text: texts[call.id] ?? "" })));
      }}
    >
      {calls.map((call) => (
        <Tool key={call.id} call={call}>
          <Input aria-label={`Result of ${call.name}`} placeholder="Result of the tool, e.g. JSON" className="mt-2" value={texts[call.id] ?? ""} onChange={(event) => setTexts({ ...texts, [call.id]: event.target.value })} />
        </Tool>
      ))}
      <Button type="submit" size="sm" disabled={calls.some((call) => !texts[call.id])}>
        Send result
      </Button>
    </form>
  );
}

const Caret = () => <span aria-hidden className="ml-0.5 inline-block h-[15px] w-[7px] animate-[blink_1s_steps(2)_infinite] bg-accent-ink align-[-2px]" />;

function AnswerView({ answer, last, onSend }: { answer: Answer; last: boolean; onSend: (turns: Turn[]) => void }) {
  const running = answer.state === "running";
  const { error, toolCalls } = answer;
  return (
    <>
      {answer.reasoning && (
        <details open={running && !answer.text} className="mb-2 text-small/[18px] text-ink-2">
          <summary className="text-ink-3">Reasoning</summary>
          <p className="mt-1 border-l-2 border-line pl-3 whitespace-pre-wrap">{answer.reasoning}</p>
        </details>
      )}
      {(answer.text || running) && <Markdown text={answer.text} end={running ? <Caret /> : undefined} />}
      {last && !running && toolCalls.length > 0 ? <ToolResults calls={toolCalls} onSend={onSend} /> : toolCalls.map((call) => <Tool key={call.id} call={call} />)}
      {answer.state === "stopped" && <p className="mt-1 text-small text-ink-3">Stopped.</p>}
      {answer.finish === "length" && <Note kind="warn" className="mt-2 text-body">The answer reached its limit of tokens. Raise Max tokens to get the rest.</Note>}
      {error && (
        <Note kind="bad" className="mt-1 text-body">
          {messageOf(error)}
          {error instanceof ApiError && <code className="mt-1 block text-ink-2">{error.status} {error.code}{error.param ? ` · ${error.param}` : ""}</code>}
        </Note>
      )}
    </>
  );
}

/** The turns of a conversation; stays at its end while an answer comes, unless the reader scrolled up. */
export function Messages({ turns, onSend }: { turns: Turn[]; onSend: (turns: Turn[]) => void }) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    if (atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [turns]);
  return (
    <div
      ref={box}
      tabIndex={0}
      role="log"
      aria-live="off"
      aria-label="Conversation"
      className="min-h-0 flex-1 space-y-5 overflow-auto p-5 phone:min-h-40 phone:p-4"
      onScroll={(event) => {
        const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
        atEnd.current = scrollHeight - scrollTop - clientHeight < 40;
      }}
    >
      {turns.map((turn, i) =>
        turn.role === "user" ? (
          <Message key={i} who="You">
            {turn.images.length > 0 && (
              <div className="my-1 flex flex-wrap gap-2">
                {turn.images.map((image) => (
                  <img key={image.url} src={image.url} alt={image.name} className="max-h-32 max-w-full rounded-md border border-line" />
                ))}
              </div>
            )}
            <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{turn.text}</p>
          </Message>
        ) : turn.role === "tool" ? (
          <Message key={i} who={`Result of ${turn.call.name}`}>
            <code className="block whitespace-pre-wrap [overflow-wrap:anywhere]">{turn.text}</code>
          </Message>
        ) : (
          <Message key={i} who={turn.answer.headers["x-gateway-model"]?.split("/").slice(1).join("/") || turn.model}>
            <AnswerView answer={turn.answer} last={i === turns.length - 1} onSend={onSend} />
          </Message>
        ),
      )}
    </div>
  );
}

import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { messageOf } from "@/api/errors";
import { useSession } from "@/app/session";
import { Button } from "@/components/Button";
import { Input } from "@/components/Input";
import { MiniJourney } from "@/components/Journey";
import { Note } from "@/components/Note";
import { askDemo, type DemoAnswer } from "./queries";

/** A first call, answered by the built-in model. */
export function DemoStep({ answer, onAnswer }: { answer: DemoAnswer | null; onAnswer: (answer: DemoAnswer) => void }) {
  const session = useSession();
  const [question, setQuestion] = useState("What is Gatehouse?");
  const ask = useMutation({ mutationFn: () => askDemo("demo/demo-chat", question), onSuccess: onAnswer });
  const audited = session.feature("audit")?.enabled && session.can("admin:audit:read");
  if (answer)
    return (
      <div className="mt-3 rounded-lg border border-line bg-surface">
        <dl className="grid grid-cols-[84px_minmax(0,1fr)] gap-x-3 gap-y-2 p-4">
          <dt className="text-ink-3">You</dt>
          <dd>{answer.question}</dd>
          <dt className="text-ink-3">{answer.model}</dt>
          <dd className="whitespace-pre-wrap">{answer.text}</dd>
        </dl>
        <div className="border-t border-line px-4 py-2.5">
          <MiniJourney
            steps={[{ label: "authenticated" }, { label: `resolved ${answer.headers.model ?? ""}` }, { label: `cache ${answer.headers.cache ?? "off"}` }, { label: answer.headers.provider ?? "demo", kind: "ok" }]}
            end={audited && answer.headers.requestId ? <Link to="/audit" search={{ open: answer.headers.requestId }} className="text-accent-ink hover:underline">See the call</Link> : undefined}
          />
        </div>
      </div>
    );
  return (
    <form
      className="mt-3 rounded-lg border border-line bg-surface p-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (question.trim() && !ask.isPending) ask.mutate();
      }}
    >
      <div className="flex gap-2">
        <Input aria-label="Question" value={question} onChange={(event) => setQuestion(event.target.value)} />
        <Button type="submit" look="primary" busy={ask.isPending} disabled={!question.trim()}>
          Send
        </Button>
      </div>
      <p className="mt-2 text-small text-ink-3">It is built in, needs no key and no network, and always gives the same answer.</p>
      {ask.error && <Note kind="bad" className="mt-3">{messageOf(ask.error)}</Note>}
    </form>
  );
}

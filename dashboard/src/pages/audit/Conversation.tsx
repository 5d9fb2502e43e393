import { ErrorNote } from "@/components/EmptyState";
import { SkeletonRows } from "@/components/Skeleton";
import { cx } from "@/components/cx";
import { httpKind, Status } from "@/components/Status";
import { duration, preciseTime } from "@/format";
import { Turns } from "./Bodies";
import { costOf } from "./columns";
import { messagesOf, textOfAnswer, type Turn } from "./messages";
import type { useConversation } from "./queries";
import type { Entry } from "./types";

/** The messages that a call added to the conversation, and its answer. */
function newTurns(entry: Entry, before: Turn[]): Turn[] {
  const turns = messagesOf(entry.data.request_body);
  let same = 0;
  while (same < turns.length && same < before.length && turns[same]!.text === before[same]!.text) same++;
  const answer = textOfAnswer(entry.data.response_body);
  return [...turns.slice(same), ...(answer ? [{ role: "assistant", text: answer }] : [])];
}

/** The calls of one conversation, oldest first, each with what it added. */
export function ConversationTab({ conversation, current, onOpen }: { conversation: ReturnType<typeof useConversation>; current: string; onOpen: (id: string) => void }) {
  if (conversation.error) return <ErrorNote error={conversation.error} onRetry={() => void conversation.refetch()} />;
  if (!conversation.data) return <SkeletonRows rows={4} columns={2} />;
  const entries = conversation.data.entries as Entry[];
  let before: Turn[] = [];
  return (
    <ol aria-label="Conversation" className="space-y-5">
      {entries.map((entry) => {
        const turns = newTurns(entry, before);
        before = [...messagesOf(entry.data.request_body), ...turns.slice(-1)];
        const on = entry.id === current;
        return (
          <li key={entry.id} aria-current={on || undefined} className={cx("relative border-l-2 pl-4", on ? "border-accent" : "border-line")}>
            <div className="mb-2 flex flex-wrap items-center gap-x-3 text-small text-ink-2">
              <Status kind={httpKind(entry.status_code)} className="num">{entry.status_code}</Status>
              <time dateTime={entry.timestamp} className="num">{preciseTime(entry.timestamp)}</time>
              <span className="truncate">{entry.requested_model}</span>
              <span className="num ml-auto">{costOf(entry)} · {duration(entry.duration_ms)}</span>
              {on ? <span className="font-medium text-accent-ink">this call</span> : <button type="button" className="link" onClick={() => onOpen(entry.id)}>Open</button>}
            </div>
            {turns.length ? <Turns turns={turns} /> : <p className="text-small text-ink-3">{entry.data.error_message ?? "Bodies were not recorded."}</p>}
          </li>
        );
      })}
      {entries.length === 1 && <li className="text-small text-ink-3">No other call belongs to this conversation. Calls are linked by response ids, by the session id, and by the messages that they share.</li>}
    </ol>
  );
}

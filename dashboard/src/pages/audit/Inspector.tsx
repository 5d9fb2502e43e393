import { Link } from "@tanstack/react-router";
import { ChevronDown, ChevronUp, MessagesSquare, Route } from "lucide-react";
import { ApiError } from "@/api/errors";
import { useSession } from "@/app/session";
import { buttonClass, IconButton, Kbd } from "@/components/Button";
import { CopyAs } from "@/components/CopyAs";
import { Drawer } from "@/components/Drawer";
import { EmptyState, ErrorNote } from "@/components/EmptyState";
import { Facts } from "@/components/Panel";
import { SkeletonRows } from "@/components/Skeleton";
import { httpKind, StatusIcon } from "@/components/Status";
import { Tabs } from "@/components/Tabs";
import { count, duration, moment, NONE } from "@/format";
import { BodyTab, HeadersTab } from "./Bodies";
import { costOf } from "./columns";
import { ConversationTab } from "./Conversation";
import { JourneyTab } from "./JourneyTab";
import { useConversation, useEntry } from "./queries";
import type { Entry } from "./types";

export type InspectorTab = "journey" | "request" | "response" | "headers" | "conversation";
const TABS = [{ value: "journey", label: "Journey" }, { value: "request", label: "Request" }, { value: "response", label: "Response" }, { value: "headers", label: "Headers" }, { value: "conversation", label: "Conversation" }] as const;

type InspectorProps = {
  /** Id of the entry, or of the request. */
  id: string;
  /** The entry as the list has it, shown until the whole entry is read. */
  known: Entry | undefined;
  tab: InspectorTab;
  onTab: (tab: InspectorTab) => void;
  onClose: () => void;
  onStep?: (step: -1 | 1) => void;
  onOpen: (id: string) => void;
};

/** One call: figures, journey, bodies, headers, conversation. The list beside it stays usable. */
export function Inspector({ id, known, tab, onTab, onClose, onStep, onOpen }: InspectorProps) {
  const read = useEntry(id);
  const entry = read.data ?? known;
  const missing = read.error instanceof ApiError && read.error.status === 404;
  return (
    <Drawer
      inspector
      onClose={onClose}
      title={entry ? <><StatusIcon kind={httpKind(entry.status_code)} /><span className="num">{entry.status_code}</span><span className="truncate">{entry.requested_model || entry.path}</span></> : "Call"}
      sub={entry && <time dateTime={entry.timestamp} className="num">{moment(entry.timestamp)}</time>}
      actions={
        <>
          {onStep && <IconButton label="Previous call" hint="Previous call (K)" icon={ChevronUp} onClick={() => onStep(-1)} />}
          {onStep && <IconButton label="Next call" hint="Next call (J)" icon={ChevronDown} onClick={() => onStep(1)} />}
          {entry && <span className="phone:hidden"><CopyAs quiet={false} call={{ method: entry.method, path: entry.path, body: entry.data.request_body ?? undefined }} yaml={entry} /></span>}
        </>
      }
      footer={entry && <Footer entry={entry} />}
    >
      {entry ? <Content entry={entry} whole={Boolean(read.data)} tab={tab} onTab={onTab} onOpen={onOpen} /> : missing ? <Missing id={id} /> : read.error ? <ErrorNote error={read.error} onRetry={() => void read.refetch()} /> : <SkeletonRows rows={8} columns={2} />}
    </Drawer>
  );
}

function Missing({ id }: { id: string }) {
  return (
    <EmptyState title="This call is not in the audit log">
      No entry has the id <code className="break-all">{id}</code>. It may be older than <code>LOGGING_RETENTION_DAYS</code>, or its workflow keeps no audit.
    </EmptyState>
  );
}

function Content({ entry, whole, tab, onTab, onOpen }: { entry: Entry; whole: boolean; tab: InspectorTab; onTab: (tab: InspectorTab) => void; onOpen: (id: string) => void }) {
  const conversation = useConversation(entry.id, tab === "conversation");
  const { usage } = entry;
  const size = conversation.data?.entries.length;
  return (
    <>
      <Facts
        items={[
          { label: "Duration", value: duration(entry.duration_ms) },
          { label: "First byte", value: duration(entry.ttft_ms) },
          { label: "Tokens", value: usage ? <>{count(usage.input_tokens)} <small className="text-small font-regular text-ink-3">in</small> {count(usage.output_tokens)}</> : NONE, sub: usage && "out" },
          { label: "Cost", value: costOf(entry) },
          { label: "Overhead", value: duration(entry.overhead_us / 1000) },
        ]}
      />
      <Tabs className="mt-4" label="Parts of the call" value={tab} onChange={onTab} tabs={TABS.map((each) => (each.value === "conversation" && size ? { ...each, count: size } : each))}>
        {tab === "journey" ? <JourneyTab entry={entry} /> : tab === "conversation" ? <ConversationTab conversation={conversation} current={entry.id} onOpen={onOpen} /> : !whole ? <SkeletonRows rows={6} columns={1} /> : tab === "headers" ? <HeadersTab entry={entry} /> : <BodyTab key={entry.id + tab} entry={entry} side={tab} />}
      </Tabs>
    </>
  );
}

function Footer({ entry }: { entry: Entry }) {
  const session = useSession();
  const chat = entry.path.endsWith("/chat/completions");
  return (
    <>
      {session.can("admin:explain:read") && (
        <Link to="/explain" search={{ call: entry.id } as never} className={buttonClass({ size: "sm" })}>
          <Route aria-hidden />
          Explain again
        </Link>
      )}
      {chat && entry.data.request_body != null && (
        <Link to="/playground" search={{ call: entry.id } as never} className={buttonClass({ size: "sm" })}>
          <MessagesSquare aria-hidden />
          Open in playground
        </Link>
      )}
      <span className="ml-auto flex items-center gap-1.5 text-small text-ink-3 phone:hidden">
        <Kbd>J</Kbd>
        <Kbd>K</Kbd>
        next, previous
      </span>
    </>
  );
}

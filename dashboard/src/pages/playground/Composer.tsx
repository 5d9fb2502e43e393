import { ImagePlus, Wrench } from "lucide-react";
import { useRef, type ClipboardEvent } from "react";
import { Button, IconButton } from "@/components/Button";
import { Tag } from "@/components/Status";
import { toast } from "@/components/Toast";
import type { Image } from "./types";

export type Draft = { text: string; images: Image[] };

type ComposerProps = { draft: Draft; onDraft: (draft: Draft) => void; onSend: () => void; onTools: () => void; lanes: number; estimate: string; problem: string | null; busy: boolean; maxBytes: number };

const read = (file: File) =>
  new Promise<Image>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ name: file.name || "pasted image", url: String(reader.result) });
    reader.onerror = () => reject(reader.error ?? new Error(`${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  });

/** The message to be sent, with images; ↵ sends, ⇧↵ begins a new line. */
export function Composer({ draft, onDraft, onSend, onTools, lanes, estimate, problem, busy, maxBytes }: ComposerProps) {
  const files = useRef<HTMLInputElement>(null);
  const ready = !problem && !busy && (draft.text.trim() !== "" || draft.images.length > 0);
  const send = () => {
    if (ready) onSend();
  };
  const attach = async (list: Iterable<File>) => {
    const images = [...list].filter((file) => file.type.startsWith("image/"));
    const large = images.find((file) => file.size * 1.4 > maxBytes);
    if (large) return toast({ kind: "bad", title: `${large.name} is too large for one request`, detail: "The limit is the setting BODY_SIZE_LIMIT." });
    onDraft({ ...draft, images: [...draft.images, ...(await Promise.all(images.map(read)))] });
  };
  const onPaste = (event: ClipboardEvent) => {
    if (![...event.clipboardData.files].some((file) => file.type.startsWith("image/"))) return;
    event.preventDefault();
    void attach(event.clipboardData.files);
  };
  return (
    <div className="flex-none border-t border-line bg-canvas px-5 pt-3 pb-4 phone:px-3 phone:py-2">
      <form
        className="rounded-lg border border-line-control bg-surface pt-2.5 pr-2 pb-2 pl-3 control-focus"
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault();
          void attach(event.dataTransfer.files);
        }}
      >
        <textarea
          aria-label="Message"
          placeholder={lanes > 1 ? "Message both models" : "Message"}
          rows={1}
          autoFocus
          value={draft.text}
          onPaste={onPaste}
          onChange={(event) => onDraft({ ...draft, text: event.target.value })}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            send();
          }}
          className="block max-h-48 w-full resize-none field-sizing-content bg-transparent text-lead/[22px] outline-none"
        />
        {draft.images.length > 0 && (
          <div className="mt-2 flex flex-wrap gap-2">
            {draft.images.map((image, i) => (
              <span key={image.url} className="flex items-center gap-1.5">
                <img src={image.url} alt="" className="size-9 rounded-sm border border-line object-cover" />
                <Tag removeLabel={`Remove ${image.name}`} onRemove={() => onDraft({ ...draft, images: draft.images.filter((_, at) => at !== i) })}>
                  {image.name}
                </Tag>
              </span>
            ))}
          </div>
        )}
        <div className="mt-1.5 flex items-center gap-1">
          <input ref={files} type="file" accept="image/*" multiple hidden aria-label="Images" onChange={(event) => (void attach(event.target.files ?? []), (event.target.value = ""))} />
          <IconButton size="sm" label="Attach an image" icon={ImagePlus} onClick={() => files.current?.click()} />
          <IconButton size="sm" label="Add a tool" icon={Wrench} onClick={onTools} />
          <span className="num ml-auto truncate pl-2 text-small text-ink-3 phone:hidden">{problem ?? estimate}</span>
          <Button type="submit" look="primary" size="sm" shortcut="↵" className="ml-2 phone:ml-auto" disabled={!ready}>
            Send
          </Button>
        </div>
      </form>
    </div>
  );
}

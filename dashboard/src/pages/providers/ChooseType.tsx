import { ChevronRight, Search } from "lucide-react";
import { useState } from "react";
import { NoMatch } from "@/components/EmptyState";
import { Input } from "@/components/Input";
import { Mark } from "@/components/Status";
import { hostOf, type ProviderType } from "./queries";

const local = (type: ProviderType) => /localhost/.test(type.base_url ?? "") || (type.base_url_required && !type.api_key_required);

/** All types of providers, by name; servers of one's own apart. */
export function ChooseType({ types, onChoose }: { types: ProviderType[]; onChoose: (type: string) => void }) {
  const [word, setWord] = useState("");
  const found = types.filter((type) => type.type !== "demo" && `${type.title} ${type.type} ${type.base_url ?? ""}`.toLowerCase().includes(word.toLowerCase()));
  const groups = [
    ["Vendors", found.filter((type) => !local(type))],
    ["Your own servers", found.filter(local)],
  ] as const;
  return (
    <>
      <Input type="search" icon={Search} autoFocus aria-label="Search types" placeholder="Search types" value={word} onChange={(event) => setWord(event.target.value)} onKeyDown={(event) => event.key === "Enter" && found[0] && onChoose(found[0].type)} />
      {found.length === 0 && <NoMatch what="types" onClear={() => setWord("")}>Any server with OpenAI&apos;s API works as <code>openai_compatible</code>.</NoMatch>}
      {groups.map(([title, list]) =>
        list.length ? (
          <section key={title} className="mt-4">
            <h3 className="mb-1.5 text-small font-medium text-ink-3">{title}</h3>
            <ul className="grid grid-cols-2 gap-2 phone:grid-cols-1">
              {list.map((type) => (
                <li key={type.type}>
                  <button type="button" onClick={() => onChoose(type.type)} className="flex w-full items-center gap-2.5 rounded-md border border-line-strong bg-surface px-2.5 py-2 text-left hover:border-line-control hover:bg-hover">
                    <Mark name={type.type} large />
                    <span className="min-w-0 flex-1">
                      <span className="block truncate font-medium">{type.title}</span>
                      <span className="block truncate text-small text-ink-3">{hostOf(type.base_url) ?? "address of yours"}</span>
                    </span>
                    <ChevronRight aria-hidden className="size-3.5 text-ink-3" />
                  </button>
                </li>
              ))}
            </ul>
          </section>
        ) : null,
      )}
    </>
  );
}

import { Kbd } from "@/components/Button";
import { Dialog } from "@/components/Dialog";
import { closeOverlay } from "./overlays";

const GROUPS: { title: string; keys: [string[], string][] }[] = [
  { title: "Everywhere", keys: [[["⌘", "K"], "Search pages, keys and actions"], [["T"], "Switch between light and dark"], [["Z"], "Choose the time zone"], [["?"], "Show these keys"], [["Esc"], "Close the dialog or panel"]] },
  { title: "Lists", keys: [[["/"], "Search in the list"], [["J"], "Next row"], [["K"], "Row before"], [["↵"], "Open the row"], [["C"], "Create"], [["L"], "Follow live"]] },
  { title: "Forms", keys: [[["⌘", "↵"], "Save"], [["Esc"], "Close without saving"]] },
];

/** All keys that work; opened by "?". */
export default function Shortcuts() {
  return (
    <Dialog title="Keyboard shortcuts" onClose={closeOverlay}>
      <div className="space-y-4">
        {GROUPS.map((group) => (
          <section key={group.title}>
            <h3 className="mb-1 text-small font-medium text-ink-3">{group.title}</h3>
            <dl className="divide-y divide-line">
              {group.keys.map(([keys, what]) => (
                <div key={what} className="flex h-8 items-center gap-3">
                  <dt>{what}</dt>
                  <dd className="ml-auto flex gap-1">
                    {keys.map((key) => (
                      <Kbd key={key}>{key}</Kbd>
                    ))}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}

import { RotateCw, Search } from "lucide-react";
import { useFilters } from "@/app/filters";
import { Page } from "@/app/Page";
import { NoMatch } from "@/components/EmptyState";
import { SearchInput } from "@/components/Input";
import { usePhone } from "@/components/media";
import { Note } from "@/components/Note";
import { Segmented } from "@/components/Segmented";
import { SideList } from "@/components/SideList";
import { SplitHead, SplitView } from "@/components/SplitView";
import { plural } from "@/format";
import { groupOf, groupTitle, useSettings, type Setting } from "./queries";
import { SettingDrawer } from "./SettingDrawer";
import { SettingsTable } from "./SettingsTable";

const SHOW = ["all", "changed", "editable"] as const;
type Show = (typeof SHOW)[number];
const SHOWN: Record<Show, (setting: Setting) => boolean> = { all: () => true, changed: (setting) => setting.source !== "default", editable: (setting) => !setting.locked };

const matches = (setting: Setting, text: string) => [setting.name, setting.env, setting.description].some((each) => each.toLowerCase().includes(text.toLowerCase()));

export default function SettingsPage() {
  const [filters, setFilters] = useFilters({ group: "", search: "", show: "all", open: "" }, { show: SHOW });
  const query = useSettings();
  const phone = usePhone();
  const all: Setting[] = query.data?.settings ?? [];
  const show = filters.show as Show;
  const listed = all.filter((setting) => SHOWN[show](setting) && matches(setting, filters.search));
  const groups = [...new Set(listed.map(groupOf))].map((name) => ({ name, settings: listed.filter((setting) => groupOf(setting) === name) }));
  const searching = filters.search !== "";
  const chosen = searching ? undefined : (groups.find((group) => group.name === filters.group) ?? (phone ? undefined : groups[0]));
  const rows = searching ? listed : (chosen?.settings ?? []);
  const opened = all.find((setting) => setting.name === filters.open || setting.env === filters.open);
  const pending = query.data?.restart_required ?? [];
  const clear = () => setFilters({ search: null, show: null });

  const controls = (
    <>
      <SearchInput label="Name, variable or text" value={filters.search} onChange={(search) => setFilters({ search })} />
      <Segmented label="Show" value={show} onChange={(next) => setFilters({ show: next })} options={SHOW.map((value) => ({ value, label: { all: "All", changed: "Changed", editable: "Can be changed here" }[value], count: all.length ? all.filter(SHOWN[value]).length : undefined }))} />
    </>
  );
  return (
    <Page title="Settings" toolbar={controls} flush>
      {phone && <div className="flex flex-wrap gap-2 border-b border-line p-3">{controls}</div>}
      {pending.length > 0 && (
        <Note kind="warn" icon={RotateCw} className="m-3">
          <strong className="font-medium">Restart the gateway to apply {plural(pending.length, "setting")}:</strong>{" "}
          {pending.map((name) => (
            <button key={name} type="button" className="link mr-2 font-mono text-small" onClick={() => setFilters({ open: name })}>
              {name}
            </button>
          ))}
        </Note>
      )}
      <SplitView
        label={searching ? "Settings found" : chosen ? groupTitle(chosen.name) : "Settings"}
        open={searching || Boolean(chosen)}
        back="Settings"
        onBack={() => setFilters({ group: null, search: null })}
        list={
          <SideList
            label="Groups of settings"
            rows={groups}
            rowKey={(group) => group.name}
            selected={chosen?.name ?? null}
            onSelect={(group) => setFilters({ group: group.name, search: null }, { push: phone })}
            title={(group) => groupTitle(group.name)}
            end={(group) => <span className="num text-small text-ink-3">{group.settings.length}</span>}
            loading={query.isPending}
            error={query.error}
            onRetry={() => void query.refetch()}
            empty={<NoMatch what="settings" onClear={clear} />}
          />
        }
      >
        {query.data && (
          <>
            <SplitHead title={searching ? <span className="inline-flex items-center gap-2"><Search aria-hidden className="size-4 text-ink-3" />{filters.search}</span> : chosen ? groupTitle(chosen.name) : "Settings"} sub={plural(rows.length, "setting")} />
            {rows.length ? <SettingsTable rows={rows} selected={opened?.name ?? null} onOpen={(setting) => setFilters({ open: setting.name })} /> : <NoMatch what="settings" onClear={clear} />}
          </>
        )}
      </SplitView>
      {opened && <SettingDrawer key={opened.name} setting={opened} onClose={() => setFilters({ open: null })} />}
    </Page>
  );
}

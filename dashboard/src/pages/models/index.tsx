import { useFilters } from "@/app/filters";
import { Page } from "@/app/Page";
import { useSession } from "@/app/session";
import { useShortcut } from "@/app/shortcuts";
import { Button } from "@/components/Button";
import { Tabs } from "@/components/Tabs";
import { Plus } from "lucide-react";
import { Aliases } from "./Aliases";
import { Inventory } from "./Inventory";
import { Overrides } from "./Overrides";
import { PriceActions } from "./PriceActions";
import { Pricing } from "./Pricing";

const TABS = [{ value: "models", label: "Models" }, { value: "aliases", label: "Aliases" }, { value: "overrides", label: "Overrides" }, { value: "pricing", label: "Pricing" }] as const;
const CREATE = { models: null, aliases: ["Create alias", "admin:aliases:write"], overrides: ["Create override", "admin:model-overrides:write"], pricing: ["Set price", "admin:model-pricing:write"] } as const;

export type Filters = { tab: string; search: string; provider: string; category: string; access: string; source: string; sort: string; open: string; create: string; selector: string };
export type TabProps = { filters: Filters; setFilters: (change: Partial<Record<keyof Filters, string | null>>, options?: { push?: boolean }) => void };

/** Models of all providers, names for them, who may use them, and what they cost. */
export default function ModelsPage() {
  const { can } = useSession();
  const [filters, setFilters] = useFilters({ tab: "models", search: "", provider: "", category: "", access: "", source: "", sort: "selector", open: "", create: "", selector: "" }, { tab: TABS.map((tab) => tab.value) });
  const tab = filters.tab as keyof typeof CREATE;
  const [label, scope] = CREATE[tab] ?? [null, ""];
  const create = () => setFilters({ create: "1", open: null, selector: null }, { push: true });
  const may = label !== null && can(scope);
  useShortcut("c", create, may);
  const View = { models: Inventory, aliases: Aliases, overrides: Overrides, pricing: Pricing }[tab];
  return (
    <Page
      title="Models"
      flush
      actions={
        <>
          {tab === "pricing" && <PriceActions writable={may} />}
          {may && (
            <Button look="primary" icon={Plus} shortcut="C" onClick={create}>
              {label}
            </Button>
          )}
        </>
      }
    >
      <Tabs className="px-6 phone:px-4" label="Views of models" value={tab} onChange={(next) => setFilters({ tab: next, search: null, provider: null, category: null, access: null, source: null, sort: null, open: null, create: null, selector: null })} tabs={TABS} />
      <View filters={filters as Filters} setFilters={setFilters} />
    </Page>
  );
}

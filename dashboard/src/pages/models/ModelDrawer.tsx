import { Link } from "@tanstack/react-router";
import { CircleDollarSign, MessagesSquare, ShieldCheck } from "lucide-react";
import { buttonClass } from "@/components/Button";
import { CopyAs } from "@/components/CopyAs";
import { Drawer } from "@/components/Drawer";
import { KeyValues } from "@/components/Panel";
import { Status, Tag } from "@/components/Status";
import { count, NONE } from "@/format";
import { accessOf } from "./Inventory";
import { PRICE_FIELDS, rate, rates, type Model } from "./queries";

/** The details of a model, with links that change them. */
export function ModelDrawer({ model, onClose }: { model: Model; onClose: () => void }) {
  const { metadata } = model.model;
  const access = accessOf(model);
  const rule = model.access.override;
  const caps = Object.entries(metadata.capabilities);
  const prices = PRICE_FIELDS.flatMap(([name, label, per]) => (metadata.pricing?.[name] == null ? [] : [{ label, value: <span className="num">{rate(metadata.pricing[name])} <span className="text-ink-3">per {per}</span></span> }]));
  const link = buttonClass({ size: "sm" });
  return (
    <Drawer
      title={<span className="truncate">{metadata.display_name ?? model.model.id}</span>}
      sub={model.provider_name}
      inspector
      onClose={onClose}
      footer={<CopyAs call={{ method: "POST", path: "/v1/chat/completions", body: { model: model.selector, messages: [{ role: "user", content: "Hello" }] } }} yaml={model} />}
    >
      <div className="mb-5 flex flex-wrap gap-2">
        {metadata.modes.includes("chat") && <Link to="/playground" search={{ model: model.selector } as never} className={link}><MessagesSquare aria-hidden />Try it</Link>}
        <Link to="/models" search={(rule ? { tab: "overrides", open: rule.selector } : { tab: "overrides", create: "1", selector: model.selector }) as never} className={link}><ShieldCheck aria-hidden />{rule ? "Change the override" : "Override"}</Link>
        <Link to="/models" search={{ tab: "pricing", open: model.selector } as never} className={link}><CircleDollarSign aria-hidden />Price</Link>
      </div>
      <KeyValues
        items={[
          { label: "Selector", value: model.selector, mono: true },
          { label: "Provider", value: <Link to="/providers" search={{ open: model.provider_name }} className="link">{model.provider_name}</Link> },
          { label: "Type", value: model.provider_type, mono: true },
          { label: "Family", value: metadata.family ?? NONE },
          { label: "Mode", value: metadata.modes.join(", ").replaceAll("_", " ") || NONE },
          { label: "Context window", value: metadata.context_window ? `${count(metadata.context_window)} tokens` : NONE },
          { label: "Longest answer", value: metadata.max_output_tokens ? `${count(metadata.max_output_tokens)} tokens` : NONE },
          { label: "Who may use it", value: <><Status kind={access.kind}>{access.text}</Status>{model.access.user_paths.length > 1 && <span className="ml-2">{model.access.user_paths.join(", ")}</span>}</> },
          { label: "Decided by", value: rule ? <>the override <code>{rule.selector}</code></> : <>the setting <code>MODELS_ENABLED_BY_DEFAULT</code></> },
          { label: "Calls", value: <Link to="/audit" search={{ requested_model: model.selector } as never} className="link">in the audit log</Link> },
        ]}
      />
      {caps.length > 0 && (
        <>
          <h3 className="mt-5 mb-2 font-strong">Capabilities</h3>
          <p className="flex flex-wrap gap-1.5">{caps.map(([name, on]) => <Tag key={name} kind={on ? "neutral" : "warn"}>{name.replaceAll("_", " ")}{!on && ": no"}</Tag>)}</p>
        </>
      )}
      <h3 className="mt-5 mb-2 font-strong">Price <span className="text-small font-regular text-ink-3">effective, US dollars</span></h3>
      {prices.length ? <KeyValues items={prices} /> : <p className="text-ink-2">{rates(metadata.pricing)}: calls are counted, their cost is not.</p>}
      {(metadata.pricing?.tiers ?? []).map((tier) => (
        <p key={tier.above_tokens} className="mt-2 text-small text-ink-2">Above {count(tier.above_tokens)} tokens: {rates(tier as never)}</p>
      ))}
    </Drawer>
  );
}

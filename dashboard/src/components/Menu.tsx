import { Ellipsis, type LucideIcon } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import { IconButton } from "./Button";
import { cx } from "./cx";
import { usePortalHost } from "./layer";

export type MenuItem = { label: string; icon?: LucideIcon; run: () => void; danger?: boolean; disabled?: boolean; hint?: string } | "separator";

/** A menu of actions. `children` is the trigger; without it, the ⋯ button named `label`. */
export function Menu({ label, items, children, align = "end" }: { label: string; items: MenuItem[]; children?: ReactNode; align?: "start" | "end" }) {
  const host = usePortalHost();
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild onClick={(event) => event.stopPropagation()}>
        {children ?? <IconButton label={label} icon={Ellipsis} size="sm" />}
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal container={host}>
        <DropdownMenu.Content aria-label={label} align={align} sideOffset={4} collisionPadding={8} onClick={(event) => event.stopPropagation()} className="z-50 min-w-44 rounded-lg border border-line-strong bg-surface p-1 shadow-float">
          {items.map((item, i) =>
            item === "separator" ? (
              <DropdownMenu.Separator key={i} className="-mx-1 my-1 h-px bg-line" />
            ) : (
              <DropdownMenu.Item
                key={i}
                disabled={item.disabled}
                onSelect={item.run}
                className={cx("flex h-8 cursor-pointer items-center gap-2 rounded-md px-2 outline-none data-disabled:cursor-not-allowed data-disabled:text-ink-3 data-highlighted:bg-hover phone:h-11", item.danger && "text-bad")}
              >
                {item.icon && <item.icon aria-hidden className={cx("size-4", !item.danger && "text-ink-3")} />}
                {item.label}
                {item.hint && <span className="ml-auto pl-4 text-small text-ink-3">{item.hint}</span>}
              </DropdownMenu.Item>
            ),
          )}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

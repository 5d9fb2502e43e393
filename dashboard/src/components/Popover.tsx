import { Popover as Primitive } from "radix-ui";
import type { ReactNode } from "react";
import { usePortalHost } from "./layer";

type PopoverProps = { open?: boolean; onOpenChange?: (open: boolean) => void; trigger: ReactNode; label: string; children: ReactNode; align?: "start" | "end" };

/** A small panel at its trigger, for filters and short forms. */
export function Popover({ open, onOpenChange, trigger, label, children, align = "start" }: PopoverProps) {
  const host = usePortalHost();
  return (
    <Primitive.Root open={open} onOpenChange={onOpenChange}>
      <Primitive.Trigger asChild>{trigger}</Primitive.Trigger>
      <Primitive.Portal container={host}>
        <Primitive.Content aria-label={label} align={align} sideOffset={4} collisionPadding={8} className="z-50 w-72 max-w-[calc(100vw-16px)] rounded-lg border border-line-strong bg-surface p-3 shadow-float">
          {children}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}

import { Tooltip as Primitive } from "radix-ui";
import type { ReactElement, ReactNode } from "react";
import { usePortalHost } from "./layer";

/** Explains its trigger on hover and focus. The trigger must take focus. */
export function Tooltip({ text, children }: { text: ReactNode; children: ReactElement }) {
  const host = usePortalHost();
  return (
    <Primitive.Provider delayDuration={300}>
      <Primitive.Root>
        <Primitive.Trigger asChild>{children}</Primitive.Trigger>
        <Primitive.Portal container={host}>
          <Primitive.Content sideOffset={6} collisionPadding={8} className="z-50 max-w-72 rounded-md border border-line-strong bg-surface px-2.5 py-1.5 text-small shadow-float">
            {text}
          </Primitive.Content>
        </Primitive.Portal>
      </Primitive.Root>
    </Primitive.Provider>
  );
}

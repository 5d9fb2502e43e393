import { useEffect, useEffectEvent } from "react";
import { layerOpen } from "@/components/layer";

const typing = (target: EventTarget | null) => target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/**
 * Runs on a key: one character ("c", "/"), or "mod+k" for ⌘K and Ctrl K. Plain keys are silent while typing, while a
 * dialog is open, and with modifiers.
 */
export function useShortcut(key: string, run: () => void, enabled = true) {
  const act = useEffectEvent(run);
  useEffect(() => {
    if (!enabled) return;
    const withMod = key.startsWith("mod+");
    const letter = withMod ? key.slice(4) : key;
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.altKey || event.key.toLowerCase() !== letter) return;
      if (withMod !== (event.metaKey || event.ctrlKey)) return;
      if (!withMod && (typing(event.target) || layerOpen())) return;
      event.preventDefault();
      act();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [key, enabled]);
}

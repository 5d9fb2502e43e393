import { cx } from "@/components/cx";

/** Arches beside the form; one is in the accent. */
export function Arches() {
  return (
    <div aria-hidden className="grid items-end justify-center overflow-hidden border-l border-line bg-surface phone:hidden">
      <svg viewBox="0 0 520 640" width="520" height="640" fill="none">
        {Array.from({ length: 7 }, (_, i) => {
          const radius = 240 - i * 34;
          return <path key={i} d={`M${260 - radius} 640V300a${radius} ${radius} 0 0 1 ${radius * 2} 0V640`} className={cx(i === 3 ? "stroke-accent-ink stroke-[1.5]" : "stroke-line-strong stroke-1")} />;
        })}
      </svg>
    </div>
  );
}

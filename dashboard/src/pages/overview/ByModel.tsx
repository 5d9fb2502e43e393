import { Link } from "@tanstack/react-router";
import { CircleDashed } from "lucide-react";
import { swatch } from "@/components/charts/plot";
import { money, percent, plural } from "@/format";
import { costSeries } from "./figures";
import { rangeSearch, type Range, type Usage } from "./queries";

/** Cost of each model of the chart; every figure leads to its usage. */
export function ByModel({ usage, range }: { usage: Usage; range: Range }) {
  const series = costSeries(usage);
  const sums = series.map((each) => each.values.reduce<number>((sum, value) => sum + (value ?? 0), 0));
  const total = usage.totals.total_cost ?? null;
  const cell = "h-7 px-2 first:pl-0 last:pr-0";
  const search = rangeSearch(range);
  return (
    <div className="py-3 pr-4 pl-2 narrow:px-4">
      <table className="w-full" aria-label="Cost by model">
        <thead>
          <tr className="text-small text-ink-3 [&>th]:h-6 [&>th]:px-2 [&>th]:font-medium">
            <th scope="col" className="pl-0! text-left">Model</th>
            <th scope="col" className="text-right">Cost</th>
            <th scope="col" className="pr-0! text-right">Share</th>
          </tr>
        </thead>
        <tbody>
          {series.map((each, i) => (
            <tr key={each.name}>
              <td className={`${cell} w-full max-w-0`}>
                <span className="flex items-center gap-2">
                  <span aria-hidden className={swatch(i, Boolean(each.other))} />
                  {each.other || !each.name ? (
                    <Link to="/usage" search={{ ...search, by: "model" } as never} className="truncate hover:underline">{each.name || "no model"}</Link>
                  ) : (
                    <Link to="/usage" search={{ ...search, model: each.name } as never} className="truncate hover:underline" title={each.name}>{each.name}</Link>
                  )}
                </span>
              </td>
              <td className={`${cell} num text-right`}>{money(sums[i] ?? 0)}</td>
              <td className={`${cell} num text-right text-ink-2`}>{percent(total ? (sums[i] ?? 0) / total : null)}</td>
            </tr>
          ))}
          <tr className="font-medium [&>td]:border-t [&>td]:border-line">
            <td className={cell}>Total</td>
            <td className={`${cell} num text-right`}>
              <Link to="/usage" search={search as never} className="hover:underline">{usage.totals.requests === usage.unpriced.requests && usage.totals.requests > 0 ? "unpriced" : money(total)}</Link>
            </td>
            <td className={cell} />
          </tr>
        </tbody>
      </table>
      {usage.unpriced.requests > 0 && (
        <p className="mt-1.5 flex items-center gap-1.5 text-small text-ink-3">
          <CircleDashed aria-hidden className="size-3.5" />
          <Link to="/models" search={{ tab: "pricing" } as never} className="link">{plural(usage.unpriced.models, "model")} {usage.unpriced.models === 1 ? "has" : "have"} no price</Link>
          <span className="num">· {plural(usage.unpriced.requests, "call")}</span>
        </p>
      )}
    </div>
  );
}

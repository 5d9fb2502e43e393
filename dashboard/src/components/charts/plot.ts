import type uPlot from "uplot";

/** The colour of a token now; charts are redrawn when the theme changes. */
export const token = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Colours of the series of stacked bars, largest first; "others" has its own. */
export const SERIES = ["--c1", "--c2", "--c3", "--c4", "--c5"];
export const seriesToken = (index: number, other: boolean) => (other ? "--c-other" : (SERIES[index] ?? "--c-other"));
/** Class of the swatch that belongs to a series. */
export const swatch = (index: number, other: boolean) => `swatch ${other || index >= SERIES.length ? "swatch-other" : `swatch-${index + 1}`}`;

/** An axis in the look of the guide: no ticks, horizontal grid only. */
export function axis(options: uPlot.Axis): uPlot.Axis {
  return { stroke: token("--ink-3"), font: "11px Inter", ticks: { show: false }, grid: { stroke: token("--c-grid"), width: 1 }, ...options };
}

/** Steps of a value axis: 1, 2 and 5 times a power of ten, so that the labels need no more digits; only whole ones for counts. */
export function steps(whole: boolean): number[] {
  const powers = Array.from({ length: 24 }, (_, i) => i - 9).filter((power) => !whole || power >= 0);
  return powers.flatMap((power) => [1, 2, 5].map((digit) => Number(`${digit}e${power}`)));
}

/** Every n-th period, counted from the last, so that at most `most` labels stand. */
export function labelled(times: number[], most: number): number[] {
  const step = Math.max(1, Math.ceil(times.length / most));
  return times.filter((_, i) => (times.length - 1 - i) % step === 0);
}

export type TipRow = { head: string } | { swatch?: string; name: string; value: string };

/** A tooltip that follows the cursor of a chart. */
export function tooltip(rows: (index: number) => TipRow[]): uPlot.Plugin {
  let box: HTMLDivElement;
  return {
    hooks: {
      init: (u) => {
        box = document.createElement("div");
        box.className = "tip";
        u.root.parentElement?.append(box);
      },
      destroy: () => box.remove(),
      setCursor: (u) => {
        const { idx, left = -1 } = u.cursor;
        if (idx == null || left < 0) {
          box.style.display = "none";
          return;
        }
        box.replaceChildren(...rows(idx).map(tipRow));
        box.style.display = "block";
        const x = left + u.bbox.left / devicePixelRatio;
        box.style.left = `${x > u.width * 0.6 ? x - box.offsetWidth - 12 : x + 12}px`;
        box.style.top = "4px";
      },
    },
  };
}

function tipRow(row: TipRow): HTMLElement {
  const line = document.createElement("div");
  if ("head" in row) {
    line.className = "head";
    line.textContent = row.head;
    return line;
  }
  line.className = "line";
  if (row.swatch) line.append(Object.assign(document.createElement("span"), { className: row.swatch }));
  line.append(Object.assign(document.createElement("span"), { textContent: row.name }), Object.assign(document.createElement("span"), { className: "value", textContent: row.value }));
  return line;
}

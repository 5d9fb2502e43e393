import { useEffect, useEffectEvent, useRef } from "react";
import uPlot from "uplot";
import { useTheme } from "@/app/theme";

type PlotProps = {
  /** Accessible name; the figures must also stand in text. */
  label: string;
  height: number;
  data: uPlot.AlignedData;
  /** Options without size; made again whenever data, theme or `version` change. */
  options: (width: number) => Omit<uPlot.Options, "width" | "height">;
  /** Changes when something else that the options use changes. */
  version?: unknown;
  /** Dragging over the chart chooses a range, in seconds. */
  onZoom?: (from: number, to: number) => void;
};

/** uPlot in React: redraws on data, size and theme. */
export function Plot({ label, height, data, options, version, onZoom }: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  const make = useEffectEvent(options);
  const zoom = useEffectEvent((u: uPlot) => {
    if (!onZoom || u.select.width < 4) return;
    const from = u.posToVal(u.select.left, "x");
    const to = u.posToVal(u.select.left + u.select.width, "x");
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    onZoom(from, to);
  });
  const zooms = Boolean(onZoom);

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let plot: uPlot | null = null;
    const draw = () => {
      const made = make(element.clientWidth);
      const setSelect = [...[made.hooks?.setSelect ?? []].flat(), (u: uPlot) => zoom(u)];
      plot?.destroy();
      plot = new uPlot(
        { ...made, width: element.clientWidth, height, legend: { show: false }, cursor: { y: false, points: { show: false }, ...made.cursor, drag: { x: zooms, y: false, setScale: false } }, hooks: { ...made.hooks, setSelect } },
        data,
        element,
      );
    };
    draw();
    let width = element.clientWidth;
    const observer = new ResizeObserver(() => {
      if (element.clientWidth === width) return;
      width = element.clientWidth;
      draw();
    });
    observer.observe(element);
    void document.fonts?.ready.then(() => plot && plot.redraw(false, true));
    return () => {
      observer.disconnect();
      plot?.destroy();
      plot = null;
    };
  }, [data, height, theme, version, zooms]);

  return <div ref={box} role="img" aria-label={label} className="chart" style={{ minHeight: height }} />;
}

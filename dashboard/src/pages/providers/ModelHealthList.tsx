import { Status, type StatusKind } from "@/components/Status";
import { duration, percent } from "@/format";
import type { ModelStatus } from "./queries";

const seconds = (ms: number) => `${Math.max(1, Math.ceil(ms / 1000))} s`;

function stateOf(model: ModelStatus): [StatusKind, string] {
  if (model.breaker === "open") return ["bad", model.open_for_ms ? `open, ${seconds(model.open_for_ms)}` : "open"];
  if (model.breaker === "half_open") return ["warn", "half open"];
  if (model.cooling_for_ms != null) return ["warn", `cooling, ${seconds(model.cooling_for_ms)}`];
  return ["ok", "closed"];
}

/** Breaker, first byte and errors of each model that was called. */
export function ModelHealthList({ models }: { models: readonly ModelStatus[] }) {
  return (
    <table aria-label="Models that were called" className="w-full text-small">
      <thead>
        <tr className="border-b border-line text-left text-ink-3 [&>th]:py-1 [&>th]:font-medium">
          <th scope="col">Model</th>
          <th scope="col">Breaker</th>
          <th scope="col" className="text-right">First byte</th>
          <th scope="col" className="text-right">Errors</th>
        </tr>
      </thead>
      <tbody>
        {models.slice(0, 50).map((model) => {
          const [kind, word] = stateOf(model);
          return (
            <tr key={model.model} className="border-b border-line last:border-0 [&>td]:py-1.5">
              <td className="max-w-52 truncate pr-2" title={model.last_error ? `${model.model}: ${model.last_error}` : model.model}>{model.model}</td>
              <td><Status kind={kind}>{word}</Status></td>
              <td className="num text-right">{duration(model.latency_ewma_ms)}</td>
              <td className="num text-right">{percent(model.error_rate)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

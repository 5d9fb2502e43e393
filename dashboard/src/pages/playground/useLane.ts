import { useEffect, useRef, useState } from "react";
import { buildBody, buildHeaders } from "./body";
import { EMPTY, makeCall } from "./call";
import type { Answer, Settings, Turn } from "./types";

export type LaneState = ReturnType<typeof useLane>;

/** One conversation with one model: its turns, and the call that is under way. */
export function useLane(model: string, settings: Settings) {
  const [turns, setTurns] = useState<Turn[]>([]);
  const stopper = useRef<AbortController>(null);
  useEffect(() => () => stopper.current?.abort(), []);

  const lastTurn = turns.at(-1);
  const last = turns.findLast((turn) => turn.role === "assistant")?.answer ?? null;
  const running = lastTurn?.role === "assistant" && lastTurn.answer.state === "running";

  const run = (before: Turn[]) => {
    stopper.current?.abort();
    const stop = new AbortController();
    stopper.current = stop;
    let shown: Answer = EMPTY;
    let frame = 0;
    const draw = () => {
      frame = 0;
      if (stopper.current === stop) setTurns([...before, { role: "assistant", model, answer: shown }]);
    };
    draw();
    const onChange = (answer: Answer) => {
      shown = answer;
      frame ||= requestAnimationFrame(draw);
    };
    void makeCall({ body: buildBody(model, before, settings), headers: buildHeaders(settings), signal: stop.signal, onChange }).then(() => {
      cancelAnimationFrame(frame);
      draw();
    });
  };

  return {
    turns,
    last,
    running,
    /** Sends a message, or the results of tools. */
    send: (added: Turn[]) => run([...turns, ...added]),
    /** Asks for the last answer again. */
    again: () => run(turns.slice(0, turns.findLastIndex((turn) => turn.role === "assistant"))),
    /** Takes back the last message and what followed. */
    takeBack: () => {
      stopper.current?.abort();
      stopper.current = null;
      setTurns(turns.slice(0, Math.max(0, turns.findLastIndex((turn) => turn.role === "user"))));
    },
    stop: () => stopper.current?.abort(),
    clear: () => {
      stopper.current?.abort();
      stopper.current = null;
      setTurns([]);
    },
  };
}

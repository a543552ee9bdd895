// An answer that is asked for once, and again when its question changes.

import { useEffect, useRef, useState } from "preact/hooks";
import { viewKey } from "../model/views.js";
import type { Args } from "./api.js";
import { ask, meant } from "./operations.js";

export interface Asked<T> {
  readonly value?: T;
  readonly error?: Error;
}

/**
 * The same for a question that changes many times a second, as with a slider: one is on its way at a time, and the latest is asked next. The
 * last answer stays until then.
 */
export function useLatest<T>(op: string | undefined, given: Args): Asked<T> {
  const args = op === undefined ? given : meant(op, given);
  const [answer, setAnswer] = useState<Asked<T>>({});
  const way = useRef<{ key: string; wanted: string; next: () => void }>(undefined);
  const key = op === undefined ? "" : viewKey(op, args);
  useEffect(() => {
    if (op === undefined) return;
    const go = (): void => {
      way.current = { key, wanted: key, next: go };
      ask<T>(op, args)
        .then((value) => setAnswer({ value }))
        .catch((error: unknown) => setAnswer({ error: error as Error }))
        .finally(() => {
          const asked = way.current;
          way.current = undefined;
          if (asked !== undefined && asked.wanted !== asked.key) asked.next();
        });
    };
    if (way.current === undefined) go();
    else {
      way.current.wanted = key;
      way.current.next = go;
    }
  }, [key]);
  return answer;
}

/**
 * Asks an operation that looks. Call it in a component, as a hook. For what changes all the time, see `live`.
 *
 * @param op - undefined: nothing is asked
 * @param when - asks again when this changes
 */
export function useAsked<T>(op: string | undefined, given: Args, when: string | number = 0): Asked<T> {
  const args = op === undefined ? given : meant(op, given);
  const [answer, setAnswer] = useState<Asked<T>>({});
  const key = op === undefined ? "" : viewKey(op, args);
  useEffect(() => {
    if (op === undefined) return undefined;
    const aborted = new AbortController();
    ask<T>(op, args, aborted.signal)
      .then((value) => setAnswer({ value }))
      .catch((error: unknown) => {
        if (!aborted.signal.aborted) setAnswer({ error: error as Error });
      });
    return () => aborted.abort();
  }, [key, when]);
  return answer;
}

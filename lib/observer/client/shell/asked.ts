// An answer that is asked for once, and again when its question changes.

import { useEffect, useState } from "preact/hooks";
import { viewKey } from "../model/views.js";
import type { Args } from "./api.js";
import { ask, meant } from "./operations.js";

export interface Asked<T> {
  readonly value?: T;
  readonly error?: Error;
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

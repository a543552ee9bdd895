// The answer to the exercise of docs/course/14-observe.md: which child is restarted most, and a loud end when a supervisor gives up.

import type { System } from "signalbox";
import { telemetry } from "signalbox/service";

/** A supervisor had to restart children too often, and ended. */
export class GaveUpError extends Error {
  override readonly name = "GaveUpError";
}

export interface RestartCounts {
  /**
   * The path of the child with most restarts, and their number; undefined while there was none.
   *
   * @throws {@link GaveUpError} after a supervisor has given up
   */
  worst(): readonly [path: string, count: number] | undefined;
  close(): void;
}

/** Counts the restarts of a system from now on, by the path of the child. */
export function restartCounts(system: System): RestartCounts {
  const counts = new Map<string, number>();
  let gaveUpAt: string | undefined;
  const stream = telemetry(system);
  stream.subscribe("restart", ({ path, gaveUp }) => {
    if (gaveUp) gaveUpAt ??= path;
    else counts.set(path, (counts.get(path) ?? 0) + 1);
  });
  return {
    worst: () => {
      if (gaveUpAt !== undefined) throw new GaveUpError(`the supervisor of ${gaveUpAt} gave up`);
      return [...counts].sort(([, a], [, b]) => b - a)[0];
    },
    close: () => stream.close(),
  };
}

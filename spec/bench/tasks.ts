// Many trivial tasks with bounded concurrency: what a stream of processes costs beside bare promises.

import { System, taskStream as streamOf } from "signalbox";
import type { Program } from "./program.js";

/** Tasks that run at once, on all sides. */
export const AT_ONCE = 16;

/** The work of one task, the same for all sides. */
export const trivial = async (item: number): Promise<number> => item;

export const itemsOf = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i + 1);

/** The default options: in order, with a time for each item. */
export function taskStream(count: number): Program {
  const items = itemsOf(count);
  return {
    operations: count,
    expected: (count * (count + 1)) / 2,
    run: async () => {
      const system = new System({ report: false });
      let sum = 0;
      for await (const value of streamOf(system, items, trivial, { concurrency: AT_ONCE })) sum += value;
      return { counted: sum, end: () => system.stop() };
    },
  };
}

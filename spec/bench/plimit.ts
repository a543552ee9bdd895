// A bare pool of promises: p-limit, without processes, timeouts or an end before the end.

import pLimit from "p-limit";
import type { Program } from "./program.js";
import { SIZES } from "./sizes.js";
import { AT_ONCE, itemsOf, trivial } from "./tasks.js";

/** All promises are made at once, as p-limit's users do. */
export function taskStream(count: number): Program {
  const items = itemsOf(count);
  return {
    operations: count,
    expected: (count * (count + 1)) / 2,
    run: async () => {
      const limit = pLimit(AT_ONCE);
      let sum = 0;
      for (const value of await Promise.all(items.map((item) => limit(trivial, item)))) sum += value;
      return { counted: sum };
    },
  };
}

export const programs: Readonly<Record<string, Program>> = { "task-stream": taskStream(SIZES.taskStream) };

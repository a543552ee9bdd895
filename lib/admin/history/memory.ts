// The memory of the program, where the host says.

import { optionalModule } from "../../process/node-modules.js";
import type { Overview } from "./operations.js";

/** In bytes; 0 where the host does not say. */
export function memoryOf(): Overview["memory"] {
  const usage = optionalModule("node:process")?.memoryUsage();
  return { heapUsed: usage?.heapUsed ?? 0, heapTotal: usage?.heapTotal ?? 0, rss: usage?.rss ?? 0 };
}

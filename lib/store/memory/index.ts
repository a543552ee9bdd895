/** A store in memory, with the crash semantics of a disk. */

export { type MemoryOptions, type MemorySource, memory } from "./memory.js";
export type { MemoryPort } from "./port.js";

// The pool of threads: how many, how long a job may run, how many jobs may wait.

import { availableParallelism } from "node:os";
import { type PoolDefinition, type PoolOptions, type PoolRef, pool } from "signalbox/service";
import type { Image } from "./images.js";

export type Images = typeof import("./images.js");

/** Defines the pool. @param options - differ from those of production in the demonstration and in tests */
export function imagePool(options: PoolOptions = {}): PoolDefinition<Images> {
  return pool<Images>(new URL("./images.js", import.meta.url), {
    name: "images",
    // One processor is left to the thread that answers requests.
    size: Math.max(1, availableParallelism() - 1),
    // Ten times what the slowest honest image takes.
    deadlineMs: 5_000,
    // Jobs that wait: what all threads do in the time that a caller is willing to wait.
    maxQueue: 64,
    ...options,
  });
}

/**
 * Blurs an image. The points of `image` move to the thread: the caller cannot use them any more.
 *
 * @param signal - ends the wait; the job stops at its next look, or leaves the queue
 */
export function blurred(
  images: PoolRef<Images>,
  image: Image,
  radius: number,
  signal?: AbortSignal,
): Promise<Image> {
  const options = signal === undefined ? {} : { signal };
  return images.with({ ...options, transfer: [image.points.buffer] }).run.blur(image, radius);
}

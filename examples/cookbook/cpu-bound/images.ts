// The worker file: plain functions that keep a processor busy. They run in other threads, and know nothing of the pool.

import type { PoolJob } from "signalbox/service";

/** A grey image: a byte for each point, row by row. */
export interface Image {
  readonly width: number;
  readonly height: number;
  readonly points: Uint8Array<ArrayBuffer>;
}

/** Makes each point the mean of those around it. Reports its progress, and ends early when nobody waits any more. */
export function blur(this: PoolJob, image: Image, radius: number): Image {
  const { width, height } = image;
  const points = new Uint8Array(width * height);
  for (let y = 0; y < height; y++) {
    // A busy thread gets no events, so a long loop asks now and then.
    if (y % 50 === 0) {
      if (this.aborted) throw new Error("nobody waits for this image");
      this.progress(y / height);
    }
    for (let x = 0; x < width; x++) points[y * width + x] = meanAround(image, x, y, radius);
  }
  // Moved to the caller, not copied.
  this.transfer(points.buffer);
  return { width, height, points };
}

function meanAround({ width, height, points }: Image, x: number, y: number, radius: number): number {
  let sum = 0;
  let n = 0;
  for (let j = Math.max(0, y - radius); j <= Math.min(height - 1, y + radius); j++)
    for (let i = Math.max(0, x - radius); i <= Math.min(width - 1, x + radius); i++) {
      sum += points[j * width + i] ?? 0;
      n++;
    }
  return sum / n;
}

/** The first row in which the image is not black. It has a bug: a step of 0 never ends. */
export function firstRow({ width, points }: Image, step = 1): number {
  for (let at = 0; at < points.length; at += step) if (points[at] !== 0) return Math.floor(at / width);
  return -1;
}

// What is not as it was a minute ago: figures of the system, taken every ten seconds while its history is kept.

import type { Kernel } from "../../process/kernel.js";
import { unheldTimer } from "../unheld-timer.js";
import { memoryOf } from "./memory.js";
import type { Overview } from "./operations.js";

const EVERY_MS = 10_000;
const MINUTE_MS = 60_000;

/** The figures, by what people call them. */
type Figures = Readonly<Record<string, number>>;

interface Sample {
  readonly at: number;
  readonly figures: Figures;
}

const MEGABYTE = 1_048_576;

export class Changes {
  readonly #kernel: Kernel;
  readonly #own: () => Figures;
  #samples: readonly Sample[] = [];
  #cancel: (() => void) | undefined = undefined;

  /** @param own - figures beside those of the system */
  constructor(kernel: Kernel, own: () => Figures) {
    this.#kernel = kernel;
    this.#own = own;
  }

  begin(): void {
    const { env } = this.#kernel;
    const oldest = env.now() - MINUTE_MS - EVERY_MS;
    this.#samples = [
      ...this.#samples.filter(({ at }) => at > oldest),
      { at: env.now(), figures: this.#now() },
    ];
    this.#cancel = unheldTimer(this.#kernel, EVERY_MS, () => this.begin());
  }

  end(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#samples = [];
  }

  /** Figures that differ from those of a minute ago. None within the first minute. */
  get all(): Overview["minute"] {
    const then = this.#samples.findLast(({ at }) => this.#kernel.env.now() - at >= MINUTE_MS)?.figures;
    if (then === undefined) return [];
    return Object.entries(this.#now())
      .map(([what, now]) => ({ what, before: then[what] ?? 0, now }))
      .filter(({ before, now }) => before !== now);
  }

  #now(): Figures {
    const { population, events } = this.#kernel;
    const { deadLetters } = events;
    const heap = Math.round(memoryOf().heapUsed / MEGABYTE);
    return { processes: population, "dead letters": deadLetters, "heap, in MB": heap, ...this.#own() };
  }
}

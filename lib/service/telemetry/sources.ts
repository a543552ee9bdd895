// Values that are read on demand: waiting or running work, the state of a component. An object that has such values registers once,
// when it is made, even if its values are never read. A source is held weakly: it goes with its owner.

import type { Kernel } from "../../process/kernel.js";
import type { Instrument } from "./instruments.js";

/** Takes one value. Values of the same series, from different sources, are added up. */
export type TakeGauge = (instrument: Instrument, value: number, ...labels: readonly string[]) => void;

/** Something that has values to read. */
export interface GaugeSource {
  gauges(take: TakeGauge): void;
}

/** References that are kept before the first look for those that have lost their owner. */
const FIRST_SWEEP = 64;

class Sources {
  #refs = new Set<WeakRef<GaugeSource>>();
  #sweepAt = FIRST_SWEEP;

  add(source: GaugeSource): void {
    if (this.#refs.size >= this.#sweepAt) {
      for (const ref of this.#refs) if (ref.deref() === undefined) this.#refs.delete(ref);
      this.#sweepAt = Math.max(FIRST_SWEEP, this.#refs.size * 2);
    }
    this.#refs.add(new WeakRef(source));
  }

  read(take: TakeGauge): void {
    for (const ref of this.#refs) ref.deref()?.gauges(take);
  }
}

const sources = new WeakMap<Kernel, Sources>();

/** Has the values of `source` read whenever the metrics of the system are read. */
export function addGauges(kernel: Kernel, source: GaugeSource): void {
  const known = sources.get(kernel) ?? new Sources();
  sources.set(kernel, known);
  known.add(source);
}

/** Reads the values of all sources of a system. */
export function readGauges(kernel: Kernel, take: TakeGauge): void {
  sources.get(kernel)?.read(take);
}

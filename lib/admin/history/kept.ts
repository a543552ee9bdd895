// The one switch of all that a system keeps only while somebody looks at it: its history, rates and spans. Off, nothing is subscribed, and
// nothing costs anything.

import type { Kernel } from "../../process/kernel.js";
import { unheldTimer } from "../unheld-timer.js";
import { decide, type Effect, type Event, INITIAL, type State } from "./kept-machine.js";

/** Begins to keep something. Returns the call that ends it. */
export type Keeping = () => () => void;

interface Part {
  readonly begin: Keeping;
  end: (() => void) | undefined;
}

export class Kept {
  readonly #kernel: Kernel;
  #state: State = INITIAL;
  readonly #parts = new Set<Part>();
  #since: number | undefined = undefined;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  get isOn(): boolean {
    return this.#state.isOn;
  }

  /** Since when, in milliseconds since 1970. Undefined while nothing is kept. */
  get since(): number | undefined {
    return this.#since;
  }

  /** Keeps everything until the returned call. Only its first call counts. */
  hold(): () => void {
    this.#step({ type: "hold" });
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#step({ type: "release", at: this.#now() });
    };
  }

  /** Somebody looks: everything is kept for 30 seconds from now. A system that has stopped keeps nothing. */
  touch(): void {
    if (!this.#kernel.stopped) this.#step({ type: "touch", at: this.#now() });
  }

  /**
   * Adds something to keep. It begins when the switch goes on, which may be now, and ends when it goes off.
   *
   * @returns ends it, and takes it away
   */
  add(begin: Keeping): () => void {
    const part: Part = { begin, end: undefined };
    this.#parts.add(part);
    if (this.isOn) part.end = part.begin();
    return () => {
      this.#parts.delete(part);
      end(part);
    };
  }

  #now(): number {
    return this.#kernel.env.now();
  }

  #step(event: Event): void {
    const [state, effects] = decide(this.#state, event);
    this.#state = state;
    for (const effect of effects) this.#perform(effect);
  }

  #perform(effect: Effect): void {
    switch (effect.type) {
      case "start":
        this.#since = this.#kernel.env.wallTime();
        for (const part of this.#parts) part.end = part.begin();
        return;
      case "stop":
        this.#since = undefined;
        for (const part of this.#parts) end(part);
        return;
      case "wake": {
        unheldTimer(this.#kernel, effect.at - this.#now(), () =>
          this.#step({ type: "due", at: this.#now() }),
        );
        return;
      }
      default:
        effect satisfies never;
    }
  }
}

function end(part: Part): void {
  part.end?.();
  part.end = undefined;
}

const all = new WeakMap<Kernel, Kept>();

/** The switch of a system. */
export function keptFor(kernel: Kernel): Kept {
  const known = all.get(kernel);
  if (known !== undefined) return known;
  const kept = new Kept(kernel);
  all.set(kernel, kept);
  return kept;
}

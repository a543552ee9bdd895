// The signals of hosts for an autoscaler, and where metrics read them. A host looks into its store for them, which takes a moment; a page
// of metrics is made at once. So a page has what the host saw last, and asks it to look again.

import type { Kernel } from "../process/kernel.js";

/** How much work waits for hosts, and how much more this host could take. */
export interface HostSignals {
  /** How much work is due now and held by no host, in the whole store: every host of the store answers the same. At most 100,000. */
  readonly due: number;
  /** For how many milliseconds the oldest work that is due has waited, by the clock of the store. 0: none is due. */
  readonly oldestDueMs: number;
  /** How much more this host could take now. 0 while it stops. */
  readonly room: number;
  /** How much this host holds. */
  readonly held: number;
}

/** What a look into the store gives. */
export type DueSignals = Pick<HostSignals, "due" | "oldestDueMs">;
/** What the memory of a host gives. */
export type PlaceSignals = Pick<HostSignals, "room" | "held">;

/** `due` never exceeds this, so that a look has a bound. */
export const MOST_DUE = 100_000;

/** Where work that is due has no order of its waits: so much of it is looked at for the oldest. */
export const LOOKED_AT = 16;

/** For how long the oldest has waited. @param since - when each became due; null: nobody knows, so it does not count */
export function oldestOf(now: number, since: readonly (number | null)[]): number {
  return Math.max(0, now - since.reduce<number>((first, one) => Math.min(first, one ?? now), now));
}

/** The signals of one host, for metrics. */
export interface SignalSource {
  /** What it hosts: `flows`, `pipelines` or `queues`. */
  readonly kind: string;
  /** The name of the host, or its label; the name of the queue. */
  readonly host: string;
  /** What it saw last. Undefined: nothing yet, or its store failed. */
  readonly seen: HostSignals | undefined;
  /** Asks the host to look. Another look that is under way is enough. */
  look(): void;
}

/** What the look for signals needs of its host. */
export interface SignalPort extends Pick<SignalSource, "kind" | "host"> {
  readonly kernel: Kernel;
  /** Looks into the store. */
  read(): Promise<HostSignals>;
  /** Has the host call `wanted`, soon. */
  ask(): void;
}

/** The signals of one host, on the pages of metrics until they are closed. */
export class SignalLooks implements SignalSource {
  readonly #port: SignalPort;
  readonly #hide: () => void;
  #seen: HostSignals | undefined;
  #isLooking = false;

  constructor(port: SignalPort) {
    this.#port = port;
    this.#hide = showSignals(port.kernel, this);
  }

  get kind(): string {
    return this.#port.kind;
  }

  get host(): string {
    return this.#port.host;
  }

  get seen(): HostSignals | undefined {
    return this.#seen;
  }

  look(): void {
    this.#port.ask();
  }

  /** Looks for metrics. A store that fails shows nothing: an old number would be wrong for as long as the store is out of order. */
  async wanted(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      this.#seen = await this.#port.read();
    } catch {
      this.#seen = undefined;
    } finally {
      this.#isLooking = false;
    }
  }

  close(): void {
    this.#hide();
  }
}

const sources = new WeakMap<Kernel, Set<SignalSource>>();

/** Has metrics read the signals of a host, until the call that is returned. */
function showSignals(kernel: Kernel, source: SignalSource): () => void {
  const shown = sources.get(kernel) ?? new Set();
  sources.set(kernel, shown);
  shown.add(source);
  return () => void shown.delete(source);
}

/** The hosts of a system whose signals are shown. */
export function shownSignals(kernel: Kernel): Iterable<SignalSource> {
  return sources.get(kernel) ?? [];
}

// The signals of a flow host: what is due in its store, and what it holds. See HostSignals.

import { type HostSignals, MOST_DUE, type SignalSource, showSignals } from "../../host/signals.js";
import type { Kernel } from "../../process/kernel.js";
import type { Store } from "../../store/index.js";
import { flows } from "../journal/tables.js";

/** Flows that are due at once are in the order of their starts, not of their waits: so many are looked at for the oldest. */
const LOOKED_AT = 16;

/** What no host holds and is due, by the index of due flows. */
export async function dueFlows(
  store: Pick<Store, "count" | "scan">,
  now: number,
): Promise<Pick<HostSignals, "due" | "oldestDueMs">> {
  const free = { index: "due", where: { holder: null } };
  const [due, atOnce, timed] = await Promise.all([
    store.count(flows, { ...free, below: now + 1, atMost: MOST_DUE }),
    store.scan(flows, { ...free, prefix: [0], limit: LOOKED_AT }),
    store.scan(flows, { ...free, from: 1, below: now + 1, limit: 1 }),
  ]);
  const since = [...atOnce.map(({ updated }) => updated), ...timed.map((row) => row.due as number)];
  return { due, oldestDueMs: Math.max(0, now - Math.min(now, ...since)) };
}

/** What signals need of their host. */
export interface SignalPort {
  readonly kernel: Kernel;
  readonly store: Pick<Store, "count" | "scan">;
  /** The name of the host, if it has one. */
  readonly name: string | undefined;
  now(): number;
  /** What the host has in memory, and what more it could take. */
  places(): Pick<HostSignals, "room" | "held">;
  /** Has the process of the host call `wanted`. */
  ask(): void;
}

export class FlowSignals implements SignalSource {
  readonly kind = "flows";
  readonly host: string;
  readonly #port: SignalPort;
  readonly #hide: () => void;
  #seen: HostSignals | undefined;
  #isLooking = false;

  constructor(port: SignalPort) {
    this.#port = port;
    this.host = port.name ?? "flow host";
    this.#hide = showSignals(port.kernel, this);
  }

  get seen(): HostSignals | undefined {
    return this.#seen;
  }

  async read(): Promise<HostSignals> {
    const { store } = this.#port;
    const found = await dueFlows(store, this.#port.now());
    return { ...found, ...this.#port.places() };
  }

  look(): void {
    this.#port.ask();
  }

  /** Looks for metrics. A store that fails shows nothing: an old number would be wrong for as long as the store is out of order. */
  async wanted(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      this.#seen = await this.read();
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

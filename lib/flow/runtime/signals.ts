// The signals of a flow host: what is due in its store, and what it holds. See HostSignals.

import { type HostSignals, MOST_DUE, type SignalSource, showSignals } from "../../host/signals.js";
import type { Store } from "../../store/index.js";
import { flows } from "../journal/tables.js";
import type { HostState } from "./host-state.js";

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

export class FlowSignals implements SignalSource {
  readonly kind = "flows";
  readonly #host: HostState;
  readonly #hide: () => void;
  #seen: HostSignals | undefined;
  #isLooking = false;

  constructor(host: HostState) {
    this.#host = host;
    this.#hide = showSignals(host.kernel, this);
  }

  get host(): string {
    return this.#host.settings.name ?? "flow host";
  }

  get seen(): HostSignals | undefined {
    return this.#seen;
  }

  async read(): Promise<HostSignals> {
    const { store, acquisition, loaded, isStopping } = this.#host;
    const found = await dueFlows(store, this.#host.now());
    return { ...found, room: isStopping ? 0 : acquisition.room, held: loaded.size };
  }

  look(): void {
    this.#host.ctx.self.process?.deliver({ type: "signals wanted" }, undefined);
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

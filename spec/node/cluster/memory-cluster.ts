// A cluster in memory: nodes over a network of frames that a test cuts, on a clock that it moves.

import { System } from "signalbox";
import { type ClusterNode, type ClusterOptions, joinCluster } from "signalbox/nodes";
import { testClock } from "signalbox/testing";
import { FrameNetwork } from "../session/frame-network.js";

export class MemoryCluster {
  readonly clock: ReturnType<typeof testClock> = testClock();
  readonly network: FrameNetwork = new FrameNetwork();
  readonly #systems: System[] = [];

  /** Joins a new node. The others see it at the next `meet`. */
  async join(name: string, options: ClusterOptions = {}): Promise<ClusterNode> {
    const system = new System({ name, environment: this.clock.environment, report: false });
    this.#systems.push(system);
    return joinCluster(system, this.network.carrier(system.node), { settleMs: 0, ...options });
  }

  /** All see all. */
  async meet(): Promise<void> {
    this.network.meet();
    await this.settle();
  }

  /** Frames lead to frames, and wake nobody whom the clock knows. */
  async settle(forMs = 0): Promise<void> {
    await this.clock.advance(forMs);
    for (let i = 0; i < 12; i++) await this.clock.advance(5);
  }

  async stop(): Promise<void> {
    this.network.heal();
    for (const system of this.#systems.splice(0)) if (!system.stopped) await this.clock.until(system.stop());
  }
}

// Keeps the write-ahead log small: carries out what wal-machine.ts decides.

import type { DriverHost } from "../driver.js";
import type { EnginePort } from "./engine-port.js";
import {
  decide,
  initial,
  type WalEffect,
  type WalEvent,
  type WalLimits,
  type WalState,
} from "./wal-machine.js";

export class Wal {
  readonly #path: string;
  readonly #port: EnginePort;
  readonly #host: Pick<DriverHost, "after" | "warn">;
  #state: WalState;
  #cancel: () => void = () => undefined;
  #stopped = false;

  constructor(path: string, port: EnginePort, host: Pick<DriverHost, "after" | "warn">, limits: WalLimits) {
    this.#path = path;
    this.#port = port;
    this.#host = host;
    this.#state = initial(limits);
  }

  /** A transaction was committed, and the log has this size. */
  written(walBytes: number): void {
    this.#event({ type: "written", walBytes });
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  #event(event: WalEvent): void {
    if (this.#stopped) return;
    const [state, effects] = decide(this.#state, event);
    this.#state = state;
    for (const effect of effects) this.#carryOut(effect);
  }

  #carryOut(effect: WalEffect): void {
    switch (effect.type) {
      case "wait":
        this.#cancel = this.#host.after(effect.ms, () => this.#event({ type: "waited" }));
        return;
      case "empty":
        this.#port.ask({ type: "checkpoint" }).then(
          (done) => this.#event({ type: "emptied", ...done }),
          // The next write meets the same error, and has a caller to tell.
          () => this.#event({ type: "failed" }),
        );
        return;
      case "warn":
        this.#host.warn({
          code: "sqlite-wal",
          message: `${this.#path}-wal has ${effect.walBytes} bytes and cannot be emptied: a reader is in the way. Close what reads the file`,
        });
        return;
      default:
        effect satisfies never;
    }
  }
}

// Keeps the write-ahead log small: carries out what wal-machine.ts decides.

import { EffectLoop } from "../../process/effect-loop.js";
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
  readonly #loop: EffectLoop<WalState, WalEvent, WalEffect>;
  #cancel: () => void = () => undefined;
  #stopped = false;

  constructor(path: string, port: EnginePort, host: Pick<DriverHost, "after" | "warn">, limits: WalLimits) {
    this.#path = path;
    this.#port = port;
    this.#host = host;
    this.#loop = new EffectLoop(initial(limits), decide, (effect: WalEffect) => this.#carryOut(effect));
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
    if (!this.#stopped) this.#loop.dispatch(event);
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

// The way to a source of leases, which a scenario cuts: a request waits for the end of the cut, or for its caller.

import type { LeaseSource } from "signalbox/nodes";

export class Way implements LeaseSource {
  readonly label = "store";
  readonly ttlMs = 2_000;
  #cut: { readonly over: Promise<void>; readonly heal: () => void } | undefined;
  #source!: LeaseSource;

  find: LeaseSource["find"] = (...given) => this.#source.find(...given);
  watch: NonNullable<LeaseSource["watch"]> = (...given) =>
    this.#source.watch?.(...given) ?? (() => undefined);
  acquire: LeaseSource["acquire"] = (...given) => this.#go(() => this.#source.acquire(...given));
  renew: LeaseSource["renew"] = (...given) => this.#go(() => this.#source.renew(...given));
  release: LeaseSource["release"] = (...given) => this.#go(() => this.#source.release(...given));

  /** The source at its end. */
  to(source: LeaseSource): this {
    this.#source = source;
    return this;
  }

  cut(): void {
    let heal = (): void => undefined;
    const over = new Promise<void>((done) => (heal = done));
    this.#cut ??= { over, heal };
  }

  heal(): void {
    this.#cut?.heal();
    this.#cut = undefined;
  }

  async #go<T>(ask: () => Promise<T>): Promise<T> {
    // A request that a cut has held is lost.
    if (this.#cut !== undefined) {
      await this.#cut.over;
      throw new Error("the connection was lost");
    }
    return ask();
  }
}

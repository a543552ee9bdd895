// Evidence of crashes in a simulation: a place in memory that outlives the machine of its host, and a last word for it.

import type { EvidenceFile, EvidenceFolder, EvidencePlace } from "../../../lib/host/index.js";

export class SimulatedEvidence implements EvidencePlace {
  readonly #files = new Map<EvidenceFile, string>();
  #life = 0;

  open(): EvidenceFolder {
    const files = this.#files;
    const life = ++this.#life;
    // The program has ended: whatever the simulation still runs of it writes nothing.
    const alive = (): boolean => life === this.#life;
    return {
      read: (file) => files.get(file),
      write: (file, text) => void (alive() && files.set(file, text)),
      remove: (file) => void (alive() && files.delete(file)),
      note: (bytes) => void (alive() && files.set("now", new TextDecoder().decode(bytes))),
      pathOf: () => undefined,
      close: () => undefined,
    };
  }

  /** The program is about to end. @param by - in whose name the code runs that ends it, if there is a last word */
  ended(by?: { readonly name: string; readonly kind: "exit" | "uncaught" | "spin" }): void {
    this.#life++;
    if (by !== undefined) this.#files.set("end", JSON.stringify({ subject: by.name, kind: by.kind, at: 0 }));
  }
}

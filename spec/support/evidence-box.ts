// A place for evidence that outlives the hosts of a simulated program: the test says how a life ended.

import type { EvidenceFile, EvidenceFolder, EvidencePlace } from "../../lib/host/index.js";

export class EvidenceBox implements EvidencePlace {
  readonly #files = new Map<EvidenceFile, string>();
  #last: { isOver: boolean } = { isOver: true };

  open(): EvidenceFolder {
    const life = { isOver: false };
    this.#last = life;
    const write = (file: EvidenceFile, text: string): void => {
      if (!life.isOver) this.#files.set(file, text);
    };
    return {
      read: (file) => this.#files.get(file),
      write,
      remove: (file) => void (life.isOver || this.#files.delete(file)),
      note: (bytes) => write("now", new TextDecoder().decode(bytes)),
      pathOf: () => undefined,
      close: (isEmpty) => {
        if (isEmpty && !life.isOver) this.#files.clear();
      },
    };
  }

  /** The life ends now: without a word, or because code of this subject called `process.exit`. */
  end(subject?: string): void {
    if (subject !== undefined) this.#files.set("end", JSON.stringify({ subject, kind: "exit", at: 0 }));
    this.#last.isOver = true;
  }
}

// A place for evidence that outlives the hosts of a simulated program: the test says how a life ended.

import type { EvidenceFile, EvidenceFolder, EvidenceMark, EvidencePlace } from "../../lib/host/index.js";

/** The last word of a program: whose code ended it, and how. Without a subject it has no name. */
export type LastWord = Pick<EvidenceMark, "kind"> & Partial<Pick<EvidenceMark, "subject">>;

export class EvidenceBox implements EvidencePlace {
  readonly #files = new Map<EvidenceFile, string>();
  #last: { isOver: boolean } = { isOver: true };

  open(): EvidenceFolder {
    const life = { isOver: false };
    // Whatever still runs of an earlier life writes nothing.
    this.#last.isOver = true;
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

  /** What the program has written. */
  read(file: EvidenceFile): string | undefined {
    return this.#files.get(file);
  }

  /** The life ends now: without a word, or with this one. A subject alone has called `process.exit`. */
  end(by?: string | LastWord): void {
    const word = typeof by === "string" ? { subject: by, kind: "exit" } : by;
    if (word !== undefined) this.#files.set("end", JSON.stringify({ ...word, at: 0 }));
    this.#last.isOver = true;
  }
}

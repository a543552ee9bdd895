// What the spout of a word count does when: it emits as fast as lines are acked, for a time to get warm and a time that is
// measured; then it emits one line after the other; in the end it has the words written, and leaves what it has seen in
// files. The spout in Java (../java) does the same.

import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LINES } from "./lines.mjs";

/** The id of the tuple after which all counts are written. */
const LAST = -1;

export class Pace {
  #folder;
  #warmMs;
  #loadMs;
  #lonely;
  #atOnce;
  /** load, then drain until no line is in flight, then alone, then over. */
  #phase = "load";
  #began;
  #from;
  #to;
  /** When each line in flight was emitted. */
  #inFlight = new Map();
  #emitted = 0;
  #acked = 0;
  #failed = 0;
  #strange = 0;
  /** Times from an emit to its ack, of lines that were alone in the topology. */
  #aloneMs = [];

  /**
   * @param env.FIGURES_FOLDER - for the files
   * @param env.FIGURES_WARM_MS - from the first ack to the beginning of what is measured
   * @param env.FIGURES_LOAD_MS - how long it is measured
   * @param env.FIGURES_LONELY - the number of lines that are emitted alone
   * @param env.FIGURES_AT_ONCE - the lines that are emitted by one call of `next`
   */
  constructor(env) {
    this.#folder = env.FIGURES_FOLDER;
    this.#warmMs = Number(env.FIGURES_WARM_MS);
    this.#loadMs = Number(env.FIGURES_LOAD_MS);
    this.#lonely = Number(env.FIGURES_LONELY);
    this.#atOnce = Number(env.FIGURES_AT_ONCE);
  }

  next(emit) {
    if (this.#phase === "load") {
      for (let n = 0; n < this.#atOnce; n++) this.#emit(emit);
    } else if (this.#phase !== "over" && this.#inFlight.size === 0) {
      this.#phase = this.#aloneMs.length < this.#lonely ? "alone" : "over";
      if (this.#phase === "alone") this.#emit(emit);
      else emit.end({ word: "" }, { id: LAST });
    }
  }

  #emit(emit) {
    const id = this.#emitted++;
    this.#inFlight.set(id, performance.now());
    emit.lines({ text: LINES[id % LINES.length] }, { id });
  }

  ack(id) {
    if (id === LAST) return this.#leave();
    const now = performance.now();
    const since = this.#inFlight.get(id);
    if (since === undefined) this.#strange++;
    this.#inFlight.delete(id);
    const acked = ++this.#acked;
    if (this.#phase === "load") {
      this.#began ??= now;
      if (this.#from === undefined) {
        if (now >= this.#began + this.#warmMs) this.#from = this.#note("from", { acked, ms: now });
      } else if (now >= this.#from.ms + this.#loadMs) {
        this.#to = this.#note("to", { acked, ms: now });
        this.#phase = "drain";
      }
    } else if (this.#phase === "alone") {
      this.#aloneMs.push(now - since);
    }
  }

  fail() {
    this.#failed++;
  }

  /** A file that the program which measures waits for. */
  #note(name, seen) {
    writeFileSync(join(this.#folder, name), "");
    return seen;
  }

  #leave() {
    const seen = {
      emitted: this.#emitted,
      acked: this.#acked,
      failed: this.#failed,
      strange: this.#strange,
      from: this.#from,
      to: this.#to,
      aloneMs: this.#aloneMs,
    };
    writeFileSync(join(this.#folder, "seen.part"), JSON.stringify(seen));
    renameSync(join(this.#folder, "seen.part"), join(this.#folder, "seen"));
  }
}

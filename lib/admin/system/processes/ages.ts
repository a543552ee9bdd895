// When processes were spawned, by their numbers: these rise, so it is enough to note the newest number now and then. No process
// has a field for its age.

/** Most notes that are kept. */
const NOTES = 1_024;
/** When they are more, those go whose time differs from the one before by less than one part of so many of their age. */
const EXACT = 50;

export class Ages {
  #ids: number[] = [];
  #times: number[] = [];

  /** Notes the number of the newest process. */
  note(newest: number, now: number): void {
    if (newest === this.#ids.at(-1)) return;
    this.#ids.push(newest);
    this.#times.push(now);
    if (this.#ids.length > NOTES) this.#thin(now);
  }

  /** The older a note, the farther may the next one be. The first one stays: it tells which processes are older than all notes. */
  #thin(now: number): void {
    let last = Number.NEGATIVE_INFINITY;
    const stay = this.#times.map((time) => {
      if (time - last < (now - time) / EXACT) return false;
      last = time;
      return true;
    });
    this.#ids = this.#ids.filter((_, i) => stay[i]);
    this.#times = this.#times.filter((_, i) => stay[i]);
    // A clock of many years: about fifty notes for each doubling of the age.
    if (this.#ids.length > NOTES) {
      this.#ids.splice(1, 1);
      this.#times.splice(1, 1);
    }
  }

  /** How old a process is at least. Undefined: it is older than the first note. */
  ageOf(id: number, now: number): number | undefined {
    const ids = this.#ids;
    if (ids.length === 0 || id <= (ids[0] as number)) return undefined;
    let low = 1;
    let high = ids.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ids[middle] as number) < id) low = middle + 1;
      else high = middle;
    }
    return low === ids.length ? 0 : now - (this.#times[low] as number);
  }
}

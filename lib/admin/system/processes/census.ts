// The figures of all processes at one walk, in columns, and the rates between two walks. 100,000 processes take 2 MB, and no object for each.

/** The figures of one walk, the newest process first. */
export class Census {
  #ids = new Float64Array(0);
  #handled = new Float64Array(0);
  #depths = new Uint32Array(0);
  #size = 0;
  /** Where slices begin, and when: there are as many as the walk has slices. */
  #starts: number[] = [];
  #times: number[] = [];

  /** Begins anew, with room for so many. */
  reset(room: number): void {
    this.#size = 0;
    this.#starts = [];
    this.#times = [];
    if (room <= this.#ids.length && this.#ids.length <= SPARE * room + LEAST) return;
    const rows = room + (room >> 3) + LEAST;
    this.#ids = new Float64Array(rows);
    this.#handled = new Float64Array(rows);
    this.#depths = new Uint32Array(rows);
  }

  get size(): number {
    return this.#size;
  }

  /** What follows is of this time, in monotonic milliseconds. */
  slice(now: number): void {
    this.#starts.push(this.#size);
    this.#times.push(now);
  }

  /** Adds a process. Those beyond the room are not kept: their rates are unknown next time. */
  add(id: number, handled: number, depth: number): void {
    if (this.#size === this.#ids.length) return;
    this.#ids[this.#size] = id;
    this.#handled[this.#size] = handled;
    this.#depths[this.#size] = depth;
    this.#size++;
  }

  /** A reader that is asked for falling numbers. */
  reader(): CensusReader {
    const [ids, handled, depths] = [this.#ids, this.#handled, this.#depths];
    const [starts, times, size] = [this.#starts, this.#times, this.#size];
    let at = 0;
    let slice = 0;
    return {
      find: (id) => {
        while (at < size && (ids[at] as number) > id) at++;
        if (at === size || ids[at] !== id) return false;
        while (slice + 1 < starts.length && (starts[slice + 1] as number) <= at) slice++;
        return true;
      },
      handled: () => handled[at] as number,
      depth: () => depths[at] as number,
      time: () => times[slice] as number,
    };
  }
}

/** Room of the columns that a smaller system leaves unused, in times of what it needs. */
const SPARE = 4;
const LEAST = 256;

/** Reads the figures of processes one after the other, the newest first. */
export interface CensusReader {
  /** Goes to a process: a smaller number at each call. False: it is not in the census. */
  find(id: number): boolean;
  /** The figures of the process that was found. */
  handled(): number;
  depth(): number;
  /** When they were taken. */
  time(): number;
}

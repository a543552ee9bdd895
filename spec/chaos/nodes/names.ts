// The account of names in a kill test, kept outside of the nodes: whoever holds a name writes under its token, and a write is accepted
// unless a larger token was seen. A token of two holders, or a name that has no holder or several in the end, is wrong.

/** A name, as one node believes to hold it. */
export interface HeldName {
  readonly name: string;
  readonly token: number;
}

/** The names that all nodes contend for. */
export const NAMES = ["billing", "poller"] as const;

export class NamesLedger {
  readonly wrong: string[] = [];
  #accepted = 0;
  #refused = 0;
  /** By name and token: the only one that may write so. */
  readonly #writers = new Map<string, string>();
  readonly #largest = new Map<string, number>();

  /** Writes that were accepted, and those of old holders that were refused. */
  get counts(): { readonly accepted: number; readonly refused: number; readonly holders: number } {
    return { accepted: this.#accepted, refused: this.#refused, holders: this.#writers.size };
  }

  /** @param by - a node, and which of its processes: one that was killed and started again is another holder */
  wrote(by: string, { name, token }: HeldName): void {
    const held = `${name} with token ${token}`;
    const writer = this.#writers.get(held);
    if (writer === undefined) this.#writers.set(held, by);
    else if (writer !== by) this.wrong.push(`${held} was held by ${writer} and by ${by}`);
    const largest = this.#largest.get(name) ?? 0;
    if (token < largest) this.#refused++;
    else {
      this.#accepted++;
      this.#largest.set(name, token);
    }
  }

  /** What is wrong when all is whole and each node has said what it holds. */
  inTheEnd(held: readonly HeldName[]): string[] {
    return NAMES.flatMap((name) => {
      const tokens = held.filter((one) => one.name === name).map(({ token }) => token);
      if (tokens.length !== 1) return [`${name} is held by ${tokens.length} nodes in the end`];
      const largest = this.#largest.get(name) ?? 0;
      return (tokens[0] as number) < largest ? [`${name} is held with ${tokens[0]} after ${largest}`] : [];
    });
  }
}

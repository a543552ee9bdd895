// The definitions of a durable host. Which version of a definition runs an execution: its own, or one that says that it goes on with it. Pure.

/** A definition with its versions. */
export interface Versioned {
  readonly name: string;
  readonly version: number;
  /** Versions whose executions in flight it goes on with. Absent: none. */
  readonly compatibleWith?: readonly number[];
}

/** Definitions by name and version. */
export class Versions<D extends Versioned> {
  readonly #byName = new Map<string, Map<number, D>>();

  /** False: there is one of its name and version. */
  add(one: D): boolean {
    const versions = this.#byName.get(one.name) ?? new Map<number, D>();
    if (versions.has(one.version)) return false;
    versions.set(one.version, one);
    this.#byName.set(one.name, versions);
    return true;
  }

  /** Whether there is a definition of this name, in any version. */
  has(name: string): boolean {
    return this.#byName.has(name);
  }

  /** The definition of this name and version, or the newest. */
  get(name: string, version?: number): D | undefined {
    const versions = this.#byName.get(name);
    return versions?.get(version ?? Math.max(...versions.keys()));
  }

  /** The definition that an execution of this version runs by: its own, else the newest that goes on with it. */
  running(name: string, version: number): D | undefined {
    const own = this.get(name, version);
    if (own !== undefined) return own;
    const others = [...(this.#byName.get(name)?.values() ?? [])];
    return others
      .filter(({ compatibleWith }) => compatibleWith?.includes(version))
      .sort((a, b) => b.version - a.version)[0];
  }

  get names(): string[] {
    return [...this.#byName.keys()];
  }

  get all(): D[] {
    return [...this.#byName.values()].flatMap((versions) => [...versions.values()]);
  }

  /** Names, each with its version. */
  get ids(): string[] {
    return this.all.map(({ name, version }) => `${name} ${version}`);
  }

  /** For people: names, with versions other than 1. */
  get labels(): string[] {
    return this.all.map(({ name, version }) => labelOf(name, version));
  }
}

/** A definition, for people. */
export function labelOf(name: string, version: number | undefined): string {
  return version === undefined || version === 1 ? name : `${name} of version ${version}`;
}

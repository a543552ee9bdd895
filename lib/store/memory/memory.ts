// A store in memory, for tests and for what need not outlive the program. Its content outlives its handles, and it loses power as a
// disk does.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { flag, text } from "../../process/options.js";
import type { DriverHost } from "../driver.js";
import { type StoreLimits, storeLimits } from "../limits.js";
import type { Schema } from "../schema.js";
import type { Store, StoreContext, StoreSource } from "../store.js";
import { sharedSource } from "../store-source.js";
import { MemoryData } from "./memory-data.js";
import { MemoryDriver } from "./memory-driver.js";
import type { MemoryPort } from "./port.js";

/** Options of {@link memory}. */
export interface MemoryOptions {
  /** For people. Default `memory`. */
  readonly label?: string;
  /**
   * Whether each `open` is a host of its own, as the clients of one PostgreSQL server are: claims expire unless their host renews
   * them. Default false: one process has the store, and its claims hold until it ends.
   */
  readonly shared?: boolean;
  /** The clock of the store, in milliseconds since 1970. Default: the clock of the system that opens it first. */
  readonly clock?: () => number;
  /** Limits that differ from {@link STORE_DEFAULTS}. */
  readonly limits?: Partial<StoreLimits>;
  /** Connects the store to a simulator. */
  readonly port?: MemoryPort;
}

/** What {@link memory} returns. */
export interface MemorySource extends StoreSource {
  /**
   * A power loss. Groups that are on their way to the disk are there as a whole or not at all; when one is lost, so are those after
   * it. A store of one process is closed, and its claims are gone: open it again. The hosts of a shared one stay connected, and
   * commit again what was lost.
   *
   * @returns how many groups were lost
   */
  lose(): number;
}

/**
 * A store in memory. The content belongs to the source that this returns: closed and opened again, the source has it still.
 *
 * @throws OptionError
 * @example
 * const source = memory({ label: "shop" });
 * console.log(source.label);
 */
export function memory(options: MemoryOptions = {}): MemorySource {
  only("", options, ["label", "shared", "clock", "limits", "port"]);
  const { label = "memory", shared = false, clock } = options;
  if (clock !== undefined && typeof clock !== "function")
    throw new OptionError("clock", clock, "a function that returns milliseconds since 1970");
  storeLimits(options.limits);
  return new Memory({ ...options, label: text("label", label), shared: flag("shared", shared) });
}

class Memory implements MemorySource {
  readonly label: string;
  readonly #options: MemoryOptions;
  readonly #data: MemoryData;
  #first: StoreContext | undefined;
  /** The source that all handles of a machine share, by the machine. */
  readonly #machines = new Map<unknown, StoreSource>();

  constructor(options: MemoryOptions & { readonly label: string }) {
    this.label = options.label;
    this.#options = options;
    this.#data = new MemoryData(
      options.label,
      options.clock ?? (() => (this.#first as StoreContext).environment.wallTime()),
    );
  }

  open(schemas: readonly Schema[], context: StoreContext): Promise<Store> {
    this.#first ??= context;
    const { port, shared } = this.#options;
    if (shared === true) return this.#source().open(schemas, context);
    const machine = port?.machine?.(context.environment);
    const source = this.#machines.get(machine) ?? this.#source();
    this.#machines.set(machine, source);
    return source.open(schemas, context);
  }

  lose(): number {
    const data = this.#data;
    const { port, shared } = this.#options;
    port?.touched("write");
    let lost = 0;
    // Groups that reach the disk at this moment notify no handle: the handles are closed.
    if (shared !== true) data.hosts.clear();
    for (const flight of data.flights) {
      // It is on the disk, and its answer on the way.
      if (flight.fate !== undefined) continue;
      // A group is on the disk as a whole or not at all: a log has a checksum for each. Behind a hole in it there is nothing. A server
      // answers as soon as a group is on its disk, so groups on their way there are lost.
      if (shared !== true && lost === 0 && port?.choose(2, "store:power loss") === 0)
        flight.fate = data.commit(flight);
      else {
        flight.fate = "lost";
        lost++;
      }
    }
    data.flights.clear();
    data.generation++;
    if (shared === true) for (const host of data.hosts) host.again();
    else {
      data.removeAll();
      this.#machines.clear();
    }
    return lost;
  }

  #source(): StoreSource {
    const { limits, port, shared = false } = this.#options;
    return sharedSource({
      label: this.label,
      ...(limits && { limits }),
      connect: async (host: DriverHost) => new MemoryDriver(this.#data, host, shared, port),
    });
  }
}

// A store of a simulation: commits are requests to its disk or server, and the oracle decides what becomes of them.

import { only } from "../../process/known-options.js";
import { flag } from "../../process/options.js";
import { type MemoryPort, type MemorySource, memory } from "../../store/memory/index.js";
import type { World } from "../simulator/world.js";
import { DiskFault } from "./disk.js";
import { SimulatedIo, use } from "./io.js";

/** Options of a simulated store. */
export interface SimulatedStoreOptions {
  /** For people. Default `store`. */
  readonly label?: string;
  /**
   * Whether it has a server that several hosts share: each `open` is a host of its own, and claims expire. Default false: one
   * process has it for itself.
   */
  readonly shared?: boolean;
  /** The failures that a commit may have, while faults are allowed. By default none. */
  readonly failures?: {
    /** Commits may fail with `ENOSPC`, and with `EIO`. */
    readonly write?: boolean;
    /** The answer to a commit may be lost, so that the store has to find out what became of it. */
    readonly answer?: boolean;
    /** How many commits fail at most. Default 1. */
    readonly atMost?: number;
  };
}

/** @throws OptionError */
export function checkStore(options: SimulatedStoreOptions): void {
  only("store", options, ["label", "shared", "failures"]);
  if (options.failures !== undefined) only("store.failures", options.failures, ["write", "answer", "atMost"]);
}

/** @throws OptionError */
export function storeOf(world: World, options: SimulatedStoreOptions = {}, name = "store"): MemorySource {
  checkStore(options);
  const { label = name, shared = false, failures = {} } = options;
  const key = `store:${label}`;
  const io = new SimulatedIo(
    world,
    label,
    (_what: string, effect: () => unknown) => effect(),
    {
      key: () => key,
      ...(failures.atMost !== undefined && { atMost: failures.atMost }),
      ...(failures.write === true && {
        refusals: [new DiskFault("ENOSPC", "write", label), new DiskFault("EIO", "fsync", label)],
      }),
      ...(failures.answer === true && { failures: [new Error("the connection was reset")] }),
    },
    // A commit holds the sets of many processes: it does not end with the one in whose turn it began.
    true,
  );
  const port: MemoryPort = {
    perform: (what, effect) => io.call([what, effect]) as Promise<never>,
    choose: (n, text) => world.oracle.draw(n, text),
    touched: (how) => use(world, key, how),
    machine: (environment) => world.systems.machines.get(environment),
  };
  return memory({ label, shared: flag("store.shared", shared), clock: () => world.time.now, port });
}

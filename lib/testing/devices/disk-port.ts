// A disk of a simulation: the oracle decides what fails and what a power loss takes.

import { only } from "../../process/known-options.js";
import type { World } from "../simulator/world.js";
import { DISK_OPTIONS, type DiskOptions, type DiskPort, SimulatedDisk } from "./disk.js";

/** Options of a disk, and which of its operations may fail; by default none may. */
export interface SimulatedDiskOptions extends DiskOptions {
  /** The operations that may fail, while faults are allowed. */
  readonly failures?: NonNullable<DiskPort["failures"]>;
}

/**
 * @param name - of the disk in reports
 * @throws OptionError
 */
export function diskOf(world: World, options: SimulatedDiskOptions = {}, name = "disk"): SimulatedDisk {
  const { recorder } = world.options;
  only("disk", options, ["failures", ...DISK_OPTIONS]);
  const { failures = {}, ...rest } = options;
  only("disk.failures", failures, ["read", "write", "sync"]);
  const may = (what: keyof typeof failures): boolean => failures[what] === true && world.faults.allowed;
  return new SimulatedDisk(
    {
      choose: (n, label) => world.oracle.draw(n, label),
      settle: (fn) =>
        world.gates.resume(world.code.current, "the disk", fn, recorder && { place: recorder.place() }),
      touched: (key, how) => world.footprints.touched(key, how),
      ...(recorder !== undefined && { noted: (text) => recorder.device(name, text) }),
      failures: {
        get read() {
          return may("read");
        },
        get write() {
          return may("write");
        },
        get sync() {
          return may("sync");
        },
      },
    },
    rest,
  );
}

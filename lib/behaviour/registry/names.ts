// Names of registries. In a system, a name stands for one registry at a time: errors, addresses, spans and metrics say it, and never
// the key.

import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { hasOwners, runningOwner } from "../../process/origin.js";
import { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { holdFor } from "../../process/via.js";

/** By name of the registry: the process whose code made it. Undefined: code outside of all processes did. */
type Names = Map<string, Process | undefined>;

const namesOf = new WeakMap<Kernel, Names>();

const UNNAMED = "registry";

/**
 * Takes a name for a new registry. The name is free again when the process whose code makes the registry ends; so a registry that a
 * server makes in its `init` has the same name after a restart. A registry that code outside of processes makes keeps its name as long as
 * the system.
 *
 * @param given - undefined for the first free one of `registry`, `registry 2`, …
 * @throws OptionError when another registry has the name
 */
export function takeName(kernel: Kernel, given: string | undefined): string {
  const names: Names = namesOf.get(kernel) ?? new Map();
  namesOf.set(kernel, names);
  const name = given ?? firstFree(names);
  kernel.shared?.part(names, name, "write");
  if (names.has(name)) {
    const maker = names.get(name)?.pid ?? "code outside of processes";
    const allowed = `a name that no other registry of the system ${kernel.node.name} has: ${maker} made one of this name`;
    throw new OptionError("name", name, allowed);
  }
  const owner = runningOwner();
  const process = owner instanceof Pid && owner.node === kernel.node ? owner.process : undefined;
  // Without owners of promises, code after an `await` would seem to be outside of processes, and a restart could not take the name again.
  if (process === undefined && !hasOwners()) return name;
  names.set(name, process);
  if (process !== undefined) {
    const release = (): void => {
      kernel.shared?.part(names, name, "write");
      names.delete(name);
    };
    holdFor(process, { release });
  }
  return name;
}

function firstFree(names: Names): string {
  for (let i = 1; ; i++) {
    const name = i === 1 ? UNNAMED : `${UNNAMED} ${i}`;
    if (!names.has(name)) return name;
  }
}

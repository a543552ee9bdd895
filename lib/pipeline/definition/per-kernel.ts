// A value of an adapter for each system on which it runs. The definition of an adapter is shared by all hosts of a program.

import type { Kernel } from "../../process/kernel.js";
import type { ProcessSystem } from "../../process/system.js";

/** Makes a value for each system when it is first asked for; it goes with the system. */
export function perKernel<T>(make: (system: ProcessSystem) => T): (kernel: Kernel) => T {
  const made = new WeakMap<Kernel, T>();
  return (kernel) => {
    const before = made.get(kernel);
    if (before !== undefined) return before;
    // Policies ask a system for its kernel alone, and processes have no more of their system.
    const value = make({ kernel } as ProcessSystem);
    made.set(kernel, value);
    return value;
  };
}

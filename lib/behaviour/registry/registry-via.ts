// A key of a registry as an address.

import type { Kernel } from "../../process/kernel.js";
import type { Process } from "../../process/process.js";
import { Via } from "../../process/via.js";

export class RegistryVia<in M> extends Via<M> {
  readonly #holder: () => Process | undefined;

  constructor(kernel: Kernel, label: string, holder: () => Process | undefined) {
    super(kernel, label);
    this.#holder = holder;
  }

  override get process(): Process | undefined {
    return this.#holder();
  }
}

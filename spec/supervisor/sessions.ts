// A house with a dynamic supervisor in it, whose children end with whatever reason they are sent.

import {
  custom,
  type DynamicSupervisorOptions,
  type DynamicSupervisorRef,
  dynamicSupervisor,
  type ExitInput,
  type ExitReason,
  type Pid,
  type SupervisorDefinition,
} from "signalbox";
import { child, House } from "./house.js";

export const broken: ExitReason = custom("broken");

export class Sessions extends House {
  /** Starts a dynamic supervisor of children `a`. */
  many(
    more: Partial<DynamicSupervisorOptions["child"]> = {},
    options: Partial<DynamicSupervisorOptions> = {},
  ): Promise<DynamicSupervisorRef<readonly unknown[], Pid<unknown>>> {
    const { name, ...plain } = more;
    const template = name === undefined ? child("a", plain) : { ...child("a", plain), name };
    const definition = dynamicSupervisor({ label: "supervisor", child: template, ...options });
    return this.system.start(
      definition as SupervisorDefinition<DynamicSupervisorRef<readonly unknown[], Pid<unknown>>>,
    );
  }

  /** Ends a child, and waits until everything that comes of it has happened. */
  async fail(pid: Pid | undefined, reason: ExitInput = broken): Promise<void> {
    this.system.send(pid as Pid<ExitInput>, reason);
    await this.system.idle();
  }

  /** The children that run. */
  running(): Pid<unknown>[] {
    return this.find("a");
  }
}

// Pools as users define them. pool-machine.ts decides, pool-process.ts performs.

import { address, kernelOf } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import { type Launch, launch, type Startable } from "../../process/start.js";
import type { ProcessSystem } from "../../process/system.js";
import type { AnyFunctions } from "./job.js";
import { checkPool, namingOf, type PoolOptions } from "./options.js";
import { PoolProcess } from "./pool-process.js";
import { PoolRef } from "./pool-ref.js";

/** The result of {@link pool}: start it, or make it a child of a supervisor. */
export interface PoolDefinition<M> extends Startable<readonly [], PoolRef<M>> {
  /**
   * A handle of a running pool, by its pid or by its registered name. A handle by name still works after a restart of the pool.
   *
   * @throws OptionError
   */
  at(system: ProcessSystem, address: Pid | string): PoolRef<M>;
}

/**
 * Defines a pool of worker threads for work that would keep the event loop busy. The worker file is a plain module that exports
 * functions; its type gives the types of the jobs. The pool is a process, and so is each thread: a thread that fails, or whose job
 * runs longer than its deadline, is replaced; the job fails with an error, or another thread runs it.
 *
 * @param url - URL of the compiled worker file: `new URL("./labels.js", import.meta.url)`
 * @throws OptionError
 * @example
 * const Printing = pool<{ render(order: Order): string }>(new URL("./labels.js", import.meta.url), { size: 2 });
 * const printing = await system.start(Printing);
 * const label = await printing.run.render(order);
 */
export function pool<M extends object = AnyFunctions>(
  url: URL | string,
  options: PoolOptions = {},
): PoolDefinition<M> {
  const settings = checkPool(url, options);
  const naming = namingOf(options);
  return {
    at: (system, where) => new PoolRef<M>(address("address", where), kernelOf(system), settings.job),
    [launch]: (): Launch<PoolRef<M>> => ({
      behaviour: new PoolProcess(settings),
      options: naming,
      ref: (pid, kernel) => new PoolRef<M>(pid, kernel, settings.job),
    }),
  };
}

// Supervisors as users define them. supervisor-machine.ts decides, supervisor-process.ts performs.

import type { Context } from "../process/context.js";
import { OptionError } from "../process/errors.js";
import { among, asGiven, fn, maybe } from "../process/option-schema.js";
import type { Pid } from "../process/pid.js";
import { type Launch, launch, type Startable, supervising } from "../process/start.js";
import type { ProcessSystem } from "../process/system.js";
import {
  type AutoShutdown,
  type ChildSpec,
  type ChildStart,
  checkChild,
  type FullChildSpec,
} from "./child.js";
import { checkSupervision, type SupervisionOptions } from "./options.js";
import type { RestartStrategy } from "./protocol.js";
import { SupervisorRef, supervisorRef } from "./ref.js";
import type { Config } from "./state.js";
import { supervisorBehaviour } from "./supervisor-process.js";

/** Options of a supervisor. The defaults are those of OTP. */
export interface SupervisorOptions<S extends readonly ChildStart[] = readonly ChildStart[]>
  extends SupervisionOptions {
  /** Which siblings are restarted together with a failed child. Default `one_for_one`. */
  readonly strategy?: RestartStrategy;
  /** Whether the supervisor exits when significant children have exited by themselves. Default `never`. */
  readonly autoShutdown?: AutoShutdown;
  /** The children, in start order. Default none. */
  readonly children?: readonly [...{ readonly [I in keyof S]: ChildSpec<S[I]> }];
  /** Runs in the process of the supervisor before its children start. */
  readonly onStart?: (ctx: Context<never>) => void;
}

/** The result of `supervisor()`: start it, or make it a child of another supervisor. */
export interface SupervisorDefinition<Ref = SupervisorRef> extends Startable<readonly [], Ref> {
  readonly [supervising]: true;
  /**
   * A handle of a running supervisor, by its pid or by its registered name. A handle by name still works after a restart of
   * the supervisor.
   *
   * @throws OptionError
   */
  at(system: ProcessSystem, address: Pid | string): Ref;
}

/**
 * Defines a supervisor. It starts its children in order, each after the `init` of the one before, restarts them by its
 * strategy when they fail, and stops them in reverse order.
 *
 * @throws OptionError when an option is not what it has to be
 * @see https://www.erlang.org/doc/system/sup_princ.html
 * @example
 * const Shop = supervisor({ strategy: "rest_for_one", intensity: 3, periodMs: 5_000, children: [
 *   { id: "stock", start: Stock, args: [100] },
 *   { id: "clerk", start: async (ctx) => { await ctx.receive(); } },
 * ] });
 * const shop = await system.start(Shop);
 */
export function supervisor<S extends readonly ChildStart[]>(
  options: SupervisorOptions<S>,
): SupervisorDefinition {
  const { limits, spawn, quiet, own } = checkSupervision(
    options as SupervisionOptions,
    "supervisor",
    {
      strategy: among<RestartStrategy>("one_for_one", "one_for_all", "rest_for_one"),
      autoShutdown: among<AutoShutdown>("never", "any_significant", "all_significant"),
      children: asGiven<readonly ChildSpec[]>(),
      onStart: maybe(fn<(ctx: Context<never>) => void>()),
    },
    { strategy: "one_for_one", autoShutdown: "never", children: [] },
  );
  const { strategy, autoShutdown, children, onStart } = own;
  const specs = checkChildren(children, autoShutdown);
  const config: Config = { strategy, autoShutdown, ...limits };
  return {
    [supervising]: true,
    at: supervisorRef,
    [launch]: (): Launch<SupervisorRef> => ({
      behaviour: supervisorBehaviour(config, specs, quiet, onStart),
      options: spawn,
      ref: (pid, kernel) => new SupervisorRef(pid, kernel),
    }),
  };
}

function checkChildren(children: readonly ChildSpec[], autoShutdown: AutoShutdown): readonly FullChildSpec[] {
  if (!Array.isArray(children)) throw new OptionError("children", children, "an array of child specs");
  const specs = children.map((child, index) => checkChild(`children[${index}]`, child, autoShutdown));
  const ids = new Set<string>();
  for (const [index, { id }] of specs.entries()) {
    if (ids.has(id))
      throw new OptionError(`children[${index}].id`, id, "different from the ids of the other children");
    ids.add(id);
  }
  return specs;
}

// A supervisor of many children of one kind, started on demand: OTP's simple_one_for_one, with Elixir's maxChildren.
// dynamic-machine.ts decides, dynamic-process.ts performs.

import { only } from "../process/known-options.js";
import { count } from "../process/options.js";
import { type Launch, launch, supervising } from "../process/start.js";
import { type ArgsOf, type ChildOptions, type ChildSpec, type ChildStart, checkChild } from "./child.js";
import type { DynamicConfig } from "./dynamic-machine.js";
import { dynamicBehaviour } from "./dynamic-process.js";
import {
  checkLimits,
  checkNaming,
  checkQuiet,
  SUPERVISION_OPTIONS,
  type SupervisionOptions,
} from "./options.js";
import { checkAddress, DynamicSupervisorRef } from "./ref.js";
import type { SupervisorDefinition } from "./supervisor.js";

/** Options of a dynamic supervisor. */
export interface DynamicSupervisorOptions<S extends ChildStart = ChildStart> extends SupervisionOptions {
  /** The specification of every child. `startLike(args)` gives the arguments for its `init`. */
  readonly child: ChildOptions & {
    /** The code that every child runs: a definition, a function body or callbacks. */
    readonly start: S;
  };
  /**
   * How many children there may be at once, 1 or more. One more is refused with ChildError `max_children`. Default
   * `Infinity`.
   */
  readonly maxChildren?: number;
}

/**
 * Defines a supervisor whose children are of one kind and are started one by one while it runs.
 *
 * @throws OptionError when an option is not what it has to be
 * @example
 * const Sessions = dynamicSupervisor({ child: { id: "session", start: Session, restart: "temporary" }, maxChildren: 10_000 });
 * const sessions = await system.start(Sessions);
 * const pid = await sessions.startLike(["user-17"]);
 */
export function dynamicSupervisor<S extends ChildStart>(
  options: DynamicSupervisorOptions<S>,
): SupervisorDefinition<DynamicSupervisorRef<ArgsOf<S>>> {
  only("", options, [...SUPERVISION_OPTIONS, "child", "maxChildren"]);
  const config: DynamicConfig = {
    spec: checkChild("child", options.child as ChildSpec, "never"),
    maxChildren: count("maxChildren", options.maxChildren ?? Number.POSITIVE_INFINITY, 1, true),
    ...checkLimits(options),
  };
  const naming = checkNaming(options, "dynamic supervisor");
  const quiet = checkQuiet(options);
  return {
    [supervising]: true,
    at: (system, address) => new DynamicSupervisorRef(checkAddress(address), system.kernel),
    [launch]: (): Launch<DynamicSupervisorRef<ArgsOf<S>>> => ({
      behaviour: dynamicBehaviour(config, quiet),
      options: naming,
      ref: (pid, kernel) => new DynamicSupervisorRef(pid, kernel),
    }),
  };
}

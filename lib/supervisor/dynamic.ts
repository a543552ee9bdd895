// A supervisor of many children of one kind, started on demand: OTP's simple_one_for_one, with Elixir's maxChildren.
// dynamic-machine.ts decides, dynamic-process.ts performs.

import { asGiven, whole } from "../process/option-schema.js";
import { kernelOf } from "../process/options.js";
import { type Launch, launch, supervising } from "../process/start.js";
import type { Claim } from "../process/via.js";
import {
  type ArgsOf,
  type ChildHandle,
  type ChildOptions,
  type ChildSpec,
  type ChildStart,
  checkChild,
  type FullChildSpec,
} from "./child.js";
import { checkTemplateName, type TemplateName } from "./child-name.js";
import { dynamicBehaviour } from "./dynamic-process.js";
import type { DynamicConfig } from "./dynamic-protocol.js";
import { checkSupervision, type SupervisionOptions } from "./options.js";
import { checkAddress, DynamicSupervisorRef, type Template } from "./ref.js";
import type { SupervisorDefinition } from "./supervisor.js";

/** Options of a dynamic supervisor. */
export interface DynamicSupervisorOptions<S extends ChildStart = ChildStart> extends SupervisionOptions {
  /** The specification of every child. `startLike(args)` and `startOrGet(args)` give the arguments for its `init`. */
  readonly child: Omit<ChildOptions, "name"> & {
    /** The code that every child runs: a definition, a function body or callbacks. */
    readonly start: S;
    /**
     * The name of a child: a text, or a key of a registry (`registry.claim(key)`), or a function that gives one of these for the arguments
     * of the child. Each child keeps its name over restarts, and no two children of one supervisor have the same name, unless it is a key of a
     * registry with duplicate keys. The function runs in the code that asks for the child, once for each request. Default: no name.
     */
    readonly name?: string | Claim | ((...args: ArgsOf<S>) => string | Claim);
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
 * const session = await sessions.startLike(["user-17"]);
 *
 * @example
 * // A process per key: with a name, `startOrGet` gives the child that runs, or starts it.
 * const users = new Registry<string>(system);
 * const named = await system.start(dynamicSupervisor({
 *   child: { id: "session", start: Session, name: (user) => users.claim(user) },
 * }));
 * const same = await named.startOrGet(["user-17"]);
 */
export function dynamicSupervisor<S extends ChildStart>(
  options: DynamicSupervisorOptions<S>,
): SupervisorDefinition<DynamicSupervisorRef<ArgsOf<S>, ChildHandle<S>>> {
  const { limits, spawn, quiet, own } = checkSupervision(
    options,
    "dynamic supervisor",
    { child: asGiven<ChildTemplate>(), maxChildren: whole(1, Number.POSITIVE_INFINITY) },
    { maxChildren: Number.POSITIVE_INFINITY },
  );
  const { spec, template } = checkTemplate(own.child);
  const config: DynamicConfig = { spec, maxChildren: own.maxChildren, ...limits };
  return {
    [supervising]: true,
    at: (system, address) => new DynamicSupervisorRef(checkAddress(address), kernelOf(system), template),
    [launch]: (): Launch<DynamicSupervisorRef<ArgsOf<S>, ChildHandle<S>>> => ({
      behaviour: dynamicBehaviour(config, quiet),
      options: spawn,
      ref: (pid, kernel) => new DynamicSupervisorRef(pid, kernel, template),
    }),
  };
}

type ChildTemplate = Omit<ChildSpec, "name"> & { readonly name?: TemplateName };

/** @throws OptionError */
function checkTemplate(child: ChildTemplate): { readonly spec: FullChildSpec; readonly template: Template } {
  const { name, ...unnamed } = child ?? {};
  const spec = checkChild("child", child && (unnamed as ChildSpec), "never");
  if (name !== undefined) checkTemplateName(`child(${spec.id}).name`, name);
  return { spec, template: { id: spec.id, start: spec.start, name } };
}

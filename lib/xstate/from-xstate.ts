// Any logic of XState as a definition that a system starts: a machine, a transition function, a promise, a callback.

import type { AnyActorLogic, EventFromLogic, InputFrom, Snapshot } from "xstate";
import type { Signal } from "../process/entries.js";
import { OptionError } from "../process/errors.js";
import type { Kernel } from "../process/kernel.js";
import { only } from "../process/known-options.js";
import { address, flag, kernelOf, text } from "../process/options.js";
import type { Pid } from "../process/pid.js";
import { type Launch, launch, type Startable } from "../process/start.js";
import type { ProcessSystem } from "../process/system.js";
import { type ActorPlan, ActorProcess } from "./actor-process.js";
import { XStateRef } from "./actor-ref.js";

/** How an actor of XState runs as a process. */
export interface XStateOptions<L extends AnyActorLogic> {
  /** Turns an EXIT (when trapping), a DOWN or a change of a group into an event. `undefined` makes it a dead letter. */
  readonly signal?: (signal: Signal) => EventFromLogic<L> | undefined;
  /** Turns a message that has no `type` into an event. `undefined` makes it a dead letter. */
  readonly info?: (message: unknown) => EventFromLogic<L> | undefined;
  /** The name of the process in reports. Default: the `id` of a machine, or `actor`. */
  readonly label?: string;
  /** Whether the process traps exits. Default false. */
  readonly trapExit?: boolean;
}

/** The arguments of a start: the input, which may be left out where the logic needs none. */
export type XStateArgs<L extends AnyActorLogic> =
  undefined extends InputFrom<L> ? [input?: InputFrom<L>] : [input: InputFrom<L>];

/** The result of `fromXState`: start it, make it a child of a supervisor, or get handles of running actors. */
export interface XStateDefinition<L extends AnyActorLogic> extends Startable<XStateArgs<L>, XStateRef<L>> {
  /** A handle of a running actor, by its pid or by its registered name. A handle by name still works after a restart. */
  at(system: ProcessSystem, address: Pid<never> | string): XStateRef<L>;
  /** The same definition, started from what `persisted` of a handle gave. */
  restored(snapshot: Snapshot<unknown>): Startable<[], XStateRef<L>>;
}

/**
 * Runs an XState v5 actor as a process. Its events come from the mailbox, one at a time. Its delayed transitions go by the clock of the
 * system. An error of the actor is the crash of the process; its final state is the end of the process, with reason `normal`, and its
 * output is that of {@link XStateRef.output}. However the process ends, the actor stops, and what it invoked and spawned with it.
 *
 * @throws OptionError when the logic or an option is not what it has to be
 * @see https://stately.ai/docs/actors
 * @example
 * const Door = fromXState(
 *   setup({ types: { events: {} as { type: "push" } } }).createMachine({
 *     initial: "closed",
 *     states: { closed: { on: { push: "open" } }, open: { after: { 1_000: "closed" } } },
 *   }),
 * );
 * const door = await system.start(Door);
 * door.send({ type: "push" });
 * (await door.snapshot()).value; // "open"
 */
export function fromXState<L extends AnyActorLogic>(
  logic: L,
  options: XStateOptions<L> = {},
): XStateDefinition<L> {
  if (typeof logic?.transition !== "function" || typeof logic.getInitialSnapshot !== "function")
    throw new OptionError("logic", logic, "an actor logic of XState v5, such as createMachine returns");
  only("", options, ["signal", "info", "label", "trapExit"]);
  const { signal, info } = options;
  for (const [path, value] of Object.entries({ signal, info })) {
    if (value !== undefined && typeof value !== "function") throw new OptionError(path, value, "a function");
  }
  const label = text("label", options.label ?? ((logic as { id?: unknown }).id || "actor"));
  const trapExit = flag("trapExit", options.trapExit ?? false);
  const ref = (address: Pid<never> | string, kernel: Kernel): XStateRef<L> =>
    new XStateRef<L>(address, kernel);
  const started = (input: unknown, snapshot: Snapshot<unknown> | undefined): Launch<XStateRef<L>> => ({
    behaviour: new ActorProcess({ logic, input, snapshot, signal, info } as ActorPlan),
    options: { label, trapExit },
    ref,
  });
  return {
    at: (system, where) => ref(address("address", where), kernelOf(system)),
    restored: (snapshot) => {
      if (typeof (snapshot as typeof snapshot | null | undefined)?.status !== "string")
        throw new OptionError("snapshot", snapshot, "a snapshot made by persisted()");
      return { [launch]: () => started(undefined, snapshot) };
    },
    [launch]: ([input]) => started(input, undefined),
  };
}

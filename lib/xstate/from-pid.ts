// A process as an actor of XState, which a machine can invoke, spawn and send to.

import type { ActorLogic, EventObject, Snapshot } from "xstate";
import type { Monitor } from "../process/monitor.js";
import type { Pid } from "../process/pid.js";
import { type ExitReason, isOrderly } from "../process/reason.js";
import { PeerExitedError } from "./errors.js";
import { hostOf } from "./host.js";

/** The snapshot of a process as an actor. Its output is the exit reason of the process. */
export type PeerSnapshot<E extends EventObject> = Snapshot<ExitReason> & {
  /** The process, or its name. */
  readonly to: Pid<E> | string;
};

/** The input of an actor of a process. */
export interface PeerInput<E extends EventObject> {
  /** The process that gets the events, or its name. */
  readonly to: Pid<E> | string;
}

const ENDED = "signalbox.ended";

/**
 * The logic of an actor that stands for a process: events sent to the actor are messages to the process. The actor is done when the
 * process ends in order, with its exit reason as output, and fails with PeerExitedError when the process crashes. Stopping the actor
 * does not stop the process.
 *
 * @example
 * const machine = setup({ actors: { clerk: fromPid<{ type: "pick" }>() } }).createMachine({
 *   invoke: { id: "clerk", src: "clerk", input: { to: "clerk" }, onError: ".closed" },
 *   entry: sendTo("clerk", { type: "pick" }),
 *   initial: "open",
 *   states: { open: {}, closed: {} },
 * });
 */
export function fromPid<E extends EventObject>(): ActorLogic<PeerSnapshot<E>, E, PeerInput<E>> {
  const monitors = new WeakMap<object, Monitor>();
  return {
    getInitialSnapshot: (_scope, { to }) => ({ status: "active", output: undefined, error: undefined, to }),
    start: ({ to, status }, { self, system, id }) => {
      if (status !== "active") return;
      const ended = (reason: ExitReason): void => self.send({ type: ENDED, reason } as unknown as E);
      monitors.set(self, hostOf(system, id).watch(to as Pid<never> | string, ended));
    },
    transition: (snapshot, event, { self, system, id }) => {
      const host = hostOf(system, id);
      const { to } = snapshot;
      if (event.type === ENDED) {
        const { reason } = event as unknown as { reason: ExitReason };
        return isOrderly(reason)
          ? { status: "done", output: reason, error: undefined, to }
          : { status: "error", output: undefined, error: new PeerExitedError(String(to), reason), to };
      }
      if (event.type === "xstate.stop") {
        const monitor = monitors.get(self);
        if (monitor !== undefined) host.unwatch(monitor);
        return { ...snapshot, status: "stopped", output: undefined, error: undefined };
      }
      host.ctx.send(to as Pid<E>, event as never);
      return snapshot;
    },
    getPersistedSnapshot: (snapshot) => snapshot,
  };
}

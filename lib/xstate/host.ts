// Where the actors of one process reach that process: their clock, its context, and the processes that they watch.

import type { AnyActorRef } from "xstate";
import type { Context } from "../process/context.js";
import type { DownSignal } from "../process/entries.js";
import type { Monitor } from "../process/monitor.js";
import type { TimerRef } from "../process/owned-timer.js";
import type { Pid } from "../process/pid.js";
import type { ExitReason } from "../process/reason.js";
import { NotHostedError } from "./errors.js";

/** The hosts of systems of XState. An actor knows its system, and nothing else about where it runs. */
const hosts = new WeakMap<AnyActorRef["system"], Host>();

/** The host whose actor is being made: its system is not known yet. */
let creating: Host | undefined;

export class Host {
  readonly ctx: Context<unknown>;
  readonly #watched: Map<Monitor, (reason: ExitReason) => void> = new Map();

  constructor(ctx: Context<unknown>) {
    this.ctx = ctx;
  }

  /** Makes an actor in this process. Code that runs meanwhile, such as an initial `assign`, is hosted too. */
  create<A extends AnyActorRef>(make: () => A): A {
    const before = creating;
    creating = this;
    try {
      const actor = make();
      hosts.set(actor.system, this);
      return actor;
    } finally {
      creating = before;
    }
  }

  watch(to: Pid<never> | string, ended: (reason: ExitReason) => void): Monitor {
    const monitor = this.ctx.monitor(to);
    this.#watched.set(monitor, ended);
    return monitor;
  }

  unwatch(monitor: Monitor): void {
    this.#watched.delete(monitor);
    if (this.ctx.alive) this.ctx.demonitor(monitor, { flush: true });
  }

  /** True when the DOWN is for an actor of this process. */
  down({ ref, reason }: DownSignal): boolean {
    const ended = this.#watched.get(ref);
    this.#watched.delete(ref);
    ended?.(reason);
    return ended !== undefined;
  }
}

/** @throws NotHostedError */
export function hostOf(system: AnyActorRef["system"], actor: string): Host {
  const host = hosts.get(system) ?? creating;
  if (host === undefined) throw new NotHostedError(actor);
  return host;
}

/**
 * The context of the process in which an actor runs, for actions that send to processes, register names or read the clock.
 *
 * @throws NotHostedError when the actor runs in no process of signalbox
 * @example
 * const paid = ({ self }: { self: AnyActorRef }) => contextOf(self).send("audit", "paid");
 */
export function contextOf(self: AnyActorRef): Context<unknown> {
  return hostOf(self.system, self.id).ctx;
}

interface PendingTimeout {
  ref: TimerRef | undefined;
}

/** The clock of XState by that of the system. A timeout ends with the process, and one that is cleared never runs. */
export function clockOf(ctx: Context<unknown>): {
  setTimeout(fn: () => void, delayMs: number): PendingTimeout;
  clearTimeout(timeout: PendingTimeout): void;
} {
  return {
    setTimeout: (fn, delayMs) => {
      const timeout: PendingTimeout = { ref: undefined };
      if (!ctx.alive) return timeout;
      // It may be cleared while it waits in the mailbox.
      timeout.ref = ctx.runAfter(Math.max(0, delayMs || 0), () => {
        if (timeout.ref !== undefined) fn();
      });
      return timeout;
    },
    clearTimeout: (timeout) => {
      if (timeout?.ref !== undefined && ctx.alive) ctx.cancel(timeout.ref);
      if (timeout !== undefined) timeout.ref = undefined;
    },
  };
}

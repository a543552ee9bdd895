// The process of a group in one system. It monitors each consumer, and lists the dispatches in flight there that have no
// process of their own: their consumer's end reaches them through this process (docs/decisions/0176).

import type { Callbacks } from "../process/behaviour.js";
import type { Context } from "../process/context.js";
import type { Signal } from "../process/entries.js";
import type { Inspected } from "../process/inspected.js";
import type { Kernel, Latent } from "../process/kernel.js";
import type { Pid } from "../process/pid.js";
import type { Process } from "../process/process.js";
import { SHUTDOWN } from "../process/reason.js";
import { search } from "../process/shared-state.js";
import { type Holding, holdFor } from "../process/via.js";
import { Flights } from "./flights.js";
import type { ConsumerView } from "./member.js";

/** The group of a watcher: the watcher reports to the group, and shows the group to inspection. */
export interface Watched {
  readonly name: string;
  readonly consumers: readonly ConsumerView[];
  readonly waitingCount: number;
  /** The consumer has exited. */
  ended(consumer: Pid): void;
}

/** A group in one system, as inspection shows it. */
export interface GroupState {
  readonly name: string;
  /** Dispatches that wait for a slot or a member, in all systems. */
  readonly waiting: number;
  readonly consumers: readonly ConsumerFigures[];
}

/** A consumer at this moment. */
export type ConsumerFigures = Omit<ConsumerView, "tags">;

/** The behaviour of the process. */
export class Watcher implements Callbacks<never>, Holding, Latent {
  /** A stopping system ends this process last: when the consumers have settled, or have been stopped. */
  readonly isLast = true;
  readonly isHelper = true;
  readonly #group: Watched;
  readonly #process: Process;
  readonly #flights = new Map<Pid<never>, Flights>();

  constructor(group: Watched, kernel: Kernel) {
    this.#group = group;
    this.#process = kernel.spawn(this, undefined, { label: `group ${group.name}` });
    holdFor(this.#process, this);
    kernel.latent.add(this);
  }

  get alive(): boolean {
    search.shared?.process(this.#process.pid, "read");
    return this.#process.alive;
  }

  /** Watches a consumer, once, until it exits. */
  watch(consumer: Pid<never>): Flights {
    const known = this.#flights.get(consumer);
    if (known !== undefined) return known;
    const flights = new Flights();
    this.#flights.set(consumer, flights);
    this.#process.kernel.links.monitor(this.#process, consumer as Pid);
    return flights;
  }

  handle(): void {}

  inspected(): Inspected {
    const { kernel } = this.#process;
    const { name, waitingCount, consumers } = this.#group;
    const here = consumers.filter(({ pid }) => pid.process?.kernel === kernel);
    return {
      kind: "group",
      state: (): GroupState => ({ name, waiting: waitingCount, consumers: here.map(figuresOf) }),
    };
  }

  signal(_ctx: Context<never>, signal: Signal): void {
    if (signal.type !== "down") return;
    const { pid, reason } = signal;
    const flights = this.#flights.get(pid);
    this.#flights.delete(pid);
    this.#group.ended(pid);
    flights?.exited(pid, reason);
  }

  /** Called when the process ends: its dispatches go on without it. */
  release({ kernel, exitReason }: Process): void {
    kernel.latent.delete(this);
    for (const flights of this.#flights.values()) {
      flights.isWatched = false;
      for (const conversation of flights.all)
        if (kernel.stopping) conversation.died(exitReason ?? SHUTDOWN);
        else conversation.appear();
    }
    this.#flights.clear();
  }

  /** Somebody looks at the processes: each dispatch gets one. */
  appear(): void {
    for (const flights of this.#flights.values())
      for (const conversation of flights.all) conversation.appear();
  }
}

const figuresOf = (one: ConsumerView): ConsumerFigures => {
  const { id, pid, inFlight, maxInFlight, bufferDepth, maxBuffer, pressure, weight, delivered } = one;
  return { id, pid, inFlight, maxInFlight, bufferDepth, maxBuffer, pressure, weight, delivered };
};

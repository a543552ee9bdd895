// Receives the events of a world's systems: processes that start and end, items sent, promises awaited.

import { plain, SignalEntry } from "../../process/entries.js";
import type { DeadLetterReason } from "../../process/exit-reason.js";
import { WatchedProcess } from "../../process/intercepted.js";
import type { Interception, Settler } from "../../process/interception.js";
import type { Pid, RemoteNode } from "../../process/pid.js";
import type { ExitReason } from "../../process/reason.js";
import type { Access } from "../../process/shared-state.js";
import { SharedState } from "../../process/shared-state.js";
import type { Actor } from "./actor.js";
import { freeze } from "./freeze.js";
import { mix } from "./mix.js";
import type { DeliverTask } from "./tasks.js";
import type { SimulatedTimers } from "./timers.js";
import type { World } from "./world.js";

/** What happened to an actor that has ended; greater than the numbers of kinds of tasks. */
const ENDED = 4;

/** Nodes of all simulated systems. Needed because a pid drops its process at the end. */
const simulated = new WeakSet<RemoteNode>();

/** Whether a pid belongs, or belonged, to a simulated process. */
export function isSimulated(pid: Pid): boolean {
  return simulated.has(pid.node);
}

/** The scenario's own numbers stay below. */
const FIRST_MIXED = 1_000_000;

export class Interceptor implements Interception {
  readonly processClass: typeof WatchedProcess = WatchedProcess;
  readonly world: World;
  /** Numbers of pids and monitors that processes have made. */
  private readonly numbers = new Set<number>();
  /** Channels of delayed messages, by sender and receiver. */
  private readonly pairs = new Map<Actor, Map<Actor, DeliverTask>>();

  constructor(world: World) {
    this.world = world;
  }

  born(process: WatchedProcess): void {
    const { world } = this;
    const parent = process.parent?.process as WatchedProcess | undefined;
    const actor = world.systems.adopt(process, parent?.tag as Actor | undefined);
    process.tag = actor;
    simulated.add(process.pid.node);
    world.memory?.born(actor, process.behaviour);
    world.faults.born(actor);
    world.options.recorder?.spawned(actor);
  }

  died(process: WatchedProcess, reason: ExitReason): void {
    const { world } = this;
    const actor = process.tag as Actor;
    // Read the name now: it is free once the process has ended.
    void actor.name;
    world.footprints.wrote(actor.state);
    world.footprints.wrote(actor.mailbox);
    world.agenda.disable(actor.run);
    world.faults.died(actor);
    world.options.progress?.went(actor.number, ENDED);
    world.options.recorder?.exited(actor, reason);
    // Items in transit are treated like items in the mailbox.
    for (const targets of this.pairs.values()) {
      const way = targets.get(actor);
      if (way === undefined || way.pending === 0) continue;
      const items = world.agenda.clear(way);
      if (!actor.lost) for (const item of items) process.arrive(item);
    }
  }

  hold(to: WatchedProcess, item: unknown): boolean {
    const { world } = this;
    const { recorder, freeze: freezing } = world.options;
    const target = to.tag as Actor;
    world.record.mark(target.number);
    world.options.progress?.sent(world.code.stepper.number, target.number);
    world.footprints.wrote(target.mailbox);
    if (freezing) freeze(plain(item));
    world.memory?.passed(world.code.current, target, plain(item));
    if (recorder === undefined && !world.faults.delaying && this.pairs.size === 0) {
      this.arrives(target, item);
      return false;
    }
    const sender = this.senderOf(item);
    const way = this.pairs.get(sender)?.get(target);
    const held = (way?.pending ?? 0) > 0 || (sender !== target && world.faults.delays(sender, target));
    recorder?.sent(sender, target, item, held);
    if (held) {
      const channel = way ?? this.way(sender, target, to);
      world.footprints.queued("d", channel.key, item);
      world.agenda.post(channel, item);
    } else this.arrives(target, item);
    return held;
  }

  /** An item enters a mailbox. */
  private arrives(to: Actor, item: unknown): void {
    this.world.footprints.queued("m", to.key, item);
  }

  took(process: WatchedProcess, index: number): void {
    this.world.options.recorder?.took(process.tag as Actor, index);
  }

  lost(to: Pid | string, message: unknown, reason: DeadLetterReason): void {
    this.world.options.recorder?.lost(to, message, reason);
  }

  private way(from: Actor, to: Actor, process: WatchedProcess): DeliverTask {
    const targets = this.pairs.get(from) ?? new Map<Actor, DeliverTask>();
    const way = this.world.agenda.channel(from, to, (item) => {
      this.arrives(to, item);
      process.arrive(item);
    });
    this.pairs.set(from, targets);
    targets.set(to, way);
    return way;
  }

  /** The sender of an item. The sender of a signal is the process that ended. */
  private senderOf(item: unknown): Actor {
    const { code, actors } = this.world;
    if (!(item instanceof SignalEntry)) return code.current;
    const { signal } = item;
    return actors.of(signal.type === "exit" ? signal.from : signal.pid) ?? actors.main;
  }

  recall(to: WatchedProcess, fits: (item: unknown) => boolean): boolean {
    for (const targets of this.pairs.values()) {
      const way = targets.get(to.tag as Actor);
      const index = way?.held.findIndex(fits) ?? -1;
      if (way === undefined || index < 0) continue;
      way.held.splice(index, 1);
      if (way.pending === 0) this.world.agenda.disable(way);
      return true;
    }
    return false;
  }

  gate(owner: WatchedProcess | undefined, what: string, ends: Settler, about?: Pid): void {
    const { world } = this;
    world.gates.gate((owner?.tag as Actor | undefined) ?? world.code.current, what, ends, about);
  }

  sharedState(node: RemoteNode): SharedState | undefined {
    return this.world.options.observe === true ? new SharedState(this, node) : undefined;
  }

  /** Hardly any code sees the order of all processes, so spawns depend on each other only in a search that asks for it. */
  spawnOrder(node: string, access: Access): void {
    const { chooser } = this.world.oracle;
    if (access === "read") chooser.knowledge?.sawOrder();
    if (chooser.knowledge?.ordersSpawns === true) this.touched(`P:${node}`, access);
  }

  keyOf(pid: Pid): string {
    return this.world.actors.of(pid)?.key ?? `${pid.node.id}.${pid.id}`;
  }

  keyOfObject(object: object): string {
    return this.world.code.keyOfObject(object);
  }

  timers(enter: (fn: () => void) => void): SimulatedTimers {
    return this.world.time.timersOf(enter);
  }

  /** Processes count up on their own. The scenario's pids and monitors have small numbers, as in production. */
  number(of: "pid" | "monitor"): number {
    const actor = this.world.code.setter;
    const count = of === "pid" ? ++actor.pids : ++actor.monitors;
    if (actor === this.world.actors.main) return count;
    let number = FIRST_MIXED + mix(actor.hash, count, of === "pid" ? 0 : 1);
    while (this.numbers.has(number)) number++;
    this.numbers.add(number);
    return number;
  }

  met(pid: Pid): void {
    this.world.footprints.wrote(`a:${this.keyOf(pid)}`);
  }

  listenerFailed(error: unknown): void {
    this.world.fail(error);
  }

  circle(processes: readonly Pid[]): void {
    this.world.atCircle(processes.map((pid) => this.world.actors.pathOf(pid)));
  }

  touched(key: string, access: Access): void {
    this.world.footprints.touched(key, access);
  }
}

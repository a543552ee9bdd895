// The code that runs in the present step, and whose it is. Whatever code creates belongs to its actor.

import type { AsyncContext } from "../../process/environment.js";
import type { Kernel } from "../../process/kernel.js";
import { inNameOf, runningOwner } from "../../process/origin.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { Actor } from "./actor.js";
import type { Actors } from "./actors.js";
import type { SimulatedTask } from "./tasks.js";

export class RunningCode {
  /** The task of the present step. */
  performing: SimulatedTask | undefined = undefined;
  /** The process that is being activated. The owner of new promises is read from here. */
  running: Process | undefined = undefined;
  /** Whose timer fires in the present step. */
  firing: Actor | undefined = undefined;
  private readonly actors: Actors;
  /** Footprint keys of calls and timers. */
  private readonly objects = new WeakMap<object, string>();
  private turn: { readonly kernel: Kernel; readonly context: AsyncContext } | undefined = undefined;

  constructor(actors: Actors) {
    this.actors = actors;
  }

  /** The actor that owns the code which is running, if any does. */
  get owner(): Actor | undefined {
    const owner = runningOwner();
    if (owner === undefined || owner instanceof Actor) return owner;
    return this.actors.of(owner as Pid);
  }

  /** The actor whose code is running: by default the scenario. */
  get current(): Actor {
    return this.owner ?? this.actors.main;
  }

  /** The author of what is created now: the actor whose code runs. While a timer fires outside of all actors, its owner. */
  get setter(): Actor {
    return this.firing === undefined || runningOwner() !== undefined ? this.current : this.firing;
  }

  /** The footprint key of an object, by the order in which its author has made such objects. */
  keyOfObject(object: object): string {
    let key = this.objects.get(object);
    if (key === undefined) {
      const actor = this.setter;
      key = `o:${actor.key}/${++actor.objects}`;
      this.objects.set(object, key);
    }
    return key;
  }

  /** The actor whose step this is. */
  get stepper(): Actor {
    return this.performing?.owner ?? this.actors.main;
  }

  /** Runs code of another system within a step, in the name of its root. */
  apart(root: Actor | undefined, fn: () => void): void {
    const { running } = this;
    this.running = undefined;
    try {
      inNameOf(root ?? this.actors.main, fn);
    } finally {
      this.running = running;
    }
  }

  /** Consecutive steps of one system share a context until the host has run, like the activations of a turn in production. */
  contextOf(kernel: Kernel): AsyncContext {
    if (this.turn?.kernel !== kernel) this.turn = { kernel, context: kernel.freshContext() };
    return this.turn.context;
  }

  /** The next step begins in a context of its own. */
  endTurn(): void {
    this.turn = undefined;
  }
}

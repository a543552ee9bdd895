// A host loop that a test steps by hand: every microtask, macrotask and millisecond is counted.

import { SYSTEM_DEFAULTS } from "signalbox";
import type { Runnable, ScheduledSystem, TurnLimits } from "../../lib/process/environment.js";
import { type EventLoop, TurnScheduler } from "../../lib/process/scheduler.js";

export class SteppedLoop implements EventLoop {
  time = 0;
  readonly micro: (() => void)[] = [];
  readonly macro: (() => void)[] = [];
  readonly alarms: { readonly deadline: number; readonly ring: () => void; cancelled: boolean }[] = [];

  now(): number {
    return this.time;
  }

  soon(fn: () => void): void {
    this.micro.push(fn);
  }

  later(fn: () => void): void {
    this.macro.push(fn);
  }

  at(deadline: number, ring: () => void): () => void {
    const alarm = { deadline, ring, cancelled: false };
    this.alarms.push(alarm);
    return () => {
      alarm.cancelled = true;
    };
  }

  /** Deadlines of the alarms that would keep the event loop alive. */
  get armed(): number[] {
    return this.alarms.filter((alarm) => !alarm.cancelled).map((alarm) => alarm.deadline);
  }

  ring(): void {
    const alarm = this.alarms.find((one) => !one.cancelled);
    if (alarm === undefined) throw new Error("no alarm is set");
    alarm.cancelled = true;
    this.time = Math.max(this.time, alarm.deadline);
    alarm.ring();
  }

  microtasks(): void {
    for (let fn = this.micro.shift(); fn !== undefined; fn = this.micro.shift()) fn();
  }

  /** One go of the event loop. */
  step(): void {
    this.macro.shift()?.();
    this.microtasks();
  }

  /** Steps until nothing is left. Returns the number of steps. */
  run(): number {
    let steps = 0;
    for (this.microtasks(); this.macro.length > 0; steps++) this.step();
    return steps;
  }
}

/** Work that can be made ready. Each activation calls `work`, which returns the number of messages that it handled. */
export class Job implements Runnable {
  readonly name: string;
  private readonly work: (job: Job, limit: number) => number | undefined;

  constructor(name: string, work: (job: Job, limit: number) => number | undefined = () => undefined) {
    this.name = name;
    this.work = work;
  }

  activate(limit: number): number {
    return this.work(this, limit) ?? 1;
  }
}

export interface Bench {
  readonly loop: SteppedLoop;
  readonly scheduler: TurnScheduler;
  readonly long: { readonly suspects: string[]; readonly elapsedMs: number }[];
  readonly timers: number[];
  fired: number;
}

export function bench(limits: Partial<TurnLimits> = {}): Bench {
  const loop = new SteppedLoop();
  const long: Bench["long"] = [];
  const timers: number[] = [];
  const host: ScheduledSystem = {
    fireTimers: () => {
      made.fired++;
      while (timers.length > 0 && (timers[0] as number) <= loop.time) timers.shift();
    },
    turnEnded: () => undefined,
    nextTimer: () => timers[0],
    longTurn: (suspects, elapsedMs) => {
      long.push({ suspects: suspects.map((one) => (one as Job).name), elapsedMs });
    },
  };
  const scheduler = new TurnScheduler(host, loop, { ...SYSTEM_DEFAULTS, ...limits });
  const made: Bench = { loop, scheduler, long, timers, fired: 0 };
  return made;
}

// Time that a test moves: the library's own scheduler on a host loop whose clock stands still until `advance`.

import { type Environment, production, type Scheduler } from "signalbox";
import { type HostLoop, TurnScheduler } from "../../lib/process/scheduler.js";

interface Alarm {
  readonly deadline: number;
  readonly ring: () => void;
}

/**
 * A clock for tests. Turns of the scheduler run by themselves, as in production; only time has to be moved.
 *
 * @example
 * const clock = new VirtualClock();
 * await using system = new System({ environment: clock.environment });
 * system.sendAfter(pid, "late", 1_000);
 * await clock.advance(999);  // not yet
 * await clock.advance(1);    // now
 */
export class VirtualClock {
  /** Milliseconds, as `now()` of the environment gives them. */
  now = 0;
  readonly environment: Environment;
  private alarms: Alarm[] = [];
  private readonly schedulers: Scheduler[] = [];
  private lastId = 0;
  private seed = 1;

  constructor() {
    const loop: HostLoop = {
      now: () => this.now,
      soon: (fn) => queueMicrotask(fn),
      later: (fn) => {
        setImmediate(fn);
      },
      at: (deadline, ring) => {
        const alarm = { deadline, ring };
        this.alarms.push(alarm);
        return () => {
          this.alarms = this.alarms.filter((other) => other !== alarm);
        };
      },
    };
    this.environment = {
      now: () => this.now,
      wallTime: () => 1_700_000_000_000 + this.now,
      random: () => {
        this.seed = (this.seed * 48_271) % 2_147_483_647;
        return this.seed / 2_147_483_647;
      },
      id: () => `virtual-${++this.lastId}`,
      createScheduler: (host, limits) => {
        const scheduler = new TurnScheduler(host, loop, limits);
        this.schedulers.push(scheduler);
        return scheduler;
      },
      captureContext: production.captureContext,
      watchRejections: production.watchRejections,
    };
  }

  /** How many alarms the schedulers have set with the host. */
  get pendingAlarms(): number {
    return this.alarms.length;
  }

  /** Lets everything run that can run now, then goes from alarm to alarm until `ms` have passed. */
  async advance(ms: number): Promise<void> {
    const end = this.now + ms;
    await this.settle();
    for (let next = this.first(end); next !== undefined; next = this.first(end)) {
      const alarm = next;
      this.alarms = this.alarms.filter((other) => other !== alarm);
      this.now = Math.max(this.now, alarm.deadline);
      alarm.ring();
      await this.settle();
    }
    this.now = Math.max(this.now, end);
  }

  /** Waits until every system on this clock is idle. */
  async settle(): Promise<void> {
    for (const scheduler of this.schedulers) await scheduler.idle();
  }

  private first(end: number): Alarm | undefined {
    const due = this.alarms.filter((alarm) => alarm.deadline <= end);
    return due.sort((a, b) => a.deadline - b.deadline)[0];
  }
}

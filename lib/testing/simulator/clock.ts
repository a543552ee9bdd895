// The clock of a simulated system or node. The simulator counts true time; each clock says something else, if its options say so.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { times } from "./options.js";
import type { World } from "./world.js";

/** How a clock goes wrong. By default a clock is right. */
export interface ClockOptions {
  /**
   * Parts per million by which the clock runs fast; below 0, slow. One of a list is chosen for each schedule, and the first is the
   * ordinary one. Timers follow the clock. Quartz drifts by up to 100; a large number finds bugs in fewer beats.
   */
  readonly driftPpm?: number | readonly number[];
  /** Jumps of the wall clock. Timers and `ctx.now()` do not jump. */
  readonly jumps?: {
    /** Times in one schedule: 1 or more, or Infinity. Default 1. */
    readonly atMost?: number;
    /** Milliseconds to choose from; below 0, back. Default a minute back, a minute forward, an hour back. */
    readonly byMs?: readonly number[];
  };
}

/** Wall time at the beginning of every schedule: 1 January 2025, UTC. */
const EPOCH = 1_735_689_600_000;
const MILLION = 1_000_000;
const JUMPS_MS: readonly number[] = [-60_000, 60_000, -3_600_000];

export class SimulatedClock {
  readonly #world: World;
  readonly #name: string;
  readonly #driftPpm: number;
  readonly #jumpsMs: readonly number[];
  #jumpsLeft: number;
  /** The sum of all jumps. */
  #offsetMs = 0;
  /** True time for which it stood in all. */
  #stoodMs = 0;
  /** The true time at which it has come to a stand. */
  #standsSince: number | undefined = undefined;

  /** @throws OptionError */
  constructor(world: World, name: string, options: ClockOptions = {}) {
    only("clock", options, ["driftPpm", "jumps"]);
    const { driftPpm = 0, jumps } = options;
    if (jumps !== undefined) only("clock.jumps", jumps, ["atMost", "byMs"]);
    this.#world = world;
    this.#name = name;
    this.#jumpsLeft = jumps === undefined ? 0 : times("clock.jumps", jumps);
    this.#jumpsMs = numbers("clock.jumps.byMs", jumps?.byMs ?? JUMPS_MS);
    const drifts = numbers("clock.driftPpm", typeof driftPpm === "number" ? [driftPpm] : driftPpm);
    if (drifts.some((drift) => drift <= -MILLION))
      throw new OptionError("clock.driftPpm", driftPpm, `above -${MILLION}: a clock does not stand still`);
    this.#driftPpm = drifts[world.oracle.draw(drifts.length, `drift:${name}`)] as number;
    if (this.#driftPpm !== 0)
      world.options.recorder?.note(`the clock of ${name} drifts by ${this.#driftPpm} ppm`);
    if (this.#jumpsLeft > 0) world.strikes.push(() => this.#strike());
  }

  /** Monotonic milliseconds of this clock. */
  now(): number {
    return this.#at(this.#standsSince ?? this.#world.time.now);
  }

  #at(trueTime: number): number {
    const ran = trueTime - this.#stoodMs;
    return ran + (ran * this.#driftPpm) / MILLION;
  }

  /** It comes to a stand, as in a virtual machine that is suspended. */
  stop(): void {
    this.#standsSince ??= this.#world.time.now;
  }

  /** It goes on from where it stood. The wall time is right again: the host, or a time server, has set it. */
  goOn(): void {
    if (this.#standsSince === undefined) return;
    const { now } = this.#world.time;
    this.#offsetMs += this.#at(now) - this.#at(this.#standsSince);
    this.#stoodMs += now - this.#standsSince;
    this.#standsSince = undefined;
    this.#world.footprints.wrote(this.#key);
  }

  wallTime(): number {
    this.#world.footprints.read(this.#key);
    return EPOCH + this.now() + this.#offsetMs;
  }

  /** The true time at which this clock has come to `local`. */
  trueTime(local: number): number {
    const rate = 1 + this.#driftPpm / MILLION;
    let time = local / rate + this.#stoodMs;
    // Rounding must not leave a timer that is due and not yet due.
    while (this.#at(time) < local) time += Math.max(time, 1) * Number.EPSILON;
    return time;
  }

  jump(byMs: number): void {
    this.#offsetMs += byMs;
    this.#world.footprints.wrote(this.#key);
  }

  get #key(): string {
    return `clock:${this.#name}`;
  }

  #strike(): boolean {
    if (this.#jumpsLeft === 0) return false;
    const choice = this.#world.oracle.draw(this.#jumpsMs.length + 1, "clock:jump");
    if (choice === 0) return false;
    this.#jumpsLeft--;
    const byMs = this.#jumpsMs[choice - 1] as number;
    this.#world.options.recorder?.faultOf(this.#name, `its wall clock jumps by ${byMs} ms`);
    this.jump(byMs);
    return true;
  }
}

function numbers(path: string, given: readonly number[]): readonly number[] {
  if (!Array.isArray(given) || given.length === 0 || !given.every((one) => Number.isFinite(one)))
    throw new OptionError(path, given, "finite numbers, at least one");
  return given;
}

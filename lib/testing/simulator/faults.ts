// Faults by rule: before each step the oracle may have one strike. Each rule has a budget for the schedule, and none
// strikes once the scenario has called for calm.

import { OptionError } from "../../process/errors.js";
import { crash, type ExitInput, type ExitReason, KILLED, toReason } from "../../process/reason.js";
import type { Timer } from "../../process/timer-queue.js";
import { InjectedCrash } from "../report/errors.js";
import type { Actor } from "./actor.js";
import { durations, only, times } from "./options.js";
import { type ProcessPattern, patternMatcher } from "./process-pattern.js";
import type { World } from "./world.js";

/** Whom a fault strikes, and how often in one schedule. */
export interface FaultRule {
  /** Processes by path. A restarted child is another, such as `shop/till#2`: `shop/till*` stands for all of them. */
  readonly of: ProcessPattern | readonly ProcessPattern[];
  /** Times in one schedule. Default 1. */
  readonly atMost?: number;
}

/** How a process crashes: `error` throws in its own code, so that its `terminate` runs; any other reason ends it at once. */
export interface CrashRule extends FaultRule {
  readonly reason?: "error" | ExitInput;
}

/** How long a paused process does nothing. */
export interface PauseRule extends FaultRule {
  /** Virtual milliseconds, one of these. Default 1, 100 and 10,000. */
  readonly ms?: readonly number[];
}

/**
 * Faults that schedules may have.
 *
 * @example const faults = { crash: { of: "shop/picker*", atMost: 2 }, rush: { atMost: 1 } };
 */
export interface FaultOptions {
  /** Ends a process between two steps, whatever it is doing: at work, waiting, at any of its awaits. */
  readonly crash?: CrashRule | readonly CrashRule[];
  /** Holds a process up, while time goes on for the others. */
  readonly pause?: PauseRule;
  /** Makes a process fail before its first step. */
  readonly start?: FaultRule;
  /** Holds a message on its way to these processes, so that others' messages overtake it; each pair's order holds. */
  readonly delay?: FaultRule;
  /** Lets time pass to the next timer although there is work to do: a due timeout overtakes queued messages. */
  readonly rush?: { readonly atMost?: number };
}

type Kind = "crash" | "pause" | "start";

interface Rule {
  readonly kind: Kind;
  readonly of: (path: string) => boolean;
  readonly atMost: number;
  readonly reason: ExitReason | undefined;
  readonly ms: readonly number[];
}

/** Checked rules: made once, used in every schedule. */
export interface FaultPlan {
  readonly rules: readonly Rule[];
  readonly delay: { readonly of: (path: string) => boolean; readonly atMost: number } | undefined;
  readonly rushes: number;
}

const PAUSES: readonly number[] = [1, 100, 10_000];

/** What each kind of fault may be told. */
const KNOWN = {
  crash: ["of", "atMost", "reason"],
  pause: ["of", "atMost", "ms"],
  start: ["of", "atMost"],
  delay: ["of", "atMost"],
  rush: ["atMost"],
} as const;

/** @throws OptionError */
export function planFaults(options: FaultOptions = {}): FaultPlan {
  only("faults", options, Object.keys(KNOWN));
  const { crash, start, pause, delay: held, rush } = options;
  if (held !== undefined) only("faults.delay", held, KNOWN.delay);
  if (rush !== undefined) only("faults.rush", rush, KNOWN.rush);
  return {
    rules: [
      ...list(crash).map((one, i) => ruleOf("crash", one, `faults.crash[${i}]`)),
      ...(start === undefined ? [] : [ruleOf("start", start, "faults.start")]),
      ...(pause === undefined ? [] : [ruleOf("pause", pause, "faults.pause")]),
    ],
    delay:
      held === undefined
        ? undefined
        : { of: patternMatcher("faults.delay.of", held.of), atMost: times("faults.delay", held) },
    rushes: rush === undefined ? 0 : times("faults.rush", rush),
  };
}

function ruleOf(kind: Kind, given: FaultRule & CrashRule & PauseRule, path: string): Rule {
  only(path, given, KNOWN[kind]);
  const { reason = "error" } = given;
  return {
    kind,
    of: patternMatcher(`${path}.of`, given.of),
    atMost: times(path, given),
    reason: reason === "error" ? undefined : reasonOf(`${path}.reason`, reason),
    ms: durations(`${path}.ms`, given.ms ?? PAUSES),
  };
}

function reasonOf(path: string, given: ExitInput): ExitReason {
  try {
    return toReason(given);
  } catch {
    throw new OptionError(path, given, '"error" or an exit reason');
  }
}

function list<T>(given: T | readonly T[] | undefined): readonly T[] {
  return given === undefined ? [] : Array.isArray(given) ? given : [given as T];
}

/** A rule in one schedule. */
interface ActiveRule {
  readonly rule: Rule;
  readonly targets: Actor[];
  left: number;
}

export class Faults {
  private readonly world: World;
  private readonly live: ActiveRule[];
  private readonly delayOf: ((path: string) => boolean) | undefined;
  private delaysLeft: number;
  private rushesLeft: number;
  /** Who is held up, and the timer that ends it. */
  private readonly pauses = new Map<Actor, Timer>();
  /** Nothing may strike at this moment. */
  calm = false;
  /** Undo what lasts, of faults that are not by rule. */
  readonly remedies: (() => void)[] = [];

  constructor(world: World, plan: FaultPlan) {
    this.world = world;
    this.live = plan.rules.map((rule) => ({ rule, targets: [], left: rule.atMost }));
    this.delayOf = plan.delay?.of;
    this.delaysLeft = plan.delay?.atMost ?? 0;
    this.rushesLeft = plan.rushes;
  }

  /** Messages may be held. */
  get delaying(): boolean {
    return this.delaysLeft > 0 && !this.calm;
  }

  /** From here on faults may strike again. */
  start(): void {
    this.calm = false;
  }

  /** From here on nothing strikes, and whoever is held up goes on. */
  stop(): void {
    this.calm = true;
    for (const actor of this.pauses.keys()) this.release(actor);
    for (const remedy of this.remedies) remedy();
  }

  born(actor: Actor): void {
    for (const { rule, targets } of this.live) if (rule.of(actor.path)) targets.push(actor);
  }

  died(actor: Actor): void {
    for (const { targets } of this.live) {
      const index = targets.indexOf(actor);
      if (index >= 0) targets.splice(index, 1);
    }
  }

  /** Whether this message is held on its way. */
  delays(from: Actor, to: Actor): boolean {
    if (!this.delaying || from.process === undefined || this.delayOf?.(to.path) !== true) return false;
    if (this.world.oracle.draw(2, "delay:message") === 0) return false;
    this.delaysLeft--;
    return true;
  }

  /** True when a fault struck: that was the step. */
  strike(): boolean {
    if (this.calm) return false;
    for (const live of this.live) if (live.left > 0 && live.targets.length > 0 && this.one(live)) return true;
    return this.rushesLeft > 0 && this.rush();
  }

  private one(live: ActiveRule): boolean {
    const { rule } = live;
    // A start fails before anything of it has run, or not at all.
    const targets = rule.kind === "start" ? live.targets.filter((actor) => !actor.run.started) : live.targets;
    const able = rule.kind === "pause" ? targets.filter((actor) => actor.parked === undefined) : targets;
    const choice = this.world.oracle.draw(able.length + 1, `${rule.kind}:process`);
    if (choice === 0) return false;
    live.left--;
    const actor = able[choice - 1] as Actor;
    if (rule.kind === "pause") this.pause(actor, rule);
    else this.crash(actor, rule.reason, rule.kind === "start" ? "fails to start" : "crashes");
    return true;
  }

  /** Ends a process as a fault would. */
  crash(actor: Actor, reason: ExitReason | undefined, fault: string | undefined): void {
    const { process } = actor;
    if (process === undefined || !actor.alive) return;
    if (fault !== undefined) this.world.options.recorder?.fault(actor, fault);
    if (reason === undefined) process.kernel.stop(process, crash(new InjectedCrash()), undefined);
    else process.kernel.end(process, reason.type === "kill" ? KILLED : reason);
  }

  private pause(actor: Actor, rule: Rule): void {
    // No kind of fault stands before this label: how long it lasts is not to be as rare as that it happens.
    const ms = rule.ms[this.world.oracle.draw(rule.ms.length, "ms:pause")] as number;
    this.world.options.recorder?.fault(actor, `is held up for ${ms} ms`);
    this.world.agenda.park(actor);
    this.pauses.set(actor, this.world.after(ms, { fire: () => this.release(actor) }));
  }

  private release(actor: Actor): void {
    this.world.cancel(this.pauses.get(actor) as Timer);
    this.pauses.delete(actor);
    this.world.agenda.release(actor);
  }

  private rush(): boolean {
    if (this.world.timeOfNextTimer === undefined || this.world.oracle.draw(2, "rush:time") === 0)
      return false;
    this.rushesLeft--;
    this.world.options.recorder?.fault(this.world.main, "time overtakes the work that waits");
    return this.world.passTime();
  }
}

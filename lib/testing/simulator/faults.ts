// Faults by rule. Before each step, the oracle may let one strike. Each rule has a budget for the schedule, and no fault strikes
// after the scenario has called `calm`.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { crash, type ExitInput, type ExitReason, KILLED, toReason } from "../../process/reason.js";
import { InjectedCrash } from "../report/errors.js";
import type { Actor } from "./actor.js";
import type { WorldCore } from "./core.js";
import {
  type NodeCrashRule,
  NodeFaults,
  type NodePauseRule,
  type NodeRule,
  nodeCrashes,
  nodePauses,
} from "./node-faults.js";
import { durations, oneOrMany, ruleText, times } from "./options.js";
import { type ProcessPattern, patternMatcher } from "./process-pattern.js";
import type { Time } from "./time.js";

/** The targets of a fault, and how often it may strike in one schedule. */
export interface FaultRule {
  /** Processes by path. `shop/till` matches the restarted till `shop/till#2`, too; `shop/till#2` matches only that one. */
  readonly of: ProcessPattern | readonly ProcessPattern[];
  /** Times in one schedule. Default 1. */
  readonly atMost?: number;
}

/** How a process crashes. `error` throws in its own code, so its `terminate` runs. Any other reason ends it at once. */
export interface CrashRule extends FaultRule {
  /** The exit reason of the crash, or `error`, the default. */
  readonly reason?: "error" | ExitInput;
}

/** How long a paused process does not run. */
export interface PauseRule extends FaultRule {
  /** Durations to choose from, in virtual milliseconds. Default 1, 100 and 10,000. */
  readonly forMs?: readonly number[];
}

/**
 * The faults that may strike in a schedule.
 *
 * @example const faults = { crash: { of: "shop/picker*", atMost: 2 }, rush: { atMost: 1 } };
 */
export interface FaultOptions {
  /** Ends a process between two steps, whether it works, is idle or awaits. */
  readonly crash?: CrashRule | readonly CrashRule[];
  /** Lets a node lose power: its processes, its connections and the unsynced writes of its disk. Later it boots again. */
  readonly nodeCrash?: NodeCrashRule | readonly NodeCrashRule[];
  /** Pauses a process while time passes for the others. */
  readonly pause?: PauseRule;
  /** Pauses a node: none of its processes, timers and sessions runs, while time passes for the others. */
  readonly nodePause?: NodePauseRule | readonly NodePauseRule[];
  /** Makes a process fail before its first step. */
  readonly start?: FaultRule;
  /** Delays a message to these processes, so that messages of other senders overtake it. Each pair's order holds. */
  readonly delay?: FaultRule;
  /**
   * Lets time pass to the next timer of a process although others are ready, so that a timeout overtakes queued messages. Sleeps
   * of the scenario are not overtaken.
   */
  readonly rush?: {
    /** Times in one schedule: 1 or more, or Infinity. Default 1. */
    readonly atMost?: number;
  };
}

type Kind = "crash" | "pause" | "start";

interface Rule {
  readonly kind: Kind;
  /** Where it stands in the options, with its pattern: for errors. */
  readonly text: string;
  readonly of: (path: string) => boolean;
  readonly atMost: number;
  readonly reason: ExitReason | undefined;
  readonly forMs: readonly number[];
}

/** Checked rules, created once and used by every schedule. */
export interface FaultPlan {
  readonly rules: readonly Rule[];
  readonly nodes: readonly NodeRule[];
  readonly delay:
    | { readonly text: string; readonly of: (path: string) => boolean; readonly atMost: number }
    | undefined;
  readonly rushes: number;
}

const PAUSES: readonly number[] = [1, 100, 10_000];

/** The options of each kind of fault. */
const KNOWN = {
  crash: ["of", "atMost", "reason"],
  pause: ["of", "atMost", "forMs"],
  start: ["of", "atMost"],
  delay: ["of", "atMost"],
  rush: ["atMost"],
} as const;

/** @throws OptionError */
export function planFaults(options: FaultOptions = {}): FaultPlan {
  only("faults", options, [...Object.keys(KNOWN), "nodeCrash", "nodePause"]);
  const { crash, start, pause, delay: held, rush } = options;
  if (held !== undefined) only("faults.delay", held, KNOWN.delay);
  if (rush !== undefined) only("faults.rush", rush, KNOWN.rush);
  return {
    rules: [
      ...oneOrMany(crash).map((one, i) => ruleOf("crash", one, `faults.crash[${i}]`)),
      ...(start === undefined ? [] : [ruleOf("start", start, "faults.start")]),
      ...(pause === undefined ? [] : [ruleOf("pause", pause, "faults.pause")]),
    ],
    nodes: [...nodeCrashes(options.nodeCrash), ...nodePauses(options.nodePause)],
    delay:
      held === undefined
        ? undefined
        : {
            text: ruleText("faults.delay", held),
            of: patternMatcher("faults.delay.of", held.of),
            atMost: times("faults.delay", held),
          },
    rushes: rush === undefined ? 0 : times("faults.rush", rush),
  };
}

function ruleOf(kind: Kind, given: FaultRule & CrashRule & PauseRule, path: string): Rule {
  only(path, given, KNOWN[kind]);
  const { reason = "error" } = given;
  return {
    kind,
    text: ruleText(path, given),
    of: patternMatcher(`${path}.of`, given.of),
    atMost: times(path, given),
    reason: reason === "error" ? undefined : reasonOf(`${path}.reason`, reason),
    forMs: durations(`${path}.forMs`, given.forMs ?? PAUSES),
  };
}

function reasonOf(path: string, given: ExitInput): ExitReason {
  try {
    return toReason(given);
  } catch {
    throw new OptionError(path, given, '"error" or an exit reason');
  }
}

/** A rule during one schedule. */
interface ActiveRule {
  readonly rule: Rule;
  readonly targets: Actor[];
  left: number;
}

/** Footprint key of {@link Faults.calm}. */
const CALM = "calm";

export class Faults {
  readonly #core: WorldCore;
  readonly #time: Time;
  readonly #live: ActiveRule[];
  readonly nodes: NodeFaults;
  /** Rules that have not matched any process or node of this schedule: where they stand, and what they match. */
  readonly idle: Map<string, (path: string) => boolean>;
  readonly #delayOf: ((path: string) => boolean) | undefined;
  #delaysLeft: number;
  #rushesLeft: number;
  /** Paused actors, with the timers that end the pauses. */
  readonly #pauses = new Map<Actor, () => void>();
  /** The footprint of the present step contains the accesses of the last fault. */
  hasFootprint = false;
  /** No fault may strike at present. */
  calm = false;
  /** Undo lasting faults that are not by rule. */
  readonly remedies: (() => void)[] = [];

  constructor(core: WorldCore, time: Time, plan: FaultPlan) {
    this.#core = core;
    this.#time = time;
    this.#live = plan.rules.map((rule) => ({ rule, targets: [], left: rule.atMost }));
    this.idle = new Map();
    for (const { text, of } of [...plan.rules, ...(plan.delay === undefined ? [] : [plan.delay])])
      this.idle.set(text, of);
    this.nodes = new NodeFaults(core, plan.nodes, this.idle);
    this.#delayOf = plan.delay?.of;
    this.#delaysLeft = plan.delay?.atMost ?? 0;
    this.#rushesLeft = plan.rushes;
  }

  /** Whether messages may be delayed at present. */
  get delaying(): boolean {
    return this.#delaysLeft > 0 && !this.calm;
  }

  /** Whether the running step may inject a fault. */
  get allowed(): boolean {
    this.#core.footprints.read(CALM);
    return !this.calm;
  }

  /** Allows faults again. */
  start(): void {
    this.#core.footprints.wrote(CALM);
    this.calm = false;
  }

  /** Stops faults, and resumes paused processes. */
  stop(): void {
    this.#core.footprints.wrote(CALM);
    this.calm = true;
    for (const actor of this.#pauses.keys()) this.#release(actor);
    for (const remedy of this.remedies) remedy();
  }

  born(actor: Actor): void {
    for (const { rule, targets } of this.#live) {
      if (!rule.of(actor.path)) continue;
      targets.push(actor);
      this.#core.footprints.read(CALM);
    }
    for (const [text, of] of this.idle) if (of(actor.path)) this.idle.delete(text);
  }

  died(actor: Actor): void {
    for (const { targets } of this.#live) {
      const index = targets.indexOf(actor);
      if (index < 0) continue;
      targets.splice(index, 1);
      this.#core.footprints.read(CALM);
    }
  }

  /** Decides whether this message is delayed. */
  delays(from: Actor, to: Actor): boolean {
    if (!this.delaying || from.process === undefined || this.#delayOf?.(to.path) !== true) return false;
    if (this.#core.oracle.draw(2, "delay:message", undefined, from.number) === 0) return false;
    this.#delaysLeft--;
    return true;
  }

  /** Lets a fault strike, or not. Returns true when one did: that was the step. */
  strike(): boolean {
    if (this.calm) return false;
    for (const live of this.#live)
      if (live.left > 0 && live.targets.length > 0 && this.#one(live)) return true;
    if (this.nodes.strike()) return true;
    return this.#rushesLeft > 0 && this.#rush();
  }

  #one(live: ActiveRule): boolean {
    const { rule } = live;
    // A start fails before the process has run at all.
    const targets = rule.kind === "start" ? live.targets.filter((actor) => !actor.run.started) : live.targets;
    const able = rule.kind === "pause" ? targets.filter((actor) => actor.parked === undefined) : targets;
    const names =
      this.#core.options.observe === true
        ? able.map((actor) => `${this.#live.indexOf(live)} ${actor.key}`)
        : undefined;
    const choice = this.#core.oracle.draw(
      able.length + 1,
      `${rule.kind}:process`,
      undefined,
      undefined,
      names,
    );
    if (choice === 0) return false;
    live.left--;
    const actor = able[choice - 1] as Actor;
    if (rule.kind === "pause") this.#pause(actor, rule);
    else {
      this.crash(actor, rule.reason, rule.kind === "start" ? "fails to start" : "crashes");
      this.hasFootprint = true;
      this.#core.footprints.read(CALM);
      this.#core.footprints.wrote(actor.state);
      this.#core.footprints.wrote(actor.mailbox);
    }
    return true;
  }

  /** Ends a process in the way of a fault. */
  crash(actor: Actor, reason: ExitReason | undefined, fault: string | undefined): void {
    const { process } = actor;
    if (process === undefined || !actor.alive) return;
    if (fault !== undefined) this.#core.options.recorder?.fault(actor, fault);
    if (reason === undefined) process.kernel.stop(process, crash(new InjectedCrash()), undefined);
    else process.kernel.end(process, reason.type === "kill" ? KILLED : reason);
  }

  #pause(actor: Actor, rule: Rule): void {
    // The label names no kind of fault: a fault is rare, but all durations are equally likely.
    const ms = rule.forMs[this.#core.oracle.draw(rule.forMs.length, "ms:pause")] as number;
    this.#core.options.recorder?.fault(actor, `is paused for ${ms} ms`);
    this.#core.agenda.park(actor);
    this.#pauses.set(actor, this.#time.after(ms, { fire: () => this.#release(actor) }));
  }

  #release(actor: Actor): void {
    this.#pauses.get(actor)?.();
    this.#pauses.delete(actor);
    this.#core.agenda.release(actor);
  }

  #rush(): boolean {
    // A scenario that sleeps waits for what happens until then, so its sleeps are not overtaken.
    // Nor does time leap over a timer that is due.
    if (this.#core.agenda.tasks[0]?.kind === "timer") return false;
    if (!this.#time.sleepsOn || this.#core.oracle.draw(2, "rush:time") === 0) return false;
    this.#rushesLeft--;
    this.#core.options.recorder?.fault(this.#core.actors.main, "time overtakes queued work");
    this.#time.pass();
    return true;
  }
}

// Faults that strike whole nodes: a node loses power, or it is paused, by rules with a budget for the schedule.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import type { WorldCore } from "./core.js";
import { durations, oneOrMany, ruleText, times } from "./options.js";
import { type ProcessPattern, patternMatcher } from "./process-pattern.js";

/** Which nodes lose power, and how long they are down. */
export interface NodeCrashRule {
  /** Nodes by name. */
  readonly of: ProcessPattern | readonly ProcessPattern[];
  /** Times in one schedule. Default 1. */
  readonly atMost?: number;
  /** Virtual milliseconds to choose from until the node boots again. Default 0, 100 and 10,000. */
  readonly downMs?: readonly number[];
}

/**
 * The monotonic clock of a node during a pause. `runs`: as for a process that was stopped by a signal, or whose turn is long. `stands`:
 * as in a virtual machine that was suspended; its wall clock is right again when it goes on.
 */
export type PausedClock = "runs" | "stands";

/** Which nodes are paused, for how long, and what their clocks do. */
export interface NodePauseRule {
  /** Nodes by name. */
  readonly of: ProcessPattern | readonly ProcessPattern[];
  /** Times in one schedule. Default 1. */
  readonly atMost?: number;
  /** Durations to choose from, in virtual milliseconds. Default 100, 3,000 and 30,000. */
  readonly forMs?: readonly number[];
  /** Whether the monotonic clock of the node goes on: one for all pauses, or several to choose from. Default `runs`. */
  readonly clock?: PausedClock | readonly PausedClock[];
}

/** A machine that faults may strike. */
export interface FaultyNode {
  readonly name: string;
  /** It has power. */
  readonly powered: boolean;
  readonly paused: boolean;
  /** It loses power, for so many milliseconds. */
  lose(downMs: number): void;
  /** It is paused, for so many milliseconds. */
  sleep(forMs: number, clock: PausedClock): void;
}

/** One way in which a fault may strike. */
interface Blow {
  /** For reports. */
  readonly told: string;
  readonly strike: (node: FaultyNode) => void;
}

/** A checked rule. */
export interface NodeRule {
  readonly kind: "crash" | "pause";
  readonly text: string;
  readonly of: (name: string) => boolean;
  readonly atMost: number;
  /** The first is the ordinary one. */
  readonly blows: readonly Blow[];
}

const DOWN_MS: readonly number[] = [0, 100, 10_000];
/** Shorter and longer than the limit of sessions and the time of a lease. */
const PAUSE_MS: readonly number[] = [100, 3_000, 30_000];

/** @throws OptionError */
export function nodeCrashes(given: NodeCrashRule | readonly NodeCrashRule[] | undefined): NodeRule[] {
  return oneOrMany(given).map((one, index) => {
    const path = `faults.nodeCrash[${index}]`;
    only(path, one, ["of", "atMost", "downMs"]);
    const blows = durations(`${path}.downMs`, one.downMs ?? DOWN_MS).map(
      (ms): Blow => ({ told: `loses power for ${ms} ms`, strike: (node) => node.lose(ms) }),
    );
    return ruleOf("crash", path, one, blows);
  });
}

/** @throws OptionError */
export function nodePauses(given: NodePauseRule | readonly NodePauseRule[] | undefined): NodeRule[] {
  return oneOrMany(given).map((one, index) => {
    const path = `faults.nodePause[${index}]`;
    only(path, one, ["of", "atMost", "forMs", "clock"]);
    const clocks = clocksOf(`${path}.clock`, one.clock ?? "runs");
    const forMs = durations(`${path}.forMs`, one.forMs ?? PAUSE_MS);
    const blows = clocks.flatMap((clock) =>
      forMs.map(
        (ms): Blow => ({
          told: `is paused for ${ms} ms${clock === "stands" ? ", and its clock with it" : ""}`,
          strike: (node) => node.sleep(ms, clock),
        }),
      ),
    );
    return ruleOf("pause", path, one, blows);
  });
}

/** @throws OptionError */
export function checkPausedClock(path: string, given: PausedClock): PausedClock {
  if (given === "runs" || given === "stands") return given;
  throw new OptionError(path, given, '"runs" or "stands"');
}

function clocksOf(path: string, given: PausedClock | readonly PausedClock[]): readonly PausedClock[] {
  if (!Array.isArray(given)) return [checkPausedClock(path, given as PausedClock)];
  if (given.length === 0) throw new OptionError(path, given, '"runs", "stands" or both');
  return given.map((one: PausedClock, index) => checkPausedClock(`${path}[${index}]`, one));
}

function ruleOf(
  kind: NodeRule["kind"],
  path: string,
  given: NodeCrashRule | NodePauseRule,
  blows: readonly Blow[],
): NodeRule {
  return {
    kind,
    text: ruleText(path, given),
    of: patternMatcher(`${path}.of`, given.of),
    atMost: times(path, given),
    blows,
  };
}

/** The rules about nodes during one schedule. */
export class NodeFaults {
  readonly #core: WorldCore;
  readonly #rules: { readonly rule: NodeRule; left: number }[];
  readonly #nodes: FaultyNode[] = [];
  /** Rules that have not matched any process or node of this schedule. */
  readonly #idle: Map<string, (path: string) => boolean>;

  constructor(core: WorldCore, rules: readonly NodeRule[], idle: Map<string, (path: string) => boolean>) {
    this.#core = core;
    this.#rules = rules.map((rule) => ({ rule, left: rule.atMost }));
    this.#idle = idle;
    for (const { text } of rules) idle.set(text, () => false);
  }

  get names(): readonly string[] {
    return this.#nodes.map(({ name }) => name);
  }

  /** A machine joins the world. */
  add(node: FaultyNode): void {
    this.#nodes.push(node);
    for (const { rule } of this.#rules) if (rule.of(node.name)) this.#idle.delete(rule.text);
  }

  /** Lets a fault strike a node, or not. */
  strike(): boolean {
    return this.#rules.some((one) => one.left > 0 && this.#one(one));
  }

  #one(one: { readonly rule: NodeRule; left: number }): boolean {
    const { oracle, options } = this.#core;
    const { kind, of, blows } = one.rule;
    const able = this.#nodes.filter(
      (node) => node.powered && of(node.name) && !(kind === "pause" && node.paused),
    );
    const choice = oracle.draw(able.length + 1, `node:${kind}`);
    if (choice === 0) return false;
    one.left--;
    const node = able[choice - 1] as FaultyNode;
    const blow = blows[oracle.draw(blows.length, kind === "crash" ? "ms:down" : "ms:asleep")] as Blow;
    options.recorder?.faultOf(node.name, blow.told);
    blow.strike(node);
    return true;
  }
}

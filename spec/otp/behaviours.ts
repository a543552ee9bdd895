// What the traces of behaviours share: a process described by a table of reactions, a script of inputs, and virtual time.
//
// A format is one file that exports a BehaviourFormat (server.ts is one). To add another:
//
//   1. extend BehaviourRun: `launch` starts the process, by the public API, from within the given parent, and calls `born` from
//      its init; `subject` addresses it afterwards. Callbacks log themselves with `log`, take their reaction from `reactions`,
//      and carry out its effects with `carryOut`; `sleep` is the busy effect. The steps themselves are done here.
//   2. export a BehaviourFormat: `fits` tells its scenarios from those of other formats, `problem` says what is wrong with one.
//   3. list it in formats.ts. `parseTraces`, `replay` and `npm run conformance` take it from there.
//   4. put its trace file into traces/, describe it in README.md, and replay the file in otp.spec.ts.
//
// Words for reasons that a new error class stands for go into reasons.ts.

import {
  CalleeExitedError,
  CallTimeoutError,
  type Context,
  type ExitReason,
  type Pid,
  ProcessExitedError,
  type ReplyTo,
  StartError,
  System,
} from "signalbox";
import { testClock } from "signalbox/testing";
import { reasonOf, wordOf } from "./reasons.js";
import type { Seen } from "./trace.js";

type SimpleOp =
  | readonly ["cast", name: string]
  | readonly ["call", caller: string, name: string, timeout: number | "infinity"]
  | readonly ["info", name: string]
  | readonly ["exit", reason: string]
  | readonly ["parent_exit", reason: string]
  | readonly ["stop", asker: string, reason: string]
  | readonly ["kill_caller", caller: string];

export type BehaviourOp =
  | "start"
  | SimpleOp
  | readonly ["burst", ops: readonly SimpleOp[]]
  | readonly ["sleep", ms: number];

/** What a callback does: first what it returns, then what else it does. */
export type Reaction = readonly [returned: unknown, ...effects: unknown[]];

/** A word, or a list that begins with one: how returns and effects are written. */
export type Term = string | readonly [word: string, ...operands: unknown[]];

export interface BehaviourScenario {
  readonly id: string;
  /** The process traps exits from its start on. */
  readonly trap: boolean;
  readonly init: Reaction;
  readonly on: { readonly [key: string]: unknown };
  readonly terminate: "ok" | readonly ["linger", ms: number] | readonly ["crash", reason: string];
  readonly steps: readonly (Seen & { readonly op: BehaviourOp })[];
}

/** One kind of behaviour, whose scenarios have the fields of all behaviours and some of their own. */
export interface BehaviourFormat {
  readonly name: string;
  fits(scenario: Seen): boolean;
  /** What is wrong with a scenario, apart from its steps. */
  problem(scenario: Seen): string | undefined;
  run(scenario: BehaviourScenario): BehaviourRun;
}

/** The fields of a step that are compared. */
export const BEHAVIOUR_FIELDS: readonly string[] = ["result", "seen", "results", "exit"];

/** The process as a script addresses it, dead or alive. */
export interface Subject {
  cast(name: string): void;
  /** Calls in the name of `from`. The request stays in the mailbox when the wait ends early, as in OTP. */
  call(from: Context, caller: string, name: string, timeoutMs: number): Promise<unknown>;
  info(name: string): void;
  /** Asks for an orderly stop. */
  stop(reason: ExitReason): void;
}

type Act = (ctx: Context<Act>) => unknown;

interface Nap {
  readonly ms: number;
  readonly replyTo: ReplyTo<undefined>;
}

/** One run of a scenario, on a system and a clock of its own. */
export abstract class BehaviourRun {
  protected readonly system: System;
  private readonly clock = testClock();
  private readonly scenario: BehaviourScenario;
  private readonly parent: Pid<Act>;
  private readonly sleeper: Pid<Nap>;
  /** Callers and askers by their names. */
  private readonly others = new Map<string, Context>();
  /** With which reason each asker has asked for a stop. */
  private readonly asked = new Map<string, ExitReason>();
  private parentContext: Context | undefined;
  private pid: Pid<never> | undefined;
  private result: unknown;
  private seen: unknown[] = [];
  private results: { [caller: string]: unknown } = {};
  private exit: string | undefined;

  constructor(scenario: BehaviourScenario) {
    this.scenario = scenario;
    this.system = new System({ environment: this.clock.environment, report: false });
    this.system.events.on("exit", ({ pid, reason }) => {
      if (pid === this.pid) this.exit = wordOf(reason);
    });
    this.parent = this.system.spawn<Act>(
      { handle: (ctx, act) => act(ctx), signal: () => undefined },
      { trapExit: true },
    );
    this.sleeper = this.system.spawn<Nap>({
      handle: (ctx, { ms, replyTo }) => void ctx.runAfter(ms, () => ctx.reply(replyTo, undefined)),
    });
  }

  /** Starts the process, linked to `parent`, trapping exits or not. */
  protected abstract launch(parent: Context, trapExit: boolean): Promise<unknown>;

  /** The process that was born. */
  protected abstract subject(pid: Pid<never>): Subject;

  /** To be called by the init of the process. */
  protected born(pid: Pid<never>): void {
    this.pid = pid;
  }

  protected log(callback: readonly unknown[]): void {
    this.seen.push(callback);
  }

  /** Takes virtual time, whatever code awaits it. */
  protected sleep(ms: number): Promise<void> {
    return this.system.call(this.sleeper, (replyTo: ReplyTo<undefined>) => ({ ms, replyTo }), {
      timeoutMs: Number.POSITIVE_INFINITY,
    });
  }

  async step(op: BehaviourOp): Promise<Seen> {
    this.result = undefined;
    this.seen = [];
    this.results = {};
    this.exit = undefined;
    if (op === "start") await this.start();
    else if (op[0] === "sleep") await this.clock.advance(op[1]);
    else {
      const ops = op[0] === "burst" ? op[1] : [op];
      await this.enlist(ops);
      for (const one of ops) this.perform(one);
    }
    await this.clock.settle();
    return withoutEmpty({ result: this.result, seen: this.seen, results: this.results, exit: this.exit });
  }

  async close(): Promise<void> {
    await this.clock.until(this.system.stop({ timeoutMs: 0 }));
  }

  private async start(): Promise<void> {
    this.system.send(this.parent, async (ctx) => {
      this.parentContext = ctx as Context;
      try {
        await this.launch(ctx as Context, this.scenario.trap);
        this.result = "ok";
      } catch (error) {
        if (!(error instanceof StartError)) throw error;
        this.result = error.ignored ? "ignore" : ["error", wordOf(error.reason)];
      }
    });
    await this.clock.settle();
  }

  /** All who are to act in a step are there before it begins: none of the ops takes a turn of its own. */
  private async enlist(ops: readonly SimpleOp[]): Promise<void> {
    for (const op of ops) {
      if (op[0] !== "call" && op[0] !== "stop") continue;
      const [, name] = op;
      this.system.spawn({
        init: (ctx) => {
          this.others.set(name, ctx as Context);
        },
        handle: () => undefined,
        signal: (_ctx, signal) => {
          if (signal.type === "down") this.stopped(name, signal.reason);
        },
      });
    }
    await this.clock.settle();
  }

  private perform(op: SimpleOp): void {
    const pid = this.pid as Pid<never>;
    const subject = this.subject(pid);
    switch (op[0]) {
      case "cast":
        subject.cast(op[1]);
        return;
      case "info":
        subject.info(op[1]);
        return;
      case "exit":
        this.system.exit(pid, reasonOf(op[1]));
        return;
      case "parent_exit":
        this.endParent(reasonOf(op[1]));
        return;
      case "call":
        this.call(subject, op);
        return;
      case "stop": {
        const [, name, word] = op;
        const reason = reasonOf(word);
        this.asked.set(name, reason);
        (this.others.get(name) as Context).monitor(pid);
        subject.stop(reason);
        return;
      }
      case "kill_caller": {
        const caller = this.others.get(op[1]);
        if (caller !== undefined) this.system.exit(caller.self, "kill");
        return;
      }
      default:
        op satisfies never;
    }
  }

  /** At once, in the order of a burst, rather than when a message to it has its turn. */
  private endParent(reason: ExitReason): void {
    try {
      this.parentContext?.exit(reason);
    } catch (error) {
      if (!(error instanceof ProcessExitedError)) throw error;
    }
  }

  private call(
    subject: Subject,
    [, name, what, timeout]: Extract<SimpleOp, readonly ["call", ...unknown[]]>,
  ): void {
    const timeoutMs = timeout === "infinity" ? Number.POSITIVE_INFINITY : timeout;
    subject.call(this.others.get(name) as Context, name, what, timeoutMs).then(
      (value) => {
        this.results[name] = ["reply", value];
      },
      (error: unknown) => {
        if (error instanceof ProcessExitedError) return; // the caller was killed
        if (error instanceof CallTimeoutError) this.results[name] = ["timeout"];
        else if (error instanceof CalleeExitedError) this.results[name] = ["exit", wordOf(error.reason)];
        else this.results[name] = ["unforeseen", String(error)];
      },
    );
  }

  /** Only a process that took the request ends with that very reason, and not merely with one that looks the same. */
  private stopped(asker: string, reason: ExitReason): void {
    this.results[asker] = reason === this.asked.get(asker) ? ["ok"] : ["exit", wordOf(reason)];
  }
}

/** The reactions of a table: the first visit of a cell takes the first of them, and so on; the last one stays. */
export class Reactions {
  private readonly visits = new Map<string, number>();

  /** @param key - names the cell, for the count of its visits */
  take(key: string, cell: unknown): Reaction | undefined {
    if (!Array.isArray(cell)) return undefined;
    const visit = this.visits.get(key) ?? 0;
    this.visits.set(key, visit + 1);
    return cell[Math.min(visit, cell.length - 1)];
  }
}

/** Carries out effects in their order and then ends; a promise only from an effect that takes time on. */
export function carryOut<R>(
  effects: readonly unknown[],
  one: (effect: Term) => Promise<void> | undefined,
  end: () => R,
): R | Promise<R> {
  for (const [index, effect] of effects.entries()) {
    const busy = one(effect as Term);
    if (busy !== undefined) return busy.then(() => carryOut(effects.slice(index + 1), one, end));
  }
  return end();
}

/** A step leaves out what is empty. */
function withoutEmpty(seen: Seen): Seen {
  return Object.fromEntries(
    Object.entries(seen).filter(
      ([, value]) => value !== undefined && Object.keys(value as object).length > 0,
    ),
  );
}

// ── the check of a file ─────────────────────────────────────────────────────────────────────────────────────────

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === "string";
const isMs: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isTimeout: Check = (value) => value === "infinity" || isMs(value);

const OPERANDS: { readonly [name in SimpleOp[0]]: readonly Check[] } = {
  cast: [isText],
  call: [isText, isText, isTimeout],
  info: [isText],
  exit: [isText],
  parent_exit: [isText],
  stop: [isText, isText],
  kill_caller: [isText],
};

/** Whether a step's operation is one that all behaviours know. */
export function isBehaviourOp(op: unknown): boolean {
  if (op === "start") return true;
  if (!Array.isArray(op)) return false;
  if (op[0] === "sleep") return op.length === 2 && isMs(op[1]);
  if (op[0] === "burst") return op.length === 2 && Array.isArray(op[1]) && op[1].every(isSimpleOp);
  return isSimpleOp(op);
}

function isSimpleOp(op: unknown): boolean {
  if (!Array.isArray(op) || typeof op[0] !== "string" || !Object.hasOwn(OPERANDS, op[0])) return false;
  const checks = OPERANDS[op[0] as SimpleOp[0]];
  return op.length === checks.length + 1 && checks.every((check, index) => check(op[index + 1]));
}

/** What is wrong with the fields that all behaviours have. */
export function commonProblem({ trap, init, on, terminate }: Seen): string | undefined {
  if (typeof trap !== "boolean") return "trap is neither true nor false";
  if (!isReaction(init)) return "init is no reaction";
  if (typeof on !== "object" || on === null || Array.isArray(on)) return "on is no table";
  if (terminate === "ok") return undefined;
  const [word, operand] = Array.isArray(terminate) ? terminate : [];
  const isKnown = (word === "linger" && isMs(operand)) || (word === "crash" && isText(operand));
  return isKnown ? undefined : "terminate is none";
}

/** Whether a cell of a table is a list of reactions. */
export function isCell(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isReaction);
}

function isReaction(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isTerm);
}

function isTerm(value: unknown): value is Term {
  return typeof value === "string" || (Array.isArray(value) && typeof value[0] === "string");
}

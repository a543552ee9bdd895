// Programs that other nodes may start here, by name. One process of the node, the starter, is the parent of all of them. Each child has an
// owner, the process on the other node that asked for the child (placed-child.ts). When one of the two ends, the other one ends too.

import type { Callbacks, StartOutcome } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Signal } from "../../process/entries.js";
import { OptionError } from "../../process/errors.js";
import { waitForExit } from "../../process/exited.js";
import type { Monitor } from "../../process/monitor.js";
import { kernelOf, text } from "../../process/options.js";
import { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { crash, type ExitReason, isOrderly, KILL, SHUTDOWN, toReason } from "../../process/reason.js";
import type { ReplyTo } from "../../process/request.js";
import { spawnAwaited } from "../../process/start.js";
import type { ProcessSystem } from "../../process/system.js";
import { CHILD_DEFAULTS, type ChildStart, checkChild, childLaunch } from "../../supervisor/child.js";
import { killAfter } from "../../supervisor/child-process.js";
import { UnknownProgramError } from "./errors.js";

/** Programs by their names: definitions of servers, supervisors and the like, and the bodies or callbacks of plain processes. */
export type Programs = Readonly<Record<string, ChildStart>>;

/** How the start of a program ended. */
export type ProgramStart =
  | { readonly type: "started"; readonly pid: Pid<unknown> }
  | { readonly type: "ignored" }
  | { readonly type: "failed"; readonly reason: ExitReason };

/** A message to the starter of a node. */
export type StarterMessage =
  | {
      readonly type: "start";
      readonly program: string;
      readonly args: readonly unknown[];
      /** When the child ends, the starter sends the owner an EXIT. When the owner ends, the child is stopped. Undefined: it has no owner. */
      readonly owner: Pid | undefined;
      readonly replyTo: ReplyTo<ProgramStart>;
    }
  | {
      /** Ends the child as a signal of its supervisor would. */
      readonly type: "exit";
      readonly pid: Pid;
      readonly reason: ExitReason;
    };

interface StartedChild {
  readonly owner: Pid | undefined;
  readonly watch: Monitor | undefined;
}

/** @throws OptionError */
export function checkPrograms(path: string, value: unknown): Programs {
  const given = value as Programs;
  if (typeof given !== "object" || given === null)
    throw new OptionError(path, given, "an object of programs by name");
  for (const [name, start] of Object.entries(given))
    checkChild(`${path}.${name}`, { id: text("name", name), start } as never, "never");
  return given;
}

/**
 * Starts the process that starts programs for other nodes. It ends its children before itself.
 *
 * @param stops - called when it begins to end its children: no further child should be placed here
 */
export function startStarter(
  system: ProcessSystem,
  programs: Programs,
  stops: () => void = () => undefined,
): Pid<StarterMessage> {
  return kernelOf(system).spawn(new Starter(programs, stops), undefined, {
    label: "starter",
    trapExit: true,
    // Each child has its own limit, so the starter needs none.
    shutdown: Number.POSITIVE_INFINITY,
  }).pid as Pid<StarterMessage>;
}

class Starter implements Callbacks<StarterMessage> {
  readonly #programs: Programs;
  readonly #stops: () => void;
  readonly #children = new Map<Pid, StartedChild>();

  constructor(programs: Programs, stops: () => void) {
    this.#programs = programs;
    this.#stops = stops;
  }

  handle(ctx: Context<StarterMessage>, message: StarterMessage): void {
    if (!isObject(message)) return;
    if (message.type === "exit") this.#exit(ctx, message.pid, message.reason);
    else if (
      message.type === "start" &&
      typeof (message.replyTo as { answer?: unknown })?.answer === "function"
    )
      this.#start(ctx, message);
  }

  #exit(ctx: Context<StarterMessage>, pid: Pid, reason: ExitReason): void {
    if (!this.#children.has(pid)) return;
    try {
      ctx.exit(pid, toReason(reason));
    } catch (error) {
      if (!(error instanceof OptionError)) throw error;
      ctx.exit(pid, crash(error));
    }
  }

  #start(
    ctx: Context<StarterMessage>,
    { program, args, owner, replyTo }: StarterMessage & { type: "start" },
  ) {
    const start = Object.hasOwn(this.#programs, program) ? this.#programs[program] : undefined;
    if (start === undefined || !Array.isArray(args) || !(owner === undefined || owner instanceof Pid)) {
      ctx.refuse(replyTo, new UnknownProgramError(String(program), Object.keys(this.#programs)));
      return;
    }
    const process = ctx.self.process as Process;
    const { kernel } = process;
    const answer = (outcome: StartOutcome): void => {
      if (ctx.alive) ctx.reply(replyTo, outcome.type === "started" ? { ...outcome, pid: child } : outcome);
    };
    let child: Pid<unknown>;
    try {
      const { behaviour, options } = childLaunch(start, args);
      const own = { ...options, label: options?.label ?? program };
      const spawned = spawnAwaited(kernel, process, behaviour, own, Number.POSITIVE_INFINITY, answer);
      child = spawned.pid;
      this.#children.set(child, { owner, watch: owner === undefined ? undefined : ctx.monitor(owner) });
      kernel.links.link(process, child, spawned.exitReason);
    } catch (error) {
      ctx.reply(replyTo, { type: "failed", reason: crash(error) });
    }
  }

  signal(ctx: Context<StarterMessage>, signal: Signal): void {
    if (signal.type === "exit") this.#ended(ctx, signal.from, signal.reason);
    else if (signal.type === "down") this.#ownerless(ctx, signal.ref, signal.reason);
  }

  #ended(ctx: Context<StarterMessage>, pid: Pid, reason: ExitReason): void {
    const child = this.#children.get(pid);
    if (!this.#children.delete(pid) || child?.owner === undefined) return;
    if (child.watch !== undefined) ctx.demonitor(child.watch, { flush: true });
    ctx.exit(child.owner, reason);
  }

  /** The owner has ended, or its node is lost. Its supervisor may start the child elsewhere, so this child stops. */
  #ownerless(ctx: Context<StarterMessage>, ref: Monitor, reason: ExitReason): void {
    for (const [pid, { watch }] of this.#children) {
      if (watch !== ref) continue;
      const isGentle = isOrderly(reason) || reason.type === "noconnection";
      killAfter(ctx, pid, isGentle ? CHILD_DEFAULTS.shutdown.worker : "brutal_kill");
      return;
    }
  }

  /** The node stops: all children are shut down at the same time. */
  async terminate(ctx: Context<StarterMessage>): Promise<void> {
    const { kernel } = ctx.self.process as Process;
    this.#stops();
    const ends = [...this.#children.keys()].map(async (pid) => {
      const gone = waitForExit(kernel, pid, undefined);
      ctx.exit(pid, SHUTDOWN);
      const timer = kernel.addTimer(kernel.limits.shutdownMs, {
        fire: () => ctx.alive && ctx.exit(pid, KILL),
      });
      await gone;
      kernel.cancelTimer(timer);
    });
    await Promise.all(ends);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

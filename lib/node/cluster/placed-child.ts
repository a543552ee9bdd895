// The process that stands for a child on another node, on the side of its supervisor. It asks the other node to start the child (programs.ts)
// and passes messages on. When the child ends, the process ends with the same reason; when the node is lost, with `noconnection`. When the
// process ends, the child is stopped.

import { type Callbacks, deferStart, ignore, Stop } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Signal } from "../../process/entries.js";
import { CalleeExitedError } from "../../process/errors.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { crash, type ExitReason, NORMAL } from "../../process/reason.js";
import { type Reply, type ReplyTo, Request } from "../../process/request.js";
import { type Launch, launch, type Startable } from "../../process/start.js";
import { NoNodeError } from "./errors.js";
import type { KnownNode, Placement, ProgramNodes } from "./placement.js";
import type { ProgramStart } from "./programs.js";

/** The program of a child, and how its node is chosen. */
export interface PlacedOptions {
  readonly nodes: ProgramNodes;
  readonly placement: Placement;
  /** How long the child waits for a node, in milliseconds. */
  readonly placeTimeoutMs: number;
  readonly program: string;
  readonly args: readonly unknown[];
  /** Called when the node is lost, and says whether that is the fault of another child there. */
  readonly lost?: ((isInnocent: boolean) => void) | undefined;
}

/** The start of a child on another node, for child specs. Its handle is the pid of the process here that stands for it. */
export function placedChild(options: PlacedOptions): Startable<readonly [], Pid<unknown>> {
  return {
    [launch]: (): Launch<Pid<unknown>> => ({
      behaviour: new PlacedChild(options) as Callbacks<never>,
      options: { label: options.program, trapExit: true },
      ref: (pid) => pid as Pid<unknown>,
    }),
  };
}

class PlacedChild implements Callbacks<unknown> {
  readonly #options: PlacedOptions;
  #at: KnownNode | undefined;
  #child: Pid<unknown> | undefined;
  /** Messages that came before the child had started. */
  #early: unknown[] = [];
  #giveUpWaiting: (() => void) | undefined;

  constructor(options: PlacedOptions) {
    this.#options = options;
  }

  init(ctx: Context<unknown>): unknown {
    const { nodes, program, placeTimeoutMs } = this.#options;
    // This runs however the process ends, also when it is killed.
    ctx.signal.addEventListener("abort", () => this.#leave(), { once: true });
    if (this.#place(ctx)) return deferStart;
    const process = ctx.self.process as Process;
    const stopListening = nodes.onNode(() => process.perform(() => void this.#place(ctx)));
    const limit = ctx.runAfter(placeTimeoutMs, () => {
      ctx.exit(crash(new NoNodeError(program, placeTimeoutMs)));
    });
    this.#giveUpWaiting = () => {
      stopListening();
      if (ctx.alive) ctx.cancel(limit);
    };
    return deferStart;
  }

  /** Places the child, unless it is placed already. False: no node can have it yet. */
  #place(ctx: Context<unknown>): boolean {
    const { nodes, placement, program, args } = this.#options;
    const all = nodes.all.filter((node) => node.offers(program));
    if (this.#at !== undefined || all.length === 0) return this.#at !== undefined;
    const at = placement(all, program, args) as KnownNode | undefined;
    if (at === undefined) return false;
    this.#giveUpWaiting?.();
    this.#giveUpWaiting = undefined;
    this.#at = at;
    at.children++;
    ctx.monitor(at.starter);
    ctx.ask(
      at.starter,
      (replyTo: ReplyTo<ProgramStart>) => ({
        type: "start" as const,
        program,
        args,
        owner: ctx.self,
        replyTo,
      }),
      (reply) => this.#answered(ctx, reply),
      { timeoutMs: Number.POSITIVE_INFINITY },
    );
    return true;
  }

  #answered(ctx: Context<unknown>, reply: Reply<ProgramStart>): unknown {
    if (!reply.ok) {
      const { error } = reply;
      // The starter is gone. The reason is that of the DOWN that follows.
      return error instanceof CalleeExitedError ? this.#over(error.reason) : new Stop(crash(error));
    }
    const start = reply.value;
    if (start.type === "failed") return new Stop(start.reason);
    // The supervisor forgets the child, as it forgets a local child whose `init` returns `ignore`.
    if (start.type === "ignored") {
      const process = ctx.self.process as Process;
      process.kernel.started(process, ignore);
      return undefined;
    }
    this.#child = start.pid;
    ctx.started();
    for (const message of this.#early.splice(0)) this.#passOn(ctx, start.pid, message);
    return undefined;
  }

  handle(ctx: Context<unknown>, message: unknown): void {
    if (this.#child === undefined) this.#early.push(message);
    else this.#passOn(ctx, this.#child, message);
  }

  /** A message that cannot travel is the sender's mistake, and must not end the child. */
  #passOn(ctx: Context<unknown>, child: Pid<unknown>, message: unknown): void {
    try {
      ctx.send(child, message);
    } catch (error) {
      if (message instanceof Request) message.fail(error, "undelivered");
      else
        (ctx.self.process as Process).kernel.deadLetter(child, message, "unsendable", () => error as Error);
    }
  }

  signal(ctx: Context<unknown>, signal: Signal): unknown {
    const starter = this.#at?.starter;
    // The starter has only one process for this owner: the child.
    if (signal.type === "exit" && signal.from === starter) return this.#over(signal.reason);
    if (signal.type === "down" && signal.pid === starter) return this.#over(signal.reason);
    if (signal.type === "exit" && this.#child !== undefined && signal.reason !== NORMAL)
      this.#pass(ctx, signal.reason);
    return undefined;
  }

  #over(reason: ExitReason): Stop {
    if (reason.type === "noconnection") this.#options.lost?.(this.#at?.spares(this.#child) ?? false);
    return new Stop(reason);
  }

  /** The supervisor stops this process, which ends after the child has ended. */
  parentExit(ctx: Context<unknown>, reason: ExitReason): unknown {
    if (this.#child === undefined) return new Stop(reason);
    this.#pass(ctx, reason);
    return undefined;
  }

  #pass(ctx: Context<unknown>, reason: ExitReason): void {
    const { starter } = this.#at as KnownNode;
    ctx.send(starter, { type: "exit", pid: this.#child as Pid, reason });
  }

  #leave(): void {
    this.#giveUpWaiting?.();
    if (this.#at !== undefined) this.#at.children--;
    this.#at = undefined;
  }
}

// The process of a contender: it carries requests to the source of the lease, and starts and stops the process that runs under the lease.
// lease-machine.ts decides.

import { whenAborted } from "../../process/abort.js";
import type { Behaviour, Callbacks } from "../../process/behaviour.js";
import type { BodyContext } from "../../process/body-context.js";
import type { Context } from "../../process/context.js";
import { EffectLoop } from "../../process/effect-loop.js";
import type { Signal } from "../../process/entries.js";
import type { TimerRef } from "../../process/owned-timer.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { processSignal } from "../../process/process-signal.js";
import { crash, type ExitReason, SHUTDOWN } from "../../process/reason.js";
import type { ReplyTo } from "../../process/request.js";
import { show, showThrown } from "../../process/show.js";
import type { FullChildSpec } from "../../supervisor/child.js";
import {
  type ChildStartOutcome,
  hasStarted,
  killAfter,
  launchChild,
} from "../../supervisor/child-process.js";
import { LeaseLostError } from "./errors.js";
import { holderText } from "./holder.js";
import {
  decide,
  initial,
  isHeld,
  type LeaseEffect,
  type LeaseEvent,
  type LeaseState,
  type LeaseTimes,
} from "./lease-machine.js";
import type { HeldLease, LeaseSource } from "./lease-source.js";

type EventBody<E = LeaseEvent> = E extends LeaseEvent ? Omit<E, "now" | "roll"> : never;

/** The messages of a contender. */
export type SingletonMessage =
  | { readonly type: "event"; readonly event: EventBody }
  | { readonly type: "acquired"; readonly request: number; readonly lease: HeldLease }
  | { readonly type: "failed"; readonly request: number; readonly error: unknown }
  /** Asks for the process that runs under the lease, if it runs here. */
  | { readonly type: "where"; readonly replyTo: ReplyTo<Pid | undefined> };

/** The parts of a singleton. */
export interface SingletonParts {
  readonly name: string;
  readonly source: LeaseSource;
  readonly times: LeaseTimes;
  readonly spec: FullChildSpec;
  readonly args: readonly unknown[];
}

/** The process that runs under the lease. */
interface Occupant {
  readonly pid: Pid;
  readonly lost: AbortController;
  readonly token: number;
}

/** The child is killed at the latest so long before the lease ends, as a share of the time of the lease. The kill needs time to take effect. */
const KILL_PART = 16;

export class SingletonProcess implements Callbacks<SingletonMessage | ChildStartOutcome> {
  readonly #parts: SingletonParts;
  readonly #requests = new Map<number, AbortController>();
  #ctx!: Context<SingletonMessage | ChildStartOutcome>;
  #loop!: EffectLoop<LeaseState, LeaseEvent, LeaseEffect>;
  #timer: TimerRef | undefined;
  /** The lease that was acquired last. While the machine holds a lease, this is the one. */
  #lease: HeldLease | undefined;
  #occupant: Occupant | undefined;
  /** The reason with which this process will end. Undefined until it is known. */
  #reason: ExitReason = SHUTDOWN;
  /** The last error of the source, until it answers. */
  #trouble: unknown;
  #unwatch: (() => void) | undefined;

  constructor(parts: SingletonParts) {
    this.#parts = parts;
  }

  init(ctx: Context<SingletonMessage | ChildStartOutcome>): void {
    const { name, source, times } = this.#parts;
    this.#ctx = ctx;
    this.#loop = new EffectLoop<LeaseState, LeaseEvent, LeaseEffect>(initial(times), decide, (effect) =>
      this.#carryOut(effect),
    );
    this.#unwatch = source.watch?.(name, () => this.#post({ type: "event", event: { type: "freed" } }));
    // After a kill or a crash the lease expires by itself. All requests to the source are aborted.
    ctx.signal.addEventListener("abort", () => this.#leave(), { once: true });
    this.#dispatch({ type: "start" });
  }

  handle(ctx: Context<SingletonMessage>, message: SingletonMessage | ChildStartOutcome): void {
    switch (message.type) {
      case "event":
        this.#trouble = undefined;
        this.#dispatch(message.event);
        return;
      case "acquired": {
        const { request, lease } = message;
        this.#trouble = undefined;
        this.#requests.delete(request);
        this.#lease = lease;
        this.#dispatch({ type: "acquired", request, token: lease.token });
        return;
      }
      case "failed":
        this.#failed(message.error);
        this.#dispatch({ type: "failed", request: message.request });
        return;
      case "where": {
        const pid = this.#occupant?.pid;
        ctx.reply(message.replyTo, pid !== undefined && hasStarted(pid) ? pid : undefined);
        return;
      }
      case "outcome":
        // A failed start is reported by the exit of its process.
        return;
      default:
        message satisfies never;
    }
  }

  signal(_ctx: Context<SingletonMessage>, signal: Signal): void {
    const occupant = this.#occupant;
    if (signal.type !== "exit" || signal.from !== occupant?.pid) return;
    this.#occupant = undefined;
    this.#vacated(occupant, signal.reason);
  }

  parentExit(_ctx: Context<SingletonMessage>, reason: ExitReason): void {
    this.#reason = reason;
    this.#dispatch({ type: "stop" });
  }

  #dispatch(event: EventBody): void {
    const ctx = this.#ctx;
    this.#loop.dispatch({ ...event, now: ctx.now(), roll: ctx.random() } as LeaseEvent);
  }

  #carryOut(effect: LeaseEffect): void {
    const { source, name, times } = this.#parts;
    const ctx = this.#ctx;
    switch (effect.type) {
      case "acquire":
        this.#ask(effect.request, (signal) => {
          const holder = holderText(ctx.self);
          return source.acquire(name, holder, times.ttlMs, signal).then((lease) => {
            const { request } = effect;
            if (lease === undefined) this.#post({ type: "event", event: { type: "refused", request } });
            else if (!this.#post({ type: "acquired", request, lease })) this.#giveBack(lease);
          });
        });
        return;
      case "renew": {
        const lease = this.#lease as HeldLease;
        this.#ask(effect.request, (signal) =>
          source.renew(lease, signal).then((isRenewed) => {
            const { request } = effect;
            const event: EventBody = isRenewed
              ? { type: "renewed", request }
              : { type: "gone", token: lease.token };
            this.#post({ type: "event", event });
          }),
        );
        return;
      }
      case "release": {
        const lease = this.#lease as HeldLease;
        this.#ask(effect.request, (signal) =>
          source.release(lease, signal).then(() => {
            this.#post({ type: "event", event: { type: "released", request: effect.request } });
          }),
        );
        return;
      }
      case "abandon":
        for (const request of effect.requests) {
          this.#requests.get(request)?.abort(new Error("it took too long"));
          this.#requests.delete(request);
        }
        return;
      case "give-back":
        this.#giveBack(this.#lease as HeldLease);
        return;
      case "occupy":
        this.#occupy();
        return;
      case "vacate":
        this.#vacate(effect.isLost, effect.until);
        return;
      case "wake":
        this.#wake(effect.at);
        return;
      case "stopped":
        ctx.exit(this.#reason);
        return;
      default:
        effect satisfies never;
    }
  }

  #ask(request: number, work: (signal: AbortSignal) => Promise<void>): void {
    const controller = new AbortController();
    this.#requests.set(request, controller);
    const run = async (): Promise<void> => work(controller.signal);
    run().then(
      () => this.#requests.delete(request),
      (error: unknown) => {
        this.#requests.delete(request);
        this.#post({ type: "failed", request, error });
      },
    );
  }

  /** Returns false when this process has ended. */
  #post(message: SingletonMessage): boolean {
    const ctx = this.#ctx;
    if (!ctx.alive) return false;
    ctx.send(ctx.self as Pid<SingletonMessage>, message);
    return true;
  }

  /** The result is not awaited: if the release fails, the lease ends when its time is over. */
  #giveBack(lease: HeldLease): void {
    this.#parts.source.release(lease, new AbortController().signal).catch(() => undefined);
  }

  #occupy(): void {
    const { spec, args } = this.#parts;
    const held = this.#lease as HeldLease;
    const { name, token } = held;
    let child: Process | undefined;
    // The listeners of this signal belong to the process under the lease.
    const lost = processSignal((listener) => child?.perform(listener));
    const loop = this.#loop;
    const { env } = this.#kernel;
    const lease = {
      name,
      token,
      lost: lost.signal,
      get isHeld(): boolean {
        const { phase } = loop.state;
        return phase.type === "held" && phase.token === token && isHeld(loop.state, env.now());
      },
    };
    if (held.lost !== undefined)
      whenAborted(held.lost, () => this.#post({ type: "event", event: { type: "gone", token } }));
    try {
      const pid = launchChild(this.#ctx, runnable(spec, lease, args), [lease, ...args]);
      child = pid.process as Process | undefined;
      this.#occupant = { pid, lost, token };
    } catch (error) {
      this.#vacated({ lost, token }, crash(error));
    }
  }

  /** Before the lease ends: first the signal aborts, then the process is stopped in order, then it is killed. */
  #vacate(isLost: boolean, until: number): void {
    const occupant = this.#occupant;
    if (occupant === undefined) return;
    const { spec, times } = this.#parts;
    const ctx = this.#ctx;
    const leftMs = Math.max(0, until - ctx.now() - times.ttlMs / KILL_PART);
    if (isLost) this.#lost(occupant, this.#whyLost());
    const { pid } = occupant;
    const isReady = hasStarted(pid) || spec.type === "supervisor";
    const limit = spec.shutdown === "brutal_kill" || !isReady ? 0 : Math.min(spec.shutdown, leftMs);
    killAfter(ctx, pid, limit === 0 ? "brutal_kill" : limit);
  }

  #whyLost(): string {
    return this.#trouble === undefined
      ? "was lost: another holder has it, or no renewal was answered in time"
      : `was lost: it was not renewed in time (${showThrown(this.#trouble)})`;
  }

  /** The process under the lease has ended. If it ended by itself, this process ends with the same reason. */
  #vacated({ lost, token }: Omit<Occupant, "pid">, reason: ExitReason): void {
    const { phase } = this.#loop.state;
    if (!lost.signal.aborted) lost.abort(new LeaseLostError(this.#parts.name, token, "is given back"));
    if (phase.type === "held" && !phase.isStopping) {
      this.#reason = reason;
      this.#dispatch({ type: "stop" });
    }
    this.#dispatch({ type: "vacated" });
  }

  #lost(occupant: Occupant, why: string): void {
    const error = new LeaseLostError(this.#parts.name, occupant.token, why);
    this.#report(`singleton ${this.#parts.name}: ${error.message}`);
    occupant.lost.abort(error);
  }

  #failed(error: unknown): void {
    const { name, source } = this.#parts;
    if (this.#trouble === undefined)
      this.#report(
        `singleton ${name}: the source of its lease (${show(source.label)}) failed: ${showThrown(error)}`,
      );
    this.#trouble = error;
  }

  #report(text: string): void {
    const { reports } = this.#kernel;
    if (reports.admits("lease"))
      reports.write({ level: "warn", event: "lease", path: String(this.#ctx.self), text });
  }

  #wake(at: number | undefined): void {
    const ctx = this.#ctx;
    if (this.#timer !== undefined) ctx.cancel(this.#timer);
    this.#timer =
      at === undefined
        ? undefined
        : ctx.runAfter(Math.max(0, at - ctx.now()), () => this.#dispatch({ type: "tick" }));
  }

  /** This process has ended. */
  #leave(): void {
    this.#unwatch?.();
    for (const controller of this.#requests.values()) controller.abort(new Error("the contender has ended"));
    this.#requests.clear();
    const occupant = this.#occupant;
    if (occupant !== undefined && !occupant.lost.signal.aborted)
      occupant.lost.abort(
        new LeaseLostError(this.#parts.name, occupant.token, "is not renewed any more: its contender ended"),
      );
  }

  get #kernel(): Process["kernel"] {
    return (this.#ctx.self.process as Process).kernel;
  }
}

/** A function gets the lease as its second argument, as `init` of a definition does. */
export function runnable(spec: FullChildSpec, lease: unknown, args: readonly unknown[]): FullChildSpec {
  const { start } = spec;
  if (typeof start !== "function") return spec;
  const body = start as (ctx: BodyContext<never>, ...args: readonly unknown[]) => unknown;
  const bound: Behaviour<never> = (ctx: BodyContext<never>) => body(ctx, lease, ...args);
  return { ...spec, start: bound };
}

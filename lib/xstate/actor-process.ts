// The process that hosts an actor of XState with all that it invokes and spawns.

import { type AnyActorLogic, type AnyEventObject, createActor, type Snapshot } from "xstate";
import { type Callbacks, type Stop, stop } from "../process/behaviour.js";
import type { Context } from "../process/context.js";
import type { Signal } from "../process/entries.js";
import type { Inspected } from "../process/inspected.js";
import type { Pid } from "../process/pid.js";
import type { Process } from "../process/process.js";
import { crash, type ExitReason } from "../process/reason.js";
import { Request } from "../process/request.js";
import { clockOf, Host } from "./host.js";

/** A question of a handle. `holds` is asked of each snapshot until it is true; then the snapshot is the reply. */
export class SnapshotRequest extends Request {
  readonly holds: (snapshot: unknown) => boolean;
  readonly pick: (snapshot: never) => unknown;
  constructor(holds: (snapshot: never) => boolean, pick: (snapshot: never) => unknown) {
    super();
    this.holds = holds as (snapshot: unknown) => boolean;
    this.pick = pick;
    this.message = this;
  }
}

/** The request of a handle for what can be stored. */
export class PersistRequest extends Request {
  constructor() {
    super();
    this.message = this;
  }
}

/** The request of a handle to stop the actor. */
export class StopActor {
  readonly reason: ExitReason;
  constructor(reason: ExitReason) {
    this.reason = reason;
  }
}

/** The last snapshots of actors that are done, for handles that ask after the end. */
export const lastSnapshots: WeakMap<Pid, unknown> = new WeakMap();

export interface ActorPlan {
  readonly logic: AnyActorLogic;
  readonly input: unknown;
  readonly snapshot: Snapshot<unknown> | undefined;
  readonly signal: ((signal: Signal) => AnyEventObject | undefined) | undefined;
  readonly info: ((message: unknown) => AnyEventObject | undefined) | undefined;
}

interface LooseActor {
  start(): unknown;
  stop(): unknown;
  send(event: AnyEventObject): void;
  getSnapshot(): unknown;
  getPersistedSnapshot(): unknown;
  subscribe(observer: { next?: unknown; error: (error: unknown) => void; complete?: () => void }): unknown;
}

export class ActorProcess implements Callbacks<never> {
  readonly #plan: ActorPlan;
  #actor: LooseActor | undefined = undefined;
  #host: Host | undefined = undefined;
  /** Set by the end of the actor: how its process ends. */
  #end: Stop | undefined = undefined;
  /** Code of the actor runs within a turn of the process, which deals with its end. */
  #isInTurn = false;
  #waiting: SnapshotRequest[] = [];

  constructor(plan: ActorPlan) {
    this.#plan = plan;
  }

  init(ctx: Context<never>): unknown {
    const { logic, input, snapshot } = this.#plan;
    const own = ctx as Context<unknown>;
    const host = new Host(own);
    this.#host = host;
    const options = { input, clock: clockOf(own), ...(snapshot === undefined ? {} : { snapshot }) };
    const actor = host.create(() => createActor(logic, options as never)) as unknown as LooseActor;
    this.#actor = actor;
    actor.subscribe({
      next: (current: unknown) => this.#changed(current),
      error: (error: unknown) => this.#ended(ctx, stop(crash(error))),
      complete: () => this.#completed(ctx, actor),
    });
    // A kill runs no `terminate`, and what the actor invoked has to end all the same.
    ctx.signal.addEventListener("abort", () => this.#stopActor());
    const end = this.#inTurn(() => actor.start());
    if (end?.reason.type === "normal") ctx.started();
    return end;
  }

  handle(ctx: Context<never>, message: unknown): unknown {
    if (message instanceof StopActor) return stop(message.reason);
    if (message instanceof SnapshotRequest) return this.#ask(message);
    if (message instanceof PersistRequest) return message.answer(this.#actor?.getPersistedSnapshot());
    const event = isEvent(message) ? message : this.#plan.info?.(message);
    return event === undefined ? unhandled(ctx, message) : this.#inTurn(() => this.#actor?.send(event));
  }

  signal(ctx: Context<never>, signal: Signal): unknown {
    if (signal.type === "down") {
      let ours = false;
      const end = this.#inTurn(() => {
        ours = this.#host?.down(signal) === true;
      });
      if (ours) return end;
    }
    const event = this.#plan.signal?.(signal);
    return event === undefined ? unhandled(ctx, signal) : this.#inTurn(() => this.#actor?.send(event));
  }

  terminate(): void {
    this.#stopActor();
  }

  inspected(): Inspected {
    return { kind: "XState actor", state: () => this.#actor?.getPersistedSnapshot() };
  }

  /** Runs code of the actor. Returns the Stop of a process whose actor has come to its end. */
  #inTurn(code: () => unknown): Stop | undefined {
    this.#isInTurn = true;
    try {
      code();
    } finally {
      this.#isInTurn = false;
    }
    return this.#end;
  }

  #ask(request: SnapshotRequest): void {
    const snapshot = this.#actor?.getSnapshot();
    if (request.holds(snapshot)) request.answer(request.pick(snapshot as never));
    else this.#waiting.push(request);
  }

  #changed(snapshot: unknown): void {
    if (this.#waiting.length === 0) return;
    const still: SnapshotRequest[] = [];
    for (const request of this.#waiting) {
      if (!request.open) continue;
      if (!request.holds(snapshot)) still.push(request);
      else request.answer(request.pick(snapshot as never));
    }
    this.#waiting = still;
  }

  #completed(ctx: Context<never>, actor: LooseActor): void {
    const snapshot = actor.getSnapshot() as Snapshot<unknown>;
    // A stop completes an actor too.
    if (snapshot.status !== "done") return;
    lastSnapshots.set(ctx.self, snapshot);
    this.#ended(ctx, stop());
  }

  /** The actor has ended: at once when a promise or a callback of the host brought that about. */
  #ended(ctx: Context<never>, end: Stop): void {
    this.#end ??= end;
    if (!this.#isInTurn && ctx.alive) (ctx.self.process as Process).perform(() => this.#end);
  }

  #stopActor(): void {
    this.#end ??= stop();
    this.#actor?.stop();
  }
}

function isEvent(message: unknown): message is AnyEventObject {
  return typeof (message as AnyEventObject | undefined | null)?.type === "string";
}

function unhandled(ctx: Context<never>, message: unknown): undefined {
  const { process } = ctx.self;
  process?.kernel.deadLetter(process.pid, message, "unhandled");
}

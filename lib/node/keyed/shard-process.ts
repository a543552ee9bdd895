// The process that runs where the lease of a shard is held: the parent of the processes of its keys. keys-machine.ts decides.

import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import { EffectLoop } from "../../process/effect-loop.js";
import type { Signal } from "../../process/entries.js";
import { StartError } from "../../process/errors.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { crash, type ExitReason, SHUTDOWN } from "../../process/reason.js";
import { type ReplyTo, requestOf } from "../../process/request.js";
import { type Launch, launch, type Startable } from "../../process/start.js";
import type { Store } from "../../store/store.js";
import { childHandle, type FullChildSpec } from "../../supervisor/child.js";
import { type ChildStartOutcome, launchChild } from "../../supervisor/child-process.js";
import type { Lease } from "../lease/singleton.js";
import { runnable } from "../lease/singleton-process.js";
import { KeyEntry, keyedStates, type StateRow } from "./key-entry.js";
import { decide, initial, type KeysEffect, type KeysEvent, type KeysState } from "./keys-machine.js";

/** What the shards of one kind on one node have in common. */
export interface ShardGround {
  readonly kind: string;
  readonly store: Store;
  readonly spec: FullChildSpec;
  readonly args: readonly unknown[];
  readonly maxKeys: number;
  readonly maxWaiting: number;
  readonly shutdownMs: number;
  /** How many keys have a process on this node. */
  keys: number;
}

/** Where a key is, as the node that was asked knows it. */
export type KeyFound =
  | { readonly type: "found"; readonly pid: Pid<never> }
  /** The shard is not there, or not there any more. */
  | { readonly type: "moved" }
  | { readonly type: "busy" };

/** The messages of a shard. */
export type ShardMessage =
  | {
      readonly type: "ask";
      readonly key: string;
      readonly replyTo: ReplyTo<KeyFound>;
    }
  | {
      readonly type: "loaded";
      readonly life: number;
      readonly row: StateRow | undefined;
    }
  | {
      readonly type: "unreadable";
      readonly life: number;
      readonly error: unknown;
    };

/** To the host: this shard is held. */
export interface ShardHeld {
  readonly type: "held";
  readonly shard: number;
  readonly token: number;
  readonly pid: Pid<ShardMessage>;
}

/** What runs under the lease of a shard. Its `init` gets the lease. */
export function shardStart(
  ground: ShardGround,
  shard: number,
  host: Pid<ShardHeld>,
): Startable<readonly [Lease], Pid<ShardMessage>> {
  return {
    [launch]: ([lease]: readonly [Lease]): Launch<Pid<ShardMessage>> => ({
      behaviour: new ShardProcess(ground, shard, host, lease) as Callbacks<never>,
      options: { label: `shard ${shard} of ${ground.kind}`, trapExit: true },
      ref: (pid) => pid as Pid<ShardMessage>,
    }),
  };
}

/** One life of a key: what it was given, and its process. */
interface Living {
  readonly key: string;
  entry: KeyEntry<unknown> | undefined;
  pid: Pid | undefined;
}

class ShardProcess implements Callbacks<ShardMessage | ChildStartOutcome> {
  readonly #ground: ShardGround;
  readonly #shard: number;
  readonly #host: Pid<ShardHeld>;
  readonly #lease: Lease;
  readonly #asks = new Map<number, ReplyTo<KeyFound>>();
  readonly #lives = new Map<number, Living>();
  readonly #lifeOf = new Map<Pid, number>();
  /** By key: the saves of its last process that are still on their way. */
  readonly #unsettled = new Map<string, Promise<unknown>>();
  #ctx!: Context<ShardMessage | ChildStartOutcome>;
  #loop!: EffectLoop<KeysState, KeysEvent, KeysEffect>;
  #nextAsk = 1;
  #counted = 0;
  #reason: ExitReason = SHUTDOWN;

  constructor(ground: ShardGround, shard: number, host: Pid<ShardHeld>, lease: Lease) {
    this.#ground = ground;
    this.#shard = shard;
    this.#host = host;
    this.#lease = lease;
  }

  init(ctx: Context<ShardMessage | ChildStartOutcome>): void {
    this.#ctx = ctx;
    this.#loop = new EffectLoop<KeysState, KeysEvent, KeysEffect>(
      initial(this.#ground.maxWaiting),
      decide,
      (effect) => this.#carryOut(effect),
    );
    // However the process ends: its keys end with it, since they are linked.
    ctx.signal.addEventListener("abort", () => this.#count(0), { once: true });
    const pid = ctx.self as unknown as Pid<ShardMessage>;
    ctx.send(this.#host, {
      type: "held",
      shard: this.#shard,
      token: this.#lease.token,
      pid,
    });
  }

  handle(_ctx: Context<ShardMessage>, message: ShardMessage | ChildStartOutcome): void {
    switch (message.type) {
      case "ask": {
        const { key, replyTo } = message;
        if (!requestOf(replyTo).open) return;
        const ask = this.#nextAsk++;
        this.#asks.set(ask, replyTo);
        this.#dispatch({
          type: "ask",
          ask,
          key,
          hasRoom: this.#ground.keys < this.#ground.maxKeys,
        });
        return;
      }
      case "loaded":
        this.#loaded(message.life, message.row);
        return;
      case "unreadable":
        this.#failed(message.life, message.error);
        return;
      case "outcome": {
        const life = Number(message.id);
        const { outcome } = message;
        if (outcome.type === "started") this.#dispatch({ type: "started", life });
        else {
          const isIgnored = outcome.type === "ignored";
          const error = this.#startError(life, isIgnored ? SHUTDOWN : outcome.reason, isIgnored);
          this.#dispatch({ type: "failed", life, error, isGone: false });
        }
        return;
      }
      default:
        message satisfies never;
    }
  }

  signal(_ctx: Context<ShardMessage>, signal: Signal): void {
    if (signal.type !== "exit") return;
    const life = this.#lifeOf.get(signal.from);
    if (life === undefined) return;
    this.#lifeOf.delete(signal.from);
    const error = this.#startError(life, signal.reason, false);
    this.#leaveBehind(this.#lives.get(life) as Living);
    this.#lives.delete(life);
    this.#dispatch({ type: "ended", life, error });
  }

  /** The shard moves, the node stops, or the lease is lost: each process handles what it has and ends, in its time. */
  parentExit(ctx: Context<ShardMessage>, reason: ExitReason): void {
    this.#reason = reason;
    this.#dispatch({ type: "drain" });
    ctx.runAfter(this.#ground.shutdownMs, () => {
      for (const pid of this.#lifeOf.keys()) ctx.exit(pid, "kill");
    });
  }

  #dispatch(event: KeysEvent): void {
    this.#loop.dispatch(event);
    if (this.#ctx.alive) this.#count(this.#loop.state.lives.size);
  }

  #count(keys: number): void {
    this.#ground.keys += keys - this.#counted;
    this.#counted = keys;
  }

  #carryOut(effect: KeysEffect): void {
    switch (effect.type) {
      case "load":
        this.#lives.set(effect.life, {
          key: effect.key,
          entry: undefined,
          pid: undefined,
        });
        this.#load(effect.life, effect.key);
        return;
      case "launch":
        this.#launch(effect.life, this.#lives.get(effect.life) as Living);
        return;
      case "finish":
        this.#finish(this.#lives.get(effect.life)?.pid as Pid);
        return;
      case "here": {
        const pid = this.#lives.get(effect.life)?.pid as Pid<never>;
        this.#reply(effect.asks, { type: "found", pid });
        return;
      }
      case "failed":
        for (const ask of effect.asks)
          this.#take(ask, (replyTo) => this.#ctx.refuse(replyTo as never, effect.error as Error));
        return;
      case "moved":
      case "busy":
        this.#reply(effect.asks, { type: effect.type });
        return;
      case "drained":
        this.#ctx.exit(this.#reason);
        return;
      default:
        effect satisfies never;
    }
  }

  #reply(asks: readonly number[], found: KeyFound): void {
    for (const ask of asks) this.#take(ask, (replyTo) => this.#ctx.reply(replyTo, found));
  }

  #take(ask: number, answer: (replyTo: ReplyTo<KeyFound>) => void): void {
    const replyTo = this.#asks.get(ask);
    this.#asks.delete(ask);
    if (replyTo !== undefined && requestOf(replyTo).open) answer(replyTo);
  }

  /** A save of the process before may still be on its way. What the store reads after it is what was saved last. */
  #load(life: number, key: string): void {
    const { store, kind } = this.#ground;
    const load = async (): Promise<StateRow | undefined> => {
      await this.#unsettled.get(key);
      const [row] = await store.get(keyedStates, [[kind, key]]);
      return row;
    };
    load().then(
      (row) => this.#post({ type: "loaded", life, row }),
      (error: unknown) => this.#post({ type: "unreadable", life, error }),
    );
  }

  #post(message: ShardMessage): void {
    const ctx = this.#ctx;
    if (ctx.alive) ctx.send(ctx.self as unknown as Pid<ShardMessage>, message);
  }

  #loaded(life: number, row: StateRow | undefined): void {
    const living = this.#lives.get(life);
    if (living === undefined) return;
    try {
      living.entry = new KeyEntry(this.#ground.kind, living.key, this.#lease, this.#ground.store, row);
    } catch (error) {
      this.#failed(life, error);
      return;
    }
    this.#dispatch({ type: "loaded", life });
  }

  #failed(life: number, error: unknown): void {
    this.#lives.delete(life);
    this.#dispatch({ type: "failed", life, error, isGone: true });
  }

  #launch(life: number, living: Living): void {
    const { spec, args } = this.#ground;
    const { entry } = living;
    try {
      const pid = launchChild(this.#ctx, runnable(spec, entry, args), [entry, ...args], String(life));
      living.pid = pid;
      this.#lifeOf.set(pid, life);
    } catch (error) {
      this.#failed(life, this.#startError(life, crash(error), false));
    }
  }

  /** A server handles the messages that it has, and stops. Another process is told to end. */
  #finish(pid: Pid): void {
    const { spec, args } = this.#ground;
    const handle = childHandle(spec.start, args, pid as Pid<never>, this.#kernel) as { stop?: () => void };
    if (typeof handle.stop === "function" && handle !== (pid as unknown)) handle.stop();
    else this.#ctx.exit(pid, SHUTDOWN);
  }

  /** The process may have ended while a save was on its way. */
  #leaveBehind({ key, entry }: Living): void {
    const settled = entry?.settled;
    if (settled === undefined) return;
    this.#unsettled.set(key, settled);
    void settled.then(() => this.#unsettled.get(key) === settled && this.#unsettled.delete(key));
  }

  #startError(life: number, reason: ExitReason, isIgnored: boolean): StartError {
    const living = this.#lives.get(life);
    return new StartError(`${this.#ground.kind} ${living?.key ?? ""}`, reason, isIgnored);
  }

  get #kernel(): Process["kernel"] {
    return (this.#ctx.self.process as Process).kernel;
  }
}

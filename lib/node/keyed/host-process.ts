// The process that keeps the shards of one kind of keys on one node: it contends for the leases of those that are placed here, and answers who
// looks for a key. keyed-machine.ts decides.

import { type Callbacks, deferStart } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import { EffectLoop } from "../../process/effect-loop.js";
import type { Signal } from "../../process/entries.js";
import type { Monitor } from "../../process/monitor.js";
import type { TimerRef } from "../../process/owned-timer.js";
import type { Pid } from "../../process/pid.js";
import { crash, type ExitReason, SHUTDOWN } from "../../process/reason.js";
import { type ReplyTo, requestOf } from "../../process/request.js";
import type { FullChildSpec } from "../../supervisor/child.js";
import { type ChildStartOutcome, launchChild } from "../../supervisor/child-process.js";
import { KeyShardsError } from "./errors.js";
import { keyedKinds } from "./key-entry.js";
import {
  decide,
  initial,
  type KeyedEffect,
  type KeyedEvent,
  type KeyedState,
  waitingIn,
} from "./keyed-machine.js";
import type { ShardGround, ShardHeld, ShardMessage } from "./shard-process.js";

/** Where a shard is, as the node that was asked knows it. */
export type ShardFound =
  | { readonly type: "found"; readonly pid: Pid<ShardMessage> }
  | { readonly type: "moved" }
  | { readonly type: "busy" };

/** The messages of a host. */
export type HostMessage =
  | {
      readonly type: "ask";
      readonly shard: number;
      readonly replyTo: ReplyTo<ShardFound>;
    }
  | ShardHeld
  /** The nodes, or what they offer, have changed. */
  | { readonly type: "nodes" }
  /** The store has answered whether it knows this number of shards. */
  | { readonly type: "checked"; readonly error: unknown };

/** What a host has of its node. */
export interface HostGround extends ShardGround {
  readonly shards: number;
  /** The child spec of the contender of a shard. */
  contender(shard: number, host: Pid<ShardHeld>): FullChildSpec;
  /** Whether a shard is placed on this node. */
  isHere(shard: number): boolean;
  /** Offers this node for keys, and calls `fn` when nodes or offers have changed. Returns a function that ends both. */
  open(host: Pid<HostMessage>, fn: () => void): () => void;
}

/** What people may see of the keys of one kind on a node. */
export interface KeyedView {
  /** The shards whose lease this node holds, by their numbers. */
  readonly held: readonly number[];
  /** The shards that are placed on this node. */
  readonly placed: readonly number[];
  /** How many keys have a process on this node. */
  readonly keys: number;
  /** How many requests wait for the lease of a shard. */
  readonly waiting: number;
}

/** A shard that is held here. */
interface HeldShard {
  readonly shard: number;
  readonly token: number;
  readonly pid: Pid<ShardMessage>;
  readonly watch: Monitor;
}

export class KeyedHost implements Callbacks<HostMessage | ChildStartOutcome> {
  readonly #ground: HostGround;
  readonly #asks = new Map<number, { readonly replyTo: ReplyTo<ShardFound>; readonly shard: number }>();
  readonly #contenders = new Map<Pid, number>();
  readonly #held = new Map<number, HeldShard>();
  #ctx!: Context<HostMessage | ChildStartOutcome>;
  #loop!: EffectLoop<KeyedState, KeyedEvent, KeyedEffect>;
  #timer: TimerRef | undefined;
  #nextAsk = 1;
  #reason: ExitReason = SHUTDOWN;

  constructor(ground: HostGround) {
    this.#ground = ground;
  }

  init(ctx: Context<HostMessage | ChildStartOutcome>): unknown {
    const { shards, maxWaiting } = this.#ground;
    this.#ctx = ctx;
    this.#loop = new EffectLoop<KeyedState, KeyedEvent, KeyedEffect>(
      initial(shards, maxWaiting),
      decide,
      (effect) => this.#carryOut(effect),
    );
    this.#check().then(
      () => this.#post({ type: "checked", error: undefined }),
      (error: unknown) => this.#post({ type: "checked", error }),
    );
    return deferStart;
  }

  /** One key has one shard: all nodes have the same number of them. @throws KeyShardsError, StoreError */
  async #check(): Promise<void> {
    const { store, kind, shards } = this.#ground;
    await store.commit({
      writes: [{ type: "offer", table: keyedKinds, row: { kind, shards } }],
    });
    const [row] = await store.get(keyedKinds, [[kind]]);
    if (row !== undefined && row.shards !== shards) throw new KeyShardsError(kind, shards, row.shards);
  }

  #post(message: HostMessage): void {
    const ctx = this.#ctx;
    if (ctx.alive) ctx.send(ctx.self as unknown as Pid<HostMessage>, message);
  }

  handle(ctx: Context<HostMessage>, message: HostMessage | ChildStartOutcome): void {
    switch (message.type) {
      case "checked":
        this.#checked(ctx, message.error);
        return;
      case "nodes":
        this.#place();
        return;
      case "held": {
        const { shard, token, pid } = message;
        this.#held.set(shard, {
          shard,
          token,
          pid,
          watch: ctx.monitor(pid as unknown as Pid),
        });
        this.#dispatch({ type: "held", shard, token });
        return;
      }
      case "ask": {
        const { shard, replyTo } = message;
        if (!requestOf(replyTo).open) return;
        const ask = this.#nextAsk++;
        if (this.#asks.size >= this.#ground.maxWaiting) this.#forgetClosed();
        this.#asks.set(ask, { replyTo, shard });
        this.#dispatch({ type: "ask", ask, shard });
        return;
      }
      case "outcome":
        // A contender has no `init` that could fail.
        return;
      default:
        message satisfies never;
    }
  }

  #checked(ctx: Context<HostMessage>, error: unknown): void {
    if (this.#loop.state.isStopping) return;
    if (error !== undefined) {
      ctx.exit(crash(error));
      return;
    }
    const close = this.#ground.open(ctx.self as unknown as Pid<HostMessage>, () =>
      this.#post({ type: "nodes" }),
    );
    ctx.signal.addEventListener("abort", close, { once: true });
    ctx.started();
    this.#place();
  }

  signal(_ctx: Context<HostMessage>, signal: Signal): void {
    if (signal.type === "exit") {
      const shard = this.#contenders.get(signal.from);
      if (shard === undefined) return;
      this.#contenders.delete(signal.from);
      this.#dispatch({ type: "ended", shard });
    } else if (signal.type === "down")
      for (const { shard, token, watch } of this.#held.values()) {
        if (watch !== signal.ref) continue;
        this.#held.delete(shard);
        this.#dispatch({ type: "vacated", shard, token });
        return;
      }
  }

  /** Gives all shards up, and ends when they have. */
  parentExit(_ctx: Context<HostMessage>, reason: ExitReason): void {
    this.#reason = reason;
    this.#dispatch({ type: "stop" });
  }

  view(): KeyedView {
    const { shards, keys, isHere } = this.#ground;
    const all = Array.from({ length: shards }, (_, shard) => shard);
    return {
      held: all.filter((shard) => this.#loop.state.shards[shard]?.type === "held"),
      placed: all.filter(isHere),
      keys,
      waiting: waitingIn(this.#loop.state),
    };
  }

  #place(): void {
    const here = Array.from({ length: this.#ground.shards }, (_, shard) => this.#ground.isHere(shard));
    this.#dispatch({ type: "placed", here });
  }

  #dispatch(
    event: KeyedEvent extends infer E ? (E extends KeyedEvent ? Omit<E, "now"> : never) : never,
  ): void {
    this.#loop.dispatch({ ...event, now: this.#ctx.now() } as KeyedEvent);
  }

  /** Those who gave up. */
  #forgetClosed(): void {
    for (const [ask, { replyTo, shard }] of this.#asks) {
      if (requestOf(replyTo).open) continue;
      this.#asks.delete(ask);
      this.#dispatch({ type: "forget", ask, shard });
    }
  }

  #carryOut(effect: KeyedEffect): void {
    const ctx = this.#ctx;
    switch (effect.type) {
      case "contend": {
        const spec = this.#ground.contender(effect.shard, ctx.self as unknown as Pid<ShardHeld>);
        this.#contenders.set(launchChild(ctx, spec, []), effect.shard);
        return;
      }
      case "leave":
        // It ends what runs under the lease, and gives the lease back. Its own limits bound that time.
        for (const [pid, shard] of this.#contenders) if (shard === effect.shard) ctx.exit(pid, SHUTDOWN);
        return;
      case "serve": {
        const { pid } = this.#held.get(effect.shard) as HeldShard;
        this.#reply(effect.ask, { type: "found", pid });
        return;
      }
      case "moved":
      case "busy":
        this.#reply(effect.ask, { type: effect.type });
        return;
      case "wake":
        if (this.#timer !== undefined) ctx.cancel(this.#timer);
        this.#timer =
          effect.at === undefined
            ? undefined
            : ctx.runAfter(Math.max(0, effect.at - ctx.now()), () => this.#dispatch({ type: "tick" }));
        return;
      case "stopped":
        ctx.exit(this.#reason);
        return;
      default:
        effect satisfies never;
    }
  }

  #reply(ask: number, found: ShardFound): void {
    const one = this.#asks.get(ask);
    this.#asks.delete(ask);
    if (one !== undefined && requestOf(one.replyTo).open) this.#ctx.reply(one.replyTo, found);
  }
}

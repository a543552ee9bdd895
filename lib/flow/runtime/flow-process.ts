// The process of a flow: runs the code, carries out the effects of its machine, and brings back what came of them.

import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import { EffectLoop } from "../../process/effect-loop.js";
import type { TimerRef } from "../../process/owned-timer.js";
import type { FlowDefinition } from "../definition/define.js";
import type { Suspension } from "../hospital/record.js";
import type { SymptomKind } from "../hospital/symptom.js";
import type { Entry } from "../journal/entry.js";
import type { FlowRow } from "../journal/tables.js";
import { decide } from "../machine/flow-machine.js";
import type { Ending, FlowEffect, FlowEvent, FlowState, UnreadMessage } from "../machine/state.js";
import { checkpoint, endingSet, entriesSet, finish, submit, transact, verify } from "./checkpoint.js";
import { FlowContextError } from "./errors.js";
import type { Call, FlowAskInfo } from "./flow-call.js";
import { cancelChildren, deliver, diverged, hasEnded, kill, rejectAll, runCode } from "./flow-ends.js";
import { engineUnless, FlowLife, type FlowMessage } from "./flow-life.js";
import { park, parked, restFor } from "./flow-rest.js";
import type { FlowPort, Transition } from "./port.js";

/** A flow that sleeps no longer than this keeps its place in memory, also when others want one. */
const MOMENT_MS = 5_000;

export class FlowProcess implements Callbacks<FlowMessage> {
  readonly #life: FlowLife;
  readonly #loop: EffectLoop<FlowState, FlowEvent, FlowEffect>;
  #timer: TimerRef | undefined;

  constructor(
    port: FlowPort,
    row: FlowRow,
    definition: FlowDefinition<never>,
    history: readonly Entry[],
    messages: readonly UnreadMessage[],
    isDry = false,
  ) {
    this.#life = new FlowLife(port, row, definition, history, messages, { isDry, event: this.event });
    const of = { id: row.id, name: row.name, version: row.version };
    const { state } = this.#life;
    const transition = port.interceptors.reduceRight<Transition>((next, wrap) => wrap(next, of), decide);
    this.#loop = new EffectLoop(state, (_, one) => transition(state, one), this.#perform);
    this.#life.loop = this.#loop;
  }

  /** How the flow has ended, once that is durable. */
  get ending(): Ending | undefined {
    return this.#life.ending;
  }

  /** The store takes no more writes from the host: the host ends, and the next host that takes the flow runs it. */
  get hasLostHost(): boolean {
    return this.#life.hasLostHost;
  }

  get suspension(): Suspension {
    return this.#life.suspension;
  }

  get owes(): boolean {
    return this.#life.owes;
  }

  get number(): number {
    return this.#life.row.number;
  }

  /** How its code answers queries. */
  get answers(): ReadonlyMap<string, (argument: unknown) => unknown> {
    return this.#life.answers;
  }

  /** What its code waits for, in the order of its asks: the first `most`. */
  asks(most: number): readonly FlowAskInfo[] {
    const found: FlowAskInfo[] = [];
    for (const { kind, key, status, due } of this.#life.state.ops.values()) {
      if (found.length === most) break;
      found.push({ kind, key, isRunning: status === "running", dueAt: due });
    }
    return found;
  }

  /** The code has made all asks in its journal, and all that it can make without a further outcome. */
  get isCaughtUp(): boolean {
    return this.#life.state.caughtUp;
  }

  /**
   * Others have to act before the flow goes on, or it sleeps for more than a moment: it may as well wait in the store. A flow whose time
   * has come may not: it would be taken again at once, and get no further.
   */
  get mayLeave(): boolean {
    let isForOthers = false;
    let first = Number.POSITIVE_INFINITY;
    for (const { how, due = first } of this.#life.state.ops.values()) {
      isForOthers ||= how.type === "wait";
      first = Math.min(first, due);
    }
    return first - this.#life.port.now() > (isForOthers ? 0 : MOMENT_MS);
  }

  leave(): void {
    this.#life.ctx.self.process?.deliver(
      { type: "control", action: "leave" } satisfies FlowMessage,
      undefined,
    );
  }

  /** The kind of the error with which the process ended, for the hospital. Undefined: not known. */
  kindOf(error: unknown): SymptomKind | undefined {
    return this.#life.failed?.error === error ? this.#life.failed?.kind : undefined;
  }

  // ── the process ──────────────────────────────────────────────────────────────────────────────────────────────

  init(ctx: Context<FlowMessage>): void {
    this.#life.ctx = ctx;
    this.#life.subject.own(ctx.self);
    this.#life.asEngine(() => this.#begin());
  }

  #begin(): void {
    // A flow that was killed before it could run is ended without its code.
    if (this.#life.row.wish !== "kill") void runCode(this.#life);
    // A host that runs it again finds its row as the run before left it.
    if (this.#life.shown === "waiting" && !this.#life.isDry) restFor(this.#life, "running");
    if (this.#life.row.wish === "cancel") this.event({ type: "cancel", now: this.#life.port.now() });
    if (this.#life.row.wish === "pause") this.event({ type: "hold", why: "pause" });
    if (this.#life.row.wish === "kill") void kill(this.#life);
  }

  handle(_ctx: Context<FlowMessage>, message: FlowMessage): unknown {
    try {
      return this.#handle(message);
    } catch (error) {
      this.#life.fail(error, engineUnless(error));
      return undefined;
    }
  }

  #handle(message: FlowMessage): unknown {
    switch (message.type) {
      case "stored":
        if (message.error !== undefined) return this.#life.refused(message.error);
        if (this.#life.port.readBack !== undefined) verify(this.#life);
        this.#life.subject.progressed();
        return this.event({ type: "written", at: this.#life.writtenAt });
      case "drained":
        return this.event({ type: "drained", now: this.#life.port.now() });
      case "mail":
        return this.event({ type: "mail", messages: message.messages, now: this.#life.port.now() });
      case "control":
        if (message.action === "kill" || message.action === "stop") this.#life.search?.abort();
        if (message.action === "kill") return void kill(this.#life);
        if (message.action === "cancel") return this.event({ type: "cancel", now: this.#life.port.now() });
        if (message.action === "leave") return this.event({ type: "idle" });
        return this.event({ type: "hold", why: message.action });
      case "parked":
        return parked(this.#life, message);
      default:
        return message satisfies never;
    }
  }

  terminate(): void {
    this.#life.subject.end();
    for (const { running } of this.#life.calls.values())
      running?.abort(new FlowContextError("the flow's process has ended"));
  }

  /**
   * The process has ended, by itself or by a kill: ends its steps, and calls `settled` once the store has answered all of its writes.
   * Before that its journal may grow, so no host may run the flow anew.
   */
  abandon(settled: () => void): void {
    this.terminate();
    if (this.#life.unanswered === 0) settled();
    else this.#life.settled = settled;
  }

  // ── the machine ──────────────────────────────────────────────────────────────────────────────────────────────

  /** Takes an event, and carries out what follows, one effect after the other. */
  readonly event = (event: FlowEvent): void => {
    if (this.#life.parking) {
      this.#life.late.push(event);
      return;
    }
    try {
      this.#loop.dispatch(event);
    } catch (error) {
      // The flow's own code does not run here: the transition failed, an interceptor, or an effect.
      this.#life.fail(error, engineUnless(error));
    }
  };

  readonly #perform = (effect: FlowEffect): undefined => {
    // An effect may end the process: those behind it are of no use any more.
    if (!this.#life.ctx.alive) return;
    switch (effect.type) {
      case "write":
        submit(
          this.#life,
          entriesSet(checkpoint(this.#life, effect.seq, effect.items, effect.asks, this.#life.port.claim)),
        );
        return;
      case "finish":
        if (this.#life.isDry) return this.#life.end();
        finish(this.#life, endingSet(this.#life, effect.seq, effect.items, effect.asks, effect.ending));
        return;
      case "run": {
        const call = this.#life.calls.get(effect.key) as Call;
        call.running = call.start?.(effect.attempt);
        return;
      }
      case "transact":
        transact(this.#life, effect.key, effect.seq, effect.asks);
        return;
      case "deliver":
        deliver(this.#life, effect.key, effect.ok, effect.value, effect.at);
        return;
      case "reject":
        rejectAll(this.#life, effect.keys, effect.at);
        return;
      case "drain":
        this.#life.port.drain(this.#life);
        return;
      case "timer":
        this.#setTimer(effect.due);
        return;
      case "answer":
        this.#life.version = effect.version;
        return;
      case "diverged":
        diverged(this.#life, effect);
        return;
      case "stalled":
        this.#life.stall ??= this.#life.after(this.#life.port.limits.stallMs, () =>
          this.event({ type: "waited" }),
        );
        return;
      case "caught up":
        if (this.#life.stall !== undefined) this.#life.ctx.cancel(this.#life.stall);
        if (this.#life.isDry) return this.#life.end();
        if (this.#life.isCancelled) void cancelChildren(this.#life);
        this.#life.port.caughtUp(this.number);
        return;
      case "ended":
        return hasEnded(this.#life, effect.ending);
      case "quiet":
        this.#life.port.idle(this, effect.quiet);
        restFor(this.#life, effect.quiet ? "waiting" : "running");
        return;
      case "park":
        park(this.#life, effect.due, effect.why);
        return;
      default:
        effect satisfies never;
    }
  };

  #setTimer(due: number | undefined): void {
    if (this.#timer !== undefined) this.#life.ctx.cancel(this.#timer);
    this.#timer = undefined;
    if (due === undefined) return;
    const wait = Math.max(0, due - this.#life.port.now());
    this.#timer = this.#life.after(wait, () => {
      this.#timer = undefined;
      const now = this.#life.port.now();
      // The wall clock may run slower than the timer's.
      if (now < due) this.#setTimer(due);
      else this.event({ type: "due", now });
    });
  }
}

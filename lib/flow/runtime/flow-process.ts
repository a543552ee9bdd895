// The process of a flow: runs the code, carries out the effects of its machine, and brings back what came of them.

import { isHostOver, type Subject } from "../../host/index.js";
import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { WatchedProcess } from "../../process/intercepted.js";
import { orAborted } from "../../process/or-aborted.js";
import { placeOf } from "../../process/own-code.js";
import type { TimerRef } from "../../process/owned-timer.js";
import type { Process } from "../../process/process.js";
import { processSignal } from "../../process/process-signal.js";
import { crash, type ExitReason, NORMAL } from "../../process/reason.js";
import { isError, stackOf } from "../../process/show.js";
import type { WorkTap } from "../../process/taps.js";
import { isThenable } from "../../process/thenable.js";
import {
  type Claim,
  type SqlTransaction,
  StoreError,
  type StoreUnreachableError,
  type Write,
  type WriteSet,
} from "../../store/index.js";
import type { StepContext } from "../definition/context.js";
import type { AnyFlow, FlowDefinition } from "../definition/define.js";
import { countedKey, outsideKey } from "../definition/names.js";
import type { Suspension } from "../hospital/record.js";
import { kindOf, type SymptomKind } from "../hospital/symptom.js";
import type { Ask, Entry, Stored } from "../journal/entry.js";
import { EVENT_TOPIC, events, type FlowRow, flows } from "../journal/tables.js";
import { decide, initial } from "../machine/flow-machine.js";
import type { Ending, FlowEffect, FlowEvent, FlowState, How, Item, Letter } from "../machine/state.js";
import { checked } from "../payload/checked.js";
import { after } from "../payload/codec.js";
import { ACCEPT_MAIL, sessions } from "../sessions/tables.js";
import type { Call, Extra, Running } from "./call.js";
import { type Checkpoint, endSet, entriesSet } from "./checkpoint.js";
import { ContinueAsNew } from "./continue.js";
import { type Divergence, DivergenceError, FlowCancelledError, FlowContextError } from "./errors.js";
import { type Asking, type AskOptions, type ChildEnd, FlowCode } from "./flow-code.js";
import { type HeartbeatPort, Heartbeats } from "./heartbeats.js";
import type { FlowPort, NewChild, Transition } from "./port.js";
import { Seeded } from "./seeded.js";
import { Attempt, type AttemptPort, crowdWait, retryWait, type StepPlan, storeFailure } from "./step-body.js";
import type { FlowStepOutcome } from "./taps.js";
import { readable } from "./thrown.js";

/** What the store, timers and the host tell a flow's process. */
export type FlowMessage =
  | { readonly type: "stored"; readonly error: Error | undefined }
  | { readonly type: "drained" }
  | { readonly type: "mail"; readonly letters: readonly Letter[] }
  | { readonly type: "wish"; readonly wish: "cancel" | "kill" | "pause" | "stop" | "leave" }
  | { readonly type: "parked"; readonly error: Error | undefined; readonly letters: readonly Letter[] };

const DRAINED: FlowMessage = { type: "drained" };
const STORED: FlowMessage = { type: "stored", error: undefined };

/** What a flow's process exits with when it left memory on purpose: the host looks at the type. */
export const PARKED: ExitReason = { type: "shutdown", detail: "parked" };

/** A flow that sleeps no longer than this keeps its place in memory, also when others want one. */
const MOMENT_MS = 5_000;

/** A wait, or work between two waits, that is no longer than this does not show in the flow's row. */
const UNSEEN_MS = 50;

export class FlowProcess implements Callbacks<FlowMessage>, Asking {
  readonly flowId: string;
  readonly seeded: Seeded;
  /** How the flow has ended, once that is durable. */
  ending: Ending | undefined;
  /** The store takes nothing more from the host: it ends, and whoever takes the flow runs it. */
  hasLostHost = false;
  ctx!: Context<never>;
  readonly #port: FlowPort;
  readonly #row: FlowRow;
  readonly #definition: FlowDefinition<never>;
  readonly #transition: Transition;
  readonly #state: FlowState;
  readonly #sessions = new Set<string>();
  readonly #subject: Subject;
  /** Made when a step makes the first one, or the row has some. */
  #heartbeats: Heartbeats | undefined;
  readonly #calls = new Map<string, Call>();
  readonly #names = new Map<string, number>();
  readonly #queue: FlowEvent[] = [];
  /** Only runs over the journal. */
  readonly #isDry: boolean;
  /** With `verify`: the journal so far, the replay of it that runs, and whether it has grown since that began. */
  readonly #kept: Entry[];
  #verified: Promise<void> | undefined;
  #hasGrown = false;
  #readBacks = 0;
  #busy = false;
  #at: number;
  #writtenAt = 0;
  #progress: { readonly stored: Stored } | undefined;
  #cancel: AbortController | undefined;
  /** The code has been told of a cancellation. */
  #isCancelled = false;
  /** The asks of children that it has started since then, to clean up: the cancellation spares them. */
  readonly #spared = new Set<string>();
  /** The cancellation of its children. The flow neither ends nor leaves memory before that is durable. */
  #children: Promise<void> | undefined;
  #timer: TimerRef | undefined;
  #stall: TimerRef | undefined;
  /** When the flow's row shall say what the flow does, or when the flow leaves memory. */
  #rest: TimerRef | undefined;
  /** What its row says. */
  #shown: "running" | "waiting";
  #parking = false;
  /** Writes and transactions that the store has not answered. */
  #unanswered = 0;
  #settled: (() => void) | undefined;
  #late: FlowEvent[] = [];
  #answer = 0;
  #seen = "start";
  /** What the code threw. */
  #thrown: unknown;
  /** On replay: the last ask of the code, and an error that was made there. */
  #lastAsk: { readonly ask: Ask; readonly from: Error } | undefined;
  readonly #recorded = new WeakSet<object>();
  #failed: { readonly error: unknown; readonly kind: SymptomKind | undefined } | undefined;

  constructor(
    port: FlowPort,
    row: FlowRow,
    definition: FlowDefinition<never>,
    history: readonly Entry[],
    letters: readonly Letter[],
    isDry = false,
  ) {
    this.#isDry = isDry;
    this.#port = port;
    this.#row = row;
    this.#definition = definition;
    this.flowId = row.id;
    this.#subject = port.begin(row.id);
    this.seeded = new Seeded(`${row.seed}/${row.generation}`);
    this.#state = initial(history, letters);
    this.#kept = port.readBack ? [...history] : [];
    this.#at = row.created;
    this.#shown = row.status === "waiting" ? "waiting" : "running";
    const of = { id: row.id, name: row.name, version: row.version };
    this.#transition = port.interceptors.reduceRight<Transition>((next, wrap) => wrap(next, of), decide);
  }

  get number(): number {
    return this.#row.number;
  }

  get #cancelling(): AbortController {
    this.#cancel ??= processSignal((listener) => this.ctx.self.process?.perform(listener));
    return this.#cancel;
  }

  get cancellation(): AbortSignal {
    return this.#cancelling.signal;
  }

  /** Where the flow stands: what it waits for, or what it has seen last. */
  get suspension(): Suspension {
    const [key = this.#seen] = this.#state.ops.keys();
    return { name: key, position: this.#state.seq };
  }

  /** The code has made all asks that its journal tells of, and all that it can make without a further outcome. */
  get isCaughtUp(): boolean {
    return this.#state.caughtUp;
  }

  /**
   * Others have to act before the flow goes on, or it sleeps for more than a moment: it may as well wait in the store. A flow whose time
   * has come may not: it would be taken again at once, and get no further.
   */
  get mayLeave(): boolean {
    let isForOthers = false;
    let first = Number.POSITIVE_INFINITY;
    for (const { how, due = first } of this.#state.ops.values()) {
      isForOthers ||= how.type === "wait";
      first = Math.min(first, due);
    }
    return first - this.#port.now() > (isForOthers ? 0 : MOMENT_MS);
  }

  leave(): void {
    this.ctx.self.process?.deliver({ type: "wish", wish: "leave" } satisfies FlowMessage, undefined);
  }

  /** What the hospital may know about an error with which the process ended. */
  kindOf(error: unknown): SymptomKind | undefined {
    return this.#failed?.error === error ? this.#failed?.kind : undefined;
  }

  // ── the process ──────────────────────────────────────────────────────────────────────────────────────────────

  init(ctx: Context<FlowMessage>): void {
    this.ctx = ctx;
    this.#subject.own(ctx.self);
    // A flow that was killed before it could run is ended without its code.
    if (this.#row.wish !== "kill") void this.#run();
    // A host that runs it again finds its row as the run before left it.
    if (this.#shown === "waiting" && !this.#isDry) this.#restFor("running");
    if (this.#row.wish === "cancel") this.event({ type: "cancel", now: this.#port.now() });
    if (this.#row.wish === "pause") this.event({ type: "hold", why: "pause" });
    if (this.#row.wish === "kill") void this.#kill();
  }

  handle(_ctx: Context<FlowMessage>, message: FlowMessage): unknown {
    switch (message.type) {
      case "stored":
        if (message.error !== undefined) return this.#refused(message.error);
        if (this.#port.readBack !== undefined) this.#verify();
        this.#subject.progressed();
        return this.event({ type: "written", at: this.#writtenAt });
      case "drained":
        return this.event({ type: "drained", now: this.#port.now() });
      case "mail":
        return this.event({ type: "mail", letters: message.letters, now: this.#port.now() });
      case "wish":
        if (message.wish === "kill") return void this.#kill();
        if (message.wish === "cancel") return this.event({ type: "cancel", now: this.#port.now() });
        if (message.wish === "leave") return this.event({ type: "idle" });
        return this.event({ type: "hold", why: message.wish });
      case "parked":
        return this.#parked(message);
      default:
        return message satisfies never;
    }
  }

  terminate(): void {
    this.#subject.end();
    for (const { running } of this.#calls.values())
      running?.abort(new FlowContextError("the flow's process has ended"));
  }

  /**
   * The process has ended, by itself or by a kill: ends its steps, and calls `settled` once the store has answered all of its writes.
   * Before that its journal may grow, so nobody may run the flow anew.
   */
  abandon(settled: () => void): void {
    this.terminate();
    if (this.#unanswered === 0) settled();
    else this.#settled = settled;
  }

  #answered(): void {
    if (--this.#unanswered === 0) this.#settled?.();
  }

  /** Runs the code, from the input to the end. */
  async #run(): Promise<void> {
    const { payloads } = this.#port;
    let given: unknown;
    try {
      if (this.#row.heartbeats !== null) await this.#beating().restore(this.#row.heartbeats);
      const input = payloads.decode(this.#row.input);
      given = isThenable(input) ? await input : input;
    } catch (error) {
      return this.#fail(error, "payload");
    }
    let ending: Ending | undefined;
    try {
      const body = (): unknown => this.#definition.body(new FlowCode(this) as never, given as never);
      const { around } = this.#port;
      const value = this.#subject.run(around === undefined ? body : () => around(body));
      this.#port.drain(this);
      ending = await this.#ending("completed", await value, "result");
    } catch (thrown) {
      // The next input of a flow that starts anew may be one that cannot be stored.
      if (this.ctx.alive)
        ending = await this.#endOf(readable(thrown)).catch((error: unknown) => this.#endOf(error));
    }
    if (ending === undefined) return;
    if (this.#isCancelled) await this.#cancelChildren();
    if (this.ctx.alive) this.event({ type: "returned", ending });
  }

  /** Cancels the children that it had when it was cancelled. All asks of the journal have been made by then. */
  async #cancelChildren(): Promise<void> {
    if (this.#isDry) return;
    this.#children ??= this.#port.cancelChildren(this.number, (key) => this.#spared.has(key));
    try {
      await this.#children;
    } catch (error) {
      if (this.ctx.alive) this.#refused(error as Error);
    }
  }

  async #endOf(error: unknown): Promise<Ending | undefined> {
    if (!(error instanceof ContinueAsNew)) {
      this.#thrown = error;
      this.event({ type: "threw" });
      if (!this.ctx.alive) return undefined;
    } else {
      const again = await this.#port.payloads.encode(
        error.input,
        `the next input of flow ${this.flowId}`,
        "input",
      );
      return { status: "completed", value: null, again };
    }
    if (error instanceof FlowCancelledError && this.#state.cancelled)
      return this.#ending("cancelled", error, "error");
    const kind = this.#kindOfThrown(error);
    if (!this.#port.isForHospital(this.#row, error, this.suspension, kind))
      return this.#ending("failed", error, "error");
    this.#fail(error, kind);
    return undefined;
  }

  async #ending(status: Ending["status"], value: unknown, what: string): Promise<Ending> {
    const { payloads } = this.#port;
    const stored = await (status === "completed" || value === undefined
      ? payloads.encode(value, `the ${what} of flow ${this.flowId}`, "result")
      : payloads.encodeThrown(value));
    if (this.#row.parent === null) return { status, value: stored };
    const note = await payloads.encode(
      { status, value: await payloads.decode(stored) } satisfies ChildEnd,
      `the ${what} of flow ${this.flowId}`,
      "result",
    );
    return { status, value: stored, note };
  }

  /** The process ends as it is; the host, and its hospital, decide what becomes of the flow. */
  #fail(error: unknown, kind?: SymptomKind): void {
    this.#failed = { error, kind };
    this.#port.kernel.stop(this.ctx.self.process as never, crash(error as Error), undefined);
  }

  /** The store refused what the flow had to write. */
  #refused(error: Error): void {
    this.hasLostHost = isHostOver(error);
    this.#fail(error, engineUnless(error));
  }

  #ended(ending: Ending): undefined {
    // A flow that starts anew goes on.
    if (ending.again === undefined) {
      this.ending = ending;
      const { name, created } = this.#row;
      this.#port.kernel.taps?.flowEnded(name, this.flowId, ending.status, this.#writtenAt - created);
    }
    return this.#end();
  }

  #end(): undefined {
    this.#port.kernel.stop(this.ctx.self.process as never, NORMAL, undefined);
  }

  async #kill(): Promise<void> {
    const { note } = await this.#ending("killed", undefined, "end");
    if (this.ctx.alive) this.event({ type: "kill", ...(note === undefined ? {} : { note }) });
  }

  // ── the machine ──────────────────────────────────────────────────────────────────────────────────────────────

  /** Takes an event, and carries out what follows, one effect after the other. */
  event(event: FlowEvent): void {
    if (this.#parking) {
      this.#late.push(event);
      return;
    }
    this.#queue.push(event);
    if (this.#busy) return;
    this.#busy = true;
    try {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
        const effects = this.#transition(this.#state, next)[1];
        for (let i = 0; i < effects.length; i++) {
          this.#perform(effects[i] as FlowEffect);
          if (!this.ctx.alive) return;
        }
      }
    } catch (error) {
      // The flow's own code does not run here: the transition failed, an interceptor, or an effect.
      this.#fail(error, engineUnless(error));
      return;
    }
    this.#busy = false;
  }

  #perform(effect: FlowEffect): undefined {
    switch (effect.type) {
      case "write":
        this.#submit(entriesSet(this.#checkpoint(effect.seq, effect.items, effect.asks, this.#port.claim)));
        return;
      case "finish":
        if (this.#isDry) return this.#end();
        {
          const set = this.#endSet(effect.seq, effect.items, effect.asks, effect.ending);
          if (this.#port.readBack === undefined) this.#submit(set);
          else void this.#finish(set);
        }
        return;
      case "run": {
        const call = this.#calls.get(effect.key) as Call;
        call.running = call.start?.(effect.attempt);
        return;
      }
      case "transact":
        this.#transact(effect.key, effect.seq, effect.asks);
        return;
      case "deliver":
        this.#deliver(effect.key, effect.ok, effect.value, effect.at);
        return;
      case "reject":
        this.#rejectAll(effect.keys, effect.at);
        return;
      case "drain":
        this.#port.drain(this);
        return;
      case "timer":
        this.#setTimer(effect.due);
        return;
      case "answer":
        this.#answer = effect.version;
        return;
      case "diverged":
        this.#diverged(effect);
        return;
      case "stalled":
        this.#stall ??= this.ctx.runAfter(this.#port.limits.stallMs, () =>
          this.#diverged({ ...effect, asked: undefined, entry: this.#state.cursor, did: "waits" }),
        );
        return;
      case "caught up":
        if (this.#stall !== undefined) this.ctx.cancel(this.#stall);
        if (this.#isDry) return this.#end();
        if (this.#isCancelled) void this.#cancelChildren();
        this.#port.caughtUp(this.number);
        return;
      case "ended":
        return this.#ended(effect.ending);
      case "quiet":
        this.#port.idle(this, effect.quiet);
        this.#restFor(effect.quiet ? "waiting" : "running");
        return;
      case "park":
        this.#park(effect.due, effect.why);
        return;
      default:
        effect satisfies never;
    }
  }

  drained(): void {
    this.ctx.self.process?.deliver(DRAINED, undefined);
  }

  #setTimer(due: number | undefined): void {
    if (this.#timer !== undefined) this.ctx.cancel(this.#timer);
    this.#timer = undefined;
    if (due === undefined) return;
    const wait = Math.max(0, due - this.#port.now());
    this.#timer = this.ctx.runAfter(wait, () => {
      this.#timer = undefined;
      const now = this.#port.now();
      // The wall clock may run slower than the timer's.
      if (now < due) this.#setTimer(due);
      else this.event({ type: "due", now });
    });
  }

  #diverged(found: Pick<Divergence, "recorded" | "asked" | "entry" | "did">): void {
    const { did } = found;
    const shown = did === "asks" ? new FlowContextError("here") : did === "throws" ? this.#thrown : undefined;
    const last = this.#lastAsk;
    this.#fail(
      new DivergenceError(this.flowId, this.#row.name, {
        ...found,
        at: placeIn(shown),
        last: last && { ...last.ask, at: placeIn(last.from) },
        thrown: this.#thrown,
        waitedMs: this.#port.limits.stallMs,
      }),
    );
  }

  // ── writes ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** @param claim - absent where the transaction has it */
  #checkpoint(seq: number, items: readonly Item[], asks: readonly Ask[], claim?: Claim): Checkpoint {
    const progress = this.#progress;
    this.#progress = undefined;
    this.#writtenAt = this.#port.now();
    if (this.#port.readBack !== undefined)
      for (const [i, { decision, value }] of items.entries())
        this.#kept.push({ at: this.#writtenAt, asks: i === 0 ? asks : [], decision, value });
    return {
      row: this.#row,
      owes: this.owes,
      blobs: this.#port.blobs,
      at: this.#writtenAt,
      seq,
      items,
      asks,
      calls: this.#calls,
      progress,
      isBeatless: this.#heartbeats?.isEmpty === false && this.#heartbeats.ended(endedSteps(items)),
      claim,
    };
  }

  #endSet(seq: number, items: readonly Item[], asks: readonly Ask[], ending: Ending): WriteSet {
    const checkpoint = this.#checkpoint(seq, items, asks, this.#port.claim);
    if (ending.again === undefined) return endSet(checkpoint, ending);
    const { name, trace } = this.#row;
    const { taps } = this.#port.kernel;
    // It may begin anew for years, so each generation has a trace of its own.
    const next = taps?.continuing(null, () => taps.flowStarting(name, this.flowId, trace));
    return endSet(checkpoint, ending, next);
  }

  #submit(set: WriteSet): void {
    this.#unanswered++;
    this.#port.store.submit(set, this.#stored);
  }

  /** A write that the journal does not tell of. */
  #submitAside(write: Write, written: () => void = () => undefined): void {
    this.#unanswered++;
    this.#port.store.submit({ writes: [write], claim: this.#port.claim }, (error) => {
      if (error === undefined) written();
      else this.ctx.self.process?.deliver({ type: "stored", error } satisfies FlowMessage, undefined);
      this.#answered();
    });
  }

  readonly #stored = (error: Error | undefined): void => {
    const message: FlowMessage = error === undefined ? STORED : { type: "stored", error };
    this.ctx.self.process?.deliver(message, undefined);
    this.#answered();
  };

  #transact(key: string, seq: number, asks: readonly Ask[]): void {
    const call = this.#calls.get(key);
    const value = call?.encoded ?? null;
    const { grant } = call ?? {};
    grant?.(entriesSet(this.#checkpoint(seq, [{ decision: { type: "done", key, ok: true }, value }], asks)));
  }

  /** Reads the journal back: the code, run over it anew, must take the same way. */
  #verify(): void {
    if (this.#verified === undefined) this.#verified = this.#readBack();
    else this.#hasGrown = true;
  }

  async #readBack(): Promise<void> {
    do {
      this.#hasGrown = false;
      if (!(await this.#isAsRecorded(this.#readBacks++))) return;
    } while (this.#hasGrown);
    this.#verified = undefined;
  }

  /** @param time - how many replays were before; undefined: it is the last, and done in all ways */
  async #isAsRecorded(time: number | undefined): Promise<boolean> {
    const error = await this.#port.readBack?.(this.#definition, this.#row, [...this.#kept], time);
    if (this.ctx.alive && error !== undefined) this.#fail(error);
    return this.ctx.alive;
  }

  /** The end is written once all of the journal before it was read back. */
  async #finish(set: WriteSet): Promise<void> {
    await this.#verified;
    if (this.ctx.alive && (await this.#isAsRecorded(undefined))) this.#submit(set);
  }

  // ── outcomes ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Decodes an outcome and resumes the code that waits for it. */
  #deliver(key: string, ok: boolean, value: Stored, at: number): void {
    const call = this.#calls.get(key) as Call;
    this.#calls.delete(key);
    this.#at = at;
    this.#seen = key;
    let decoded: unknown;
    try {
      decoded = this.#port.payloads.decode(value);
    } catch (error) {
      this.#fail(error, "payload");
      return;
    }
    if (isThenable(decoded))
      decoded.then(
        (plain: unknown) => this.#resume(call, ok, plain),
        (error: unknown) => this.#fail(error, "payload"),
      );
    else this.#resume(call, ok, decoded);
  }

  #reject(call: Call, error: unknown): void {
    if (typeof error === "object" && error !== null) this.#recorded.add(error);
    call.reject?.(error);
  }

  /** An error out of the journal is the same in each run: to run again for its sake would be in vain. */
  #kindOfThrown(error: unknown): SymptomKind | undefined {
    if (typeof error !== "object" || error === null || !this.#recorded.has(error)) return undefined;
    const kind = kindOf(error);
    return kind === "requested" || kind === "final" ? kind : "code";
  }

  #resume(call: Call, ok: boolean, value: unknown): void {
    this.#port.kernel.scheduler.resume({
      owner: this.ctx.self.process,
      resume: () => {
        if (!ok) this.#reject(call, value);
        else if (call.finish === undefined) call.resolve?.(value as never);
        else
          try {
            call.resolve?.(call.finish(value) as never);
          } catch (error) {
            call.reject?.(error);
          }
        this.#drainAfter([call]);
      },
    });
  }

  /** Asks for `drained` when the code has gone on after these calls. A simulated one goes on in a step of its own. */
  #drainAfter(calls: readonly (Call | undefined)[]): void {
    if (this.#port.kernel.interception === undefined) this.#port.drain(this);
    else void Promise.allSettled(calls.map((call) => call?.going)).then(() => this.#port.drain(this));
  }

  #rejectAll(keys: readonly string[], at: number): void {
    this.#at = at;
    const error = new FlowCancelledError(this.flowId);
    this.#port.kernel.scheduler.resume({
      owner: this.ctx.self.process,
      resume: () => {
        this.#isCancelled = true;
        if (this.#state.caughtUp) void this.#cancelChildren();
        const calls = keys.map((key) => this.#calls.get(key));
        for (const key of keys) this.#calls.delete(key);
        for (const call of calls) {
          call?.running?.abort(error);
          call?.tap?.ended("aborted");
          call?.reject?.(error);
        }
        this.#cancelling.abort(error);
        this.#drainAfter(calls);
      },
    });
  }

  // ── waiting ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** The flow only waits, or works again: its row says so if that lasts, and a flow that waits for long leaves memory. */
  #restFor(doing: "running" | "waiting"): void {
    const { idleMs } = this.#port.limits;
    if (this.#rest !== undefined) this.ctx.cancel(this.#rest);
    this.#rest = undefined;
    const after = (ms: number, fn: () => void): void => {
      this.#rest = this.ctx.runAfter(ms, fn);
    };
    const leaves = (ms: number): void => after(ms, () => this.event({ type: "idle" }));
    const isShown = doing === this.#shown;
    // To leave memory says that it waits, too.
    if (doing === "waiting" && (isShown || idleMs <= UNSEEN_MS)) leaves(idleMs);
    else if (!isShown)
      after(UNSEEN_MS, () => {
        this.#show(doing);
        if (doing === "waiting") leaves(idleMs - UNSEEN_MS);
      });
  }

  /** Writes into the flow's row what it does. The row of a flow that has ended, or left memory, stays as it is. */
  #show(status: "running" | "waiting"): void {
    this.#shown = status;
    const row = { table: flows, key: [this.number] };
    const set = { status, updated: this.#port.now() };
    const is = { holder: this.#port.claim.token };
    this.#submitAside({ type: "when", ...row, is, writes: [{ type: "update", ...row, set }] });
  }

  /** Leaves memory, unless mail came in the meantime: the write expects the mail counter that the flow has seen. */
  #park(due: number | undefined, why: "idle" | "pause" | "stop"): void {
    if (this.#parking) return;
    this.#parking = true;
    const { process } = this.ctx.self;
    const answer = (error: Error | undefined, letters: readonly Letter[]): void => {
      process?.deliver({ type: "parked", error, letters } satisfies FlowMessage, undefined);
      this.#answered();
    };
    this.#unanswered++;
    const status = why === "pause" ? "paused" : "waiting";
    // Jitter and fractions of durations lead to parts of a millisecond, which the column does not take.
    const dueAt = why === "stop" ? 0 : due === undefined ? null : Math.ceil(due);
    const to = { status, due: dueAt, isCancelled: this.#state.cancelled };
    const park = (): Promise<Letter[]> => this.#port.park(this.number, this.#state.lastLetter, to);
    (this.#children === undefined ? park() : this.#children.then(park)).then(
      (letters) => answer(undefined, letters),
      (error: Error) => answer(error, []),
    );
  }

  #parked({ error, letters }: FlowMessage & { readonly type: "parked" }): void {
    if (error !== undefined) {
      this.#refused(error);
      return;
    }
    if (letters.length === 0) {
      this.#port.kernel.stop(this.ctx.self.process as never, PARKED, undefined);
      return;
    }
    this.#parking = false;
    this.#state.quiet = false;
    this.event({ type: "mail", letters, now: this.#port.now() });
    for (const event of this.#late.splice(0)) this.event(event);
  }

  // ── asks ─────────────────────────────────────────────────────────────────────────────────────────────────────

  keyFor(base: string): string {
    const used = (this.#names.get(base) ?? 0) + 1;
    this.#names.set(base, used);
    return countedKey(base, used);
  }

  outside(key: string): string {
    return outsideKey(key, this.#row.generation);
  }

  ask<T>(kind: string, key: string, how: How, more?: AskOptions): Promise<T> {
    return this.#call<T>(kind, key, how, { extra: more?.extra, finish: more?.finish });
  }

  askBody<T>(
    kind: string,
    key: string,
    plan: StepPlan,
    body: (step: StepContext) => unknown,
    more?: AskOptions,
  ): Promise<T> {
    const start = (attempt: number): Attempt => {
      const tap = this.#tap(kind, key);
      const ended = (ok: boolean, value: unknown): void => this.#ran(key, plan, attempt, ok, value, more);
      const lastHeartbeat = this.#heartbeats?.last(key)?.progress;
      const of = { key, flowId: this.flowId, attempt, token: this.#row.epoch ?? 0, lastHeartbeat };
      const limit = plan.timeoutMs * (plan.timeoutFactor ?? 1) ** (attempt - 1);
      const run = (): Attempt => new Attempt(this.#attempts, of, ended).run(body, limit);
      return tap === undefined ? this.#subject.run(run) : tap.around(() => this.#subject.run(run));
    };
    return this.#call<T>(kind, key, RUN, { start, finish: more?.finish });
  }

  readonly #attempts: AttemptPort = {
    after: (ms, fn) => {
      const timer = this.ctx.runAfter(ms, fn);
      return () => this.ctx.alive && this.ctx.cancel(timer);
    },
    perform: (code) => this.ctx.self.process?.perform(() => this.#subject.run(code)),
    outside: (key) => this.outside(key),
    beat: (key, progress) => this.#beating().beat(key, progress),
  };

  #beating(): Heartbeats {
    this.#heartbeats ??= new Heartbeats(this.#heartbeatPort());
    return this.#heartbeats;
  }

  #heartbeatPort(): HeartbeatPort {
    return {
      payloads: this.#port.payloads,
      flow: this.number,
      now: () => this.#port.now(),
      after: (ms, fn) => void (this.ctx.alive && this.ctx.runAfter(ms, fn)),
      write: (write) => {
        if (this.ctx.alive) this.#submitAside(write, () => this.#subject.progressed());
      },
      failed: (error) => this.#fail(error),
    };
  }

  askTransaction<T>(
    key: string,
    plan: StepPlan,
    body: (tx: SqlTransaction) => T | PromiseLike<T>,
  ): Promise<Awaited<T>> {
    const start = (attempt: number): Running => {
      const aborting = new AbortController();
      void this.#transaction(key, plan, attempt, body, aborting.signal);
      return aborting;
    };
    return this.#call("transaction", key, COMMIT, { start });
  }

  async #transaction(
    key: string,
    plan: StepPlan,
    attempt: number,
    body: (tx: SqlTransaction) => unknown,
    signal: AbortSignal,
  ): Promise<void> {
    const { store, claim, payloads } = this.#port;
    const call = this.#calls.get(key) as Call;
    const tap = this.#tap("transaction", key);
    const attach = async (result: unknown): Promise<WriteSet> => {
      call.encoded = await payloads.encode(result, `transaction "${key}" of flow ${this.flowId}`, "result");
      signal.throwIfAborted();
      // The store calls this once for each of its attempts, with one signal for all of them.
      const granted = new Promise<WriteSet>((grant) => {
        call.grant = grant;
        this.event({ type: "prepared", key });
      });
      return orAborted(granted, signal);
    };
    const limit = plan.timeoutMs === Number.POSITIVE_INFINITY ? {} : { timeoutMs: plan.timeoutMs };
    const last: { thrown: unknown; tx: SqlTransaction | undefined } = { thrown: undefined, tx: undefined };
    const run = async (tx: SqlTransaction): Promise<unknown> => {
      last.tx = tx;
      try {
        const begun = (): unknown => this.#subject.run(() => body(tx));
        return await (tap === undefined ? begun() : tap.around(begun));
      } catch (error) {
        last.thrown = error;
        throw error;
      }
    };
    this.#unanswered++;
    try {
      await store.transaction(run, { attach, claim, signal, ...limit }).finally(() => this.#answered());
    } catch (error) {
      if (!this.ctx.alive || signal.aborted) return;
      // The body may use stores of its own: what they say is its own error.
      if (error !== last.thrown && (isHostOver(error) || isUnknown(error))) return this.#refused(error);
      const failure = attempt < plan.attempts ? undefined : storeFailure(error, last, plan);
      const wait = failure && crowdWait(plan, attempt, failure, this.#port.kernel.env.random());
      if (failure !== undefined && wait === undefined) return this.#fail(error, failure.kind);
      return this.#ran(key, plan, attempt, false, error, undefined, wait);
    }
    if (!this.ctx.alive) return;
    this.#subject.progressed();
    tap?.ended("done");
    this.event({ type: "transacted", key, value: call.encoded ?? null, at: this.#writtenAt });
  }

  childKey(key: string): string {
    const part = this.outside(key);
    if (this.#isCancelled) this.#spared.add(part);
    return part;
  }

  startChild(flow: AnyFlow, input: unknown, as: NewChild): Promise<Extra> {
    return this.#port.childOf(this.#row, flow, input, as);
  }

  answering(flow: AnyFlow, id: string): Promise<Extra> {
    return this.#port.answererOf(this.#row, flow, id);
  }

  /** Called by the code, on replay too: so the flow knows its open sessions, whoever wrote their rows. */
  sessionRow(session: string, peer: string | undefined): Write {
    const flow = this.number;
    if (peer === undefined) {
      this.#sessions.delete(session);
      return { type: "delete", table: sessions, key: [flow, session] };
    }
    this.#sessions.add(session);
    return { type: "put", table: sessions, row: { flow, session, peer } };
  }

  /** Others wait for word of this flow's end: peers of its sessions, and flows that asked for a session. */
  get owes(): boolean {
    if (this.#sessions.size > 0 || this.#row.wish === "kill" || this.#state.ending?.status === "killed")
      return true;
    for (const topic of this.#state.letters.keys()) if (topic.startsWith(ACCEPT_MAIL)) return true;
    return false;
  }

  mailTo(id: string, topic: string, value: unknown, key: string): Promise<Extra> {
    return this.#port.mailTo(this.#row, id, topic, value, key);
  }

  cancelling(id: string): Promise<Extra> {
    return this.#port.wishFor(id, "cancel");
  }

  async publish(topic: string, value: unknown): Promise<Extra> {
    const { payloads, blobs } = this.#port;
    const stored = await payloads.encode(value, `event "${topic}" of flow ${this.flowId}`, "message");
    const writes: Write[] = [];
    const kept = blobs.split(stored, `flow/${this.number}`, writes);
    const row = { flow: this.number, topic, value: kept, at: this.#port.now() };
    return {
      writes: [...writes, { type: "insert", table: events, row }],
      notify: [EVENT_TOPIC + this.flowId],
    };
  }

  recordedNow(): number {
    return this.#at;
  }

  setProgress(value: unknown): void {
    const flow = this.#row.name;
    const { progress } = this.#definition.options;
    const stored = after(checked(progress, value, { type: "progress", flow }), (good) =>
      this.#port.payloads.encode(good, `flow ${this.flowId}`, "progress"),
    );
    if (isThenable(stored)) void stored.then((kept) => this.#keepProgress(kept));
    else this.#keepProgress(stored);
  }

  #keepProgress(stored: Stored): void {
    this.#progress = { stored };
  }

  readonly answers: Map<string, (argument: unknown) => unknown> = new Map();

  query(name: string, answer: (argument: unknown) => unknown): void {
    this.answers.set(name, answer);
  }

  #call<T>(
    kind: string,
    key: string,
    how: How,
    { start, extra, finish }: Pick<Call, "start" | "extra" | "finish">,
  ): Promise<T> {
    if (this.#busy) throw new FlowContextError(`${kind} "${key}" was asked in the body of a step`);
    if (!this.ctx.alive) return new Promise<T>(() => undefined);
    let made: Call | undefined;
    const promise = new Promise<T>((resolve, reject) => {
      const call: Call = { kind, key, how, start, extra, finish, resolve, reject };
      made = call;
      this.#port.kernel.interception?.gate(
        this.ctx.self.process as WatchedProcess | undefined,
        `${kind} "${key}"`,
        call,
      );
      this.#calls.set(key, call);
      if (this.#stall !== undefined) this.ctx.cancel(this.#stall);
      this.#stall = undefined;
      const isReplayed = this.#state.phase === "replaying";
      this.event({ type: "asked", kind, key, how, now: this.#port.now() });
      this.#lastAsk = isReplayed ? { ask: { kind, key }, from: new FlowContextError("here") } : undefined;
    });
    if (made !== undefined && this.#port.kernel.interception !== undefined) (made as Call).going = promise;
    return promise;
  }

  askVersion(key: string, from: number, to: number): number {
    this.event({ type: "versioned", key, from, to });
    return this.#answer;
  }

  /** An attempt of an ask begins. */
  #tap(kind: string, key: string): WorkTap<FlowStepOutcome> | undefined {
    const { name: flow, trace } = this.#row;
    const by = this.ctx.self.process as Process;
    const tap = this.#port.kernel.taps?.flowStep({ flow, id: this.flowId, kind, key }, trace, by);
    const call = this.#calls.get(key);
    if (call !== undefined) call.tap = tap;
    return tap;
  }

  #ran(
    key: string,
    plan: StepPlan,
    attempt: number,
    ok: boolean,
    given: unknown,
    more: AskOptions | undefined,
    waitMs?: number,
  ): void {
    const { payloads, kernel } = this.#port;
    const value = ok ? given : readable(given);
    const { env } = kernel;
    const wait = ok ? undefined : (waitMs ?? retryWait(plan, attempt, value, env.random(), env.wallTime()));
    const retryAt = wait === undefined ? undefined : this.#port.now() + wait;
    const call = this.#calls.get(key);
    if (call === undefined) return;
    call.tap?.ended(ok ? "done" : retryAt === undefined ? "failed" : "retried");
    if (ok) call.extra = more?.extraOf?.();
    const stored = (kept: Stored): void =>
      this.event(
        retryAt === undefined
          ? { type: "ran", key, ok, value: kept }
          : { type: "ran", key, ok, value: kept, retryAt },
      );
    const unstorable = (error: unknown): void =>
      void after(payloads.encodeThrown(error), (kept) =>
        this.event({ type: "ran", key, ok: false, value: kept }),
      );
    try {
      const encoded = ok
        ? payloads.encode(value, `${call.kind} "${key}" of flow ${this.flowId}`, "result")
        : payloads.encodeThrown(value);
      if (isThenable(encoded)) encoded.then(stored, unstorable);
      else stored(encoded);
    } catch (error) {
      unstorable(error);
    }
  }
}

/** The keys of asks that have their outcome. */
function endedSteps(items: readonly Item[]): readonly string[] {
  return items.flatMap(({ decision }) => (decision.type === "done" ? [decision.key] : []));
}

/** Where an error was made, in code that is no library's. */
function placeIn(error: unknown): string | undefined {
  const stack = isError(error) ? stackOf(error) : undefined;
  return placeOf(stack ?? "")?.replace(/^file:\/\//, "");
}

/** The engine's own failure, unless the error says what it is. */
function engineUnless(error: unknown): SymptomKind | undefined {
  return kindOf(error) === "code" ? "engine" : undefined;
}

/** Whether a commit took place is unknown. The journal tells, once it can be read: the flow runs from there. */
function isUnknown(error: unknown): error is Error {
  return error instanceof StoreError && (error as Partial<StoreUnreachableError>).known === "unknown";
}

const RUN: How = { type: "run", commits: false };
const COMMIT: How = { type: "run", commits: true };

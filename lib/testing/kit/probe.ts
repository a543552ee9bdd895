// A process for tests: it records the messages it receives, and the test says which message it expects. After Akka's TestKit.

import type { Callbacks } from "../../process/behaviour.js";
import type { Address, Context } from "../../process/context.js";
import type { DownSignal, Signal } from "../../process/entries.js";
import { CallTimeoutError, OptionError, ReceiveBusyError, SignalboxError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import type { Monitor } from "../../process/monitor.js";
import { delay, text } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import { type ExitReason, formatReason } from "../../process/reason.js";
import type { Reply, ReplyTo } from "../../process/request.js";
import type { ProcessSystem } from "../../process/system.js";
import { clockOf, type TestClock } from "./clock.js";
import { deepEqual, inspectValue } from "./inspect.js";

/** Options of a probe. */
export interface ProbeOptions {
  /** The name of the probe in error texts. Default `probe`. */
  readonly label?: string;
  /** Registers the probe under this name. */
  readonly name?: string;
  /** Default timeout of the probe's expectations, in milliseconds. Default 3,000. */
  readonly timeoutMs?: number;
  /** Whether waiting advances a test clock. Default true; with false, the test advances the clock itself. */
  readonly advance?: boolean;
}

/** Options of one expectation. */
export interface ExpectationOptions {
  /** Milliseconds to wait, in the system's time. Default: the probe's `timeoutMs`. */
  readonly timeoutMs?: number;
}

/** The expected end of a process: a reason's type, an Error it crashed with, a whole reason, or a predicate. */
export type ExpectedEnd = ExitReason["type"] | Error | ExitReason | ((reason: ExitReason) => boolean);

/** Defaults of {@link ProbeOptions}. */
export const PROBE_DEFAULTS: {
  /** Milliseconds that an expectation waits, in the system's time. */
  readonly timeoutMs: number;
} = { timeoutMs: 3_000 };

/**
 * An expectation of a test did not hold. Test runners show `expected` and `actual` as a difference.
 *
 * @remedy Compare the two, and look at the messages that the probe did receive, which the text lists.
 */
export class ExpectationError extends SignalboxError {
  static override readonly name: string = "ExpectationError";
  readonly code = "ERR_EXPECTATION";
  /** The value that was expected, if it was one. */
  readonly expected: unknown;
  /** The value that came instead, if one came. */
  readonly actual: unknown;
  /** Messages of the probe that no expectation has taken or skipped, oldest first. */
  readonly unread: readonly unknown[];
  constructor(message: string, expected: unknown, actual: unknown, unread: readonly unknown[]) {
    super(message);
    this.expected = typeof expected === "function" ? undefined : expected;
    this.actual = actual;
    this.unread = unread;
  }
}

/** Which kind of expectation searches: `expect` needs the next message to match, `fish` the first match, `expectNone` no message. */
type Seeker = "expect" | "fish" | "expectNone";

interface Search {
  readonly by: Seeker;
  readonly fits: (message: unknown) => boolean;
  /** The number of messages that were already examined. */
  seen: number;
}

type Finding =
  | { readonly type: "found" | "unfit"; readonly index: number }
  | { readonly type: "threw"; readonly error: unknown }
  | { readonly type: "nothing" };

/**
 * A request of the test to the probe. It travels as a call and has a class of its own, so the probe cannot mistake it for a
 * message under test, and the system bounds the wait: in its own time, or under the simulator's control.
 */
class Question {
  /** The name that traces show. */
  readonly by: string;
  readonly ask: (ctx: Context<unknown>) => unknown;
  constructor(by: string, ask: (ctx: Context<unknown>) => unknown) {
    this.by = by;
    this.ask = ask;
  }
}

/** Examines the messages from index `read` on. `nothing`: the result depends on messages still to come. */
function look(search: Search, messages: readonly unknown[], read: number): Finding {
  const { by, fits } = search;
  try {
    for (let index = Math.max(search.seen, read); index < messages.length; index++) {
      if (by !== "expectNone" && fits(messages[index])) return { type: "found", index };
      if (by !== "fish") return { type: "unfit", index };
      search.seen = index + 1;
    }
    return { type: "nothing" };
  } catch (error) {
    return { type: "threw", error };
  }
}

/** The probe's process. */
class Book implements Callbacks<unknown> {
  readonly messages: unknown[] = [];
  readonly signals: Signal[] = [];
  /** Number of messages that expectations have taken or skipped. */
  read = 0;
  #open: { readonly search: Search; readonly answer: ReplyTo<Finding> } | undefined = undefined;
  /** For each monitor of an `expectExit`: the caller that waits for its DOWN. */
  readonly ends: Map<Monitor, ReplyTo<DownSignal>> = new Map();

  handle(ctx: Context<unknown>, message: unknown): void {
    if (message instanceof Question) void message.ask(ctx);
    else {
      this.messages.push(message);
      if (this.#open?.answer.open) this.find(ctx, this.#open.search, this.#open.answer, false);
    }
  }

  signal(ctx: Context<unknown>, signal: Signal): void {
    if (signal.type === "down" && this.ends.has(signal.ref)) {
      ctx.reply(this.ends.get(signal.ref) as ReplyTo<DownSignal>, signal);
      this.ends.delete(signal.ref);
    } else this.signals.push(signal);
  }

  /** Answers as soon as the search is decided; with `now`, answers in any case. */
  find(ctx: Context<unknown>, search: Search, answer: ReplyTo<Finding>, now: boolean): void {
    const finding = look(search, this.messages, this.read);
    if (finding.type === "nothing" && !now) {
      this.#open = { search, answer };
      return;
    }
    if (finding.type === "found") this.read = finding.index + 1;
    ctx.reply(answer, finding);
  }
}

/** Runs work that may be asynchronous. The probe goes on receiving messages meanwhile. */
async function attempt<T>(work: () => T): Promise<Reply<Awaited<T>>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    return { ok: false, error };
  }
}

/**
 * A process that records the messages it receives. Give its `pid` to the code under test, then say which messages you
 * expect. Expectations take messages in the order of arrival, one at a time; a failed expectation takes none. The probe
 * traps exits.
 *
 * On a test clock, waiting advances the time to the message or to the timeout. So trigger the message first, then expect
 * it: messages that arrive in between are kept.
 */
export class Probe<M = unknown> implements AsyncDisposable {
  /** Address of the probe. */
  readonly pid: Pid<M>;
  readonly #system: ProcessSystem;
  readonly #book = new Book();
  readonly #timeoutMs: number;
  readonly #clock: TestClock | undefined;
  readonly #endings = new WeakMap<Pid, ExitReason>();
  #searching = false;

  /** @internal */
  constructor(system: ProcessSystem, options: ProbeOptions) {
    only("", options, ["label", "name", "timeoutMs", "advance"]);
    const { advance = true, label = "probe", name } = options;
    if (typeof advance !== "boolean") throw new OptionError("advance", advance, "true or false");
    this.#timeoutMs = delay("timeoutMs", options.timeoutMs ?? PROBE_DEFAULTS.timeoutMs);
    this.#system = system;
    this.#clock = advance ? clockOf(system.kernel.env) : undefined;
    const naming = { label: text("label", label), ...(name === undefined ? {} : { name }) };
    this.pid = system.spawn(this.#book, { ...naming, trapExit: true });
    // A monitor set after the end reports only `noproc`; the probe notes every end, so that a test still gets the reason.
    const note = ({ pid, reason }: { readonly pid: Pid; readonly reason: ExitReason }): void => {
      this.#endings.set(pid, reason);
      if (pid === this.pid) system.events.off("exit", note);
    };
    system.events.on("exit", note);
  }

  /** All messages so far, oldest first. */
  get messages(): readonly M[] {
    return this.#book.messages as M[];
  }

  /** The messages that no expectation has taken or skipped. */
  get unread(): readonly M[] {
    return this.messages.slice(this.#book.read);
  }

  /** All EXIT, DOWN and group signals so far, oldest first, without those that `expectExit` consumed. */
  get signals(): readonly Signal[] {
    return this.#book.signals;
  }

  /**
   * Expects the next message to match: a predicate, or an equal message (deep equality); without an argument, any message.
   * Fails at once when another message comes, and at the timeout when none comes.
   *
   * @throws ExpectationError
   * @example
   * const inbox = probe<Order>(system);
   * system.send(inbox.pid, { item: "tea", n: 3 });
   * system.send(inbox.pid, { item: "milk", n: 1 });
   * await inbox.expect({ item: "tea", n: 3 });
   * const { n } = await inbox.expect((order) => order.item === "milk", { timeoutMs: 500 });
   */
  expect<T extends M>(fits: (message: M) => message is T, options?: ExpectationOptions): Promise<T>;
  expect(fits: (message: M) => boolean, options?: ExpectationOptions): Promise<M>;
  expect(message?: M, options?: ExpectationOptions): Promise<M>;
  async expect(what?: unknown, options?: ExpectationOptions): Promise<unknown> {
    return this.#search("expect", what, this.#timeoutOf(options));
  }

  /**
   * Takes the first message that matches, as `expect` does, and skips the messages before it.
   *
   * @throws ExpectationError at the timeout; then no message is skipped
   */
  fish<T extends M>(fits: (message: M) => message is T, options?: ExpectationOptions): Promise<T>;
  fish(fits: (message: M) => boolean, options?: ExpectationOptions): Promise<M>;
  fish(message: M, options?: ExpectationOptions): Promise<M>;
  async fish(what: unknown, options?: ExpectationOptions): Promise<unknown> {
    return this.#search("fish", what, this.#timeoutOf(options));
  }

  /**
   * Expects that no message is unread, and that none comes within `forMs` milliseconds. With 0, the default, it waits until the
   * system is idle.
   *
   * @throws ExpectationError as soon as there is a message
   */
  async expectNone(
    options: {
      /** Milliseconds of the system's time in which no message may come: 0 or more. Default 0. */
      readonly forMs?: number;
    } = {},
  ): Promise<void> {
    only("", options, ["forMs"]);
    const waitMs = delay("forMs", options.forMs ?? 0);
    // On a clock or under the simulator, 0 ms last until nothing can run. In real time they do not, so `idle` is awaited.
    const realTime = this.#clock === undefined && this.#system.kernel.interception === undefined;
    if (waitMs === 0 && realTime) await this.#system.idle();
    await this.#search("expectNone", undefined, waitMs);
  }

  /**
   * Expects a process to end; a process that has ended since the probe was made counts. Returns the reason, and checks it if
   * you pass an expectation.
   *
   * @throws ExpectationError
   * @example
   * const watcher = probe(system);
   * const worker = system.spawn(async (ctx) => void (await ctx.receive()));
   * system.exit(worker, "kill");
   * await watcher.expectExit(worker, "killed");
   */
  async expectExit(
    target: Address<never>,
    end?: ExpectedEnd,
    options?: ExpectationOptions,
  ): Promise<ExitReason> {
    const timeoutMs = this.#timeoutOf(options);
    const { ends } = this.#book;
    const monitor = (ctx: Context<unknown>, answer: ReplyTo<DownSignal>): unknown =>
      ends.set(ctx.monitor(target), answer);
    const down = await this.#ask("expectExit", monitor, timeoutMs);
    const reason = down === undefined ? undefined : (this.#endings.get(down.pid) ?? down.reason);
    if (reason !== undefined && (end === undefined || endFits(reason, end))) return reason;
    const came =
      reason === undefined ? `it did not within ${timeoutMs} ms` : `it ended: ${formatReason(reason)}`;
    throw this.#failure(`${target} to end${end === undefined ? "" : endText(end)}; ${came}`, end, reason);
  }

  /** Makes the probe monitor a process; the DOWN appears in `signals`. */
  watch(target: Address<never>): Promise<Monitor> {
    return this.do((ctx) => ctx.monitor(target));
  }

  /** Links the probe to a process: the process's EXIT appears in `signals`, and the process gets an exit signal when the probe ends. */
  link(to: Pid): Promise<void> {
    return this.do((ctx) => ctx.link(to));
  }

  /**
   * Runs `work` as code of the probe: to reply, send, register or join a group. Returns its result. An error of `work` goes to
   * the test, not to the probe.
   *
   * @example
   * const backend = probe<{ replyTo: ReplyTo<number> }>(system);
   * const reply = system.call(backend.pid, (replyTo: ReplyTo<number>) => ({ replyTo }));
   * const { replyTo } = await backend.expect();
   * await backend.do((ctx) => ctx.reply(replyTo, 42));
   * console.log(await reply);
   */
  async do<T>(work: (ctx: Context<M>) => T, options?: ExpectationOptions): Promise<Awaited<T>> {
    const timeoutMs = this.#timeoutOf(options);
    const start = (ctx: Context<unknown>, answer: ReplyTo<Reply<Awaited<T>>>): unknown =>
      attempt(() => work(ctx)).then((outcome) => ctx.reply(answer, outcome));
    const outcome = await this.#ask("do", start, timeoutMs);
    if (outcome === undefined)
      throw this.#failure(`its work to be done; it was not within ${timeoutMs} ms`, undefined, undefined);
    if (outcome.ok) return outcome.value;
    throw outcome.error;
  }

  /** Stops the probe with reason `shutdown`. A second call does nothing. */
  async stop(): Promise<void> {
    const ended = this.#system.exited(this.pid);
    this.#system.exit(this.pid, "shutdown");
    await ended;
  }

  /** Stops the probe, as {@link Probe.stop} does. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #search(by: Seeker, what: unknown, timeoutMs: number): Promise<unknown> {
    if (this.#searching) throw new ReceiveBusyError(this.pid);
    const search: Search = { by, fits: predicate(what), seen: 0 };
    const find = (now: boolean, waitMs: number): Promise<Finding | undefined> =>
      this.#ask(by, (ctx, answer) => this.#book.find(ctx, search, answer, now), waitMs);
    this.#searching = true;
    try {
      // A message sent before the timeout counts, even if it is still in the mailbox: it arrives before the second search.
      const finding = (await find(false, timeoutMs)) ?? (await find(true, Number.POSITIVE_INFINITY));
      if (finding?.type === "threw") throw finding.error;
      if (finding?.type === "found") return this.messages[finding.index];
      if (finding?.type === "nothing" && by === "expectNone") return undefined;
      const came = this.unread.length === 0 ? "nothing came" : `got ${inspectValue(this.unread)}`;
      const expected = `${messageText(by, what)}; ${came}`;
      if (finding?.type === "unfit") throw this.#failure(expected, what, this.messages[finding.index]);
      throw this.#failure(`${expected} within ${timeoutMs} ms`, what, undefined);
    } finally {
      this.#searching = false;
    }
  }

  /** Asks the probe's process; undefined when the timeout passes first. */
  async #ask<R>(
    by: string,
    ask: (ctx: Context<unknown>, answer: ReplyTo<R>) => unknown,
    timeoutMs: number,
  ): Promise<R | undefined> {
    const build = (answer: ReplyTo<R>): Question => new Question(by, (ctx) => ask(ctx, answer));
    const answer = this.#system.call(this.pid as Pid<unknown>, build, { timeoutMs });
    try {
      // The timeout of the call bounds this wait.
      return await (this.#clock?.until(answer, { limit: Number.POSITIVE_INFINITY }) ?? answer);
    } catch (error) {
      if (error instanceof CallTimeoutError) return undefined;
      throw error;
    }
  }

  #timeoutOf(options: ExpectationOptions | undefined): number {
    if (options !== undefined) only("", options, ["timeoutMs"]);
    return options?.timeoutMs === undefined ? this.#timeoutMs : delay("timeoutMs", options.timeoutMs);
  }

  #failure(what: string, expected: unknown, actual: unknown): ExpectationError {
    return new ExpectationError(`${this.pid} expected ${what}`, expected, actual, this.unread);
  }
}

function predicate(what: unknown): (message: unknown) => boolean {
  if (typeof what === "function") return what as (message: unknown) => boolean;
  return what === undefined ? () => true : (message) => deepEqual(message, what);
}

function endFits(reason: ExitReason, expected: ExpectedEnd): boolean {
  if (typeof expected === "function") return expected(reason);
  if (typeof expected === "string") return reason.type === expected;
  if (expected instanceof Error) return reason.type === "crash" && deepEqual(reason.error, expected);
  return deepEqual(reason, expected);
}

/** A predicate as text: its name, or its source. */
function thatFits(what: { readonly name: string }): string {
  return `that fits ${what.name || String(what).replaceAll(/\s+/g, " ")}`;
}

function messageText(by: Seeker, what: unknown): string {
  if (by === "expectNone") return "no message";
  const kind = by === "expect" ? "next message" : "message";
  if (what === undefined) return `a ${kind}`;
  return typeof what === "function" ? `a ${kind} ${thatFits(what)}` : `the ${kind} ${inspectValue(what)}`;
}

function endText(expected: ExpectedEnd): string {
  if (typeof expected === "function") return ` with a reason ${thatFits(expected)}`;
  if (typeof expected === "string" || expected instanceof Error) return ` with ${expected}`;
  return ` with ${formatReason(expected)}`;
}

/**
 * Makes a {@link Probe} in a system.
 *
 * @throws OptionError, NameTakenError
 * @example
 * const clock = testClock();
 * await using system = new System({ environment: clock.environment });
 * await using inbox = probe<string>(system);
 * system.sendAfter(inbox.pid, "late", 1_000);
 * await inbox.expectNone({ forMs: 999 });
 * await inbox.expect("late");
 */
export function probe<M = unknown>(system: ProcessSystem, options: ProbeOptions = {}): Probe<M> {
  return new Probe<M>(system, options);
}

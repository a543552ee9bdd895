// The context of a flow's code: turns each method into an ask of the flow's process.

import { dispatch } from "../../dispatch/dispatch.js";
import type { ConsumerGroup } from "../../dispatch/index.js";
import type { Context } from "../../process/context.js";
import { type Duration, duration } from "../../process/duration.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, oneOf, withMethod } from "../../process/options.js";
import type { SqlTransaction, Write } from "../../store/index.js";
import type {
  Child,
  ChildOptions,
  FlowContext,
  FlowDispatchOptions,
  InnerContext,
  Saga,
  StepContext,
  StepOptions,
  TimedOptions,
  TransactionOptions,
  WaitOptions,
} from "../definition/context.js";
import type { AnyFlow, FlowDefinition, MessageTypes } from "../definition/define.js";
import { callable, named } from "../definition/names.js";
import type { How } from "../machine/state.js";
import { SessionRejectedError } from "../sessions/errors.js";
import { FlowSession, type Session, type SessionAsks, type SessionWait } from "../sessions/session.js";
import type { Extra } from "./call.js";
import { ContinueAsNew } from "./continue.js";
import { FlowFailedError, HospitalizeError } from "./errors.js";
import { runInner, timedPlan } from "./inner.js";
import type { NewChild } from "./port.js";
import { openSaga } from "./saga.js";
import type { Seeded } from "./seeded.js";
import { type StepPlan, stepPlan } from "./step-body.js";

/** What the context asks its process for. */
export interface Asking {
  readonly flowId: string;
  readonly ctx: Context<never>;
  readonly seeded: Seeded;
  /** Aborts when the flow is cancelled. */
  readonly cancellation: AbortSignal;
  /** A key that was not used before. */
  keyFor(base: string): string;
  ask<T>(kind: string, key: string, how: How, more?: AskOptions): Promise<T>;
  /** An ask whose body runs, with attempts. `body` gets a context of its own. */
  askBody<T>(
    kind: string,
    key: string,
    plan: StepPlan,
    body: (step: StepContext) => unknown,
    more?: AskOptions,
  ): Promise<T>;
  askTransaction<T>(
    key: string,
    plan: StepPlan,
    body: (tx: SqlTransaction) => T | PromiseLike<T>,
  ): Promise<Awaited<T>>;
  askVersion(key: string, from: number, to: number): number;
  /** A key as a part of ids outside of the journal. */
  outside(key: string): string;
  /** The same for the key of an ask that starts a child. */
  childKey(key: string): string;
  /** The writes that start a child. */
  startChild(flow: AnyFlow, input: unknown, as: NewChild): Extra | Promise<Extra>;
  /** The writes that send a message. @throws FlowNotFoundError */
  mailTo(id: string, topic: string, value: unknown, key: string): Promise<Extra>;
  /** The writes that start a flow that answers a session. */
  answering(flow: AnyFlow, id: string): Promise<Extra>;
  /** The write for a session that opens, so that its peer is notified of the flow's end; `peer` undefined: for a session that is over. */
  sessionRow(session: string, peer: string | undefined): Write;
  /** The writes that ask a flow to end early. */
  cancelling(id: string): Promise<Extra>;
  publish(topic: string, value: unknown): Extra | Promise<Extra>;
  recordedNow(): number;
  setProgress(value: unknown): void;
  query(name: string, answer: (argument: unknown) => unknown): void;
}

/** Further parts of an ask. */
export interface AskOptions {
  /** Written with the outcome, or with the begin of a wait that prepares. */
  readonly extra?: Extra;
  /** Written with the outcome of a body. */
  readonly extraOf?: () => Extra | undefined;
  /** Makes what the code gets of the outcome. */
  readonly finish?: (value: unknown) => unknown;
}

const withinOf = (options: WaitOptions | undefined): number | undefined =>
  options?.timeout === undefined ? undefined : duration("timeout", options.timeout);
const idOf = (to: string | { readonly id: string }): string =>
  named("to", typeof to === "object" && to !== null ? to.id : to);

/** The last moment that a Date can be, in milliseconds since 1970. */
const LATEST_MS = 8.64e15;

/** The topic of the mail that notifies a parent of the end of a child. */
export const childTopic = (key: string): string => `child/${key}`;

export class FlowCode implements FlowContext {
  readonly #asks: Asking;

  constructor(asks: Asking) {
    this.#asks = asks;
  }

  get flowId(): string {
    return this.#asks.flowId;
  }

  get signal(): AbortSignal {
    return this.#asks.cancellation;
  }

  step<T>(
    name: string,
    body: (step: StepContext) => T | PromiseLike<T>,
    options?: StepOptions,
  ): Promise<Awaited<T>> {
    named("name", name);
    callable(`step "${name}"`, body);
    return this.#asks.askBody("step", this.#asks.keyFor(name), stepPlan(options), body);
  }

  transaction<T>(
    name: string,
    body: (tx: SqlTransaction) => T | PromiseLike<T>,
    options?: TransactionOptions,
  ): Promise<Awaited<T>> {
    named("name", name);
    callable(`transaction "${name}"`, body);
    return this.#asks.askTransaction(this.#asks.keyFor(name), stepPlan(options), body);
  }

  sleep(time: Duration): Promise<void> {
    return this.#sleep({ ms: duration("duration", time) });
  }

  sleepUntil(moment: number | { getTime(): number }): Promise<void> {
    const ms = typeof moment === "number" ? moment : (moment as { getTime?(): unknown } | null)?.getTime?.();
    if (typeof ms !== "number" || !(Math.abs(ms) <= LATEST_MS))
      throw new OptionError("moment", moment, "milliseconds since 1970, or a Date");
    return this.#sleep({ moment: ms });
  }

  #sleep(until: (How & { readonly type: "sleep" })["until"]): Promise<void> {
    return this.#asks.ask("sleep", this.#asks.keyFor("sleep"), { type: "sleep", until });
  }

  receive<T>(topic: string, options?: WaitOptions): Promise<T> {
    named("topic", topic);
    if (options !== undefined) only("", options, ["timeout"]);
    return this.#receive(`message/${topic}`, `receive ${topic}`, withinOf(options));
  }

  #receive<T>(topic: string, key: string, withinMs: number | undefined): Promise<T> {
    const how: How = { type: "wait", topic, withinMs, prepares: false };
    return this.#asks.ask("receive", this.#asks.keyFor(key), how);
  }

  send(to: string | { readonly id: string }, topic: string, value: unknown): Promise<void> {
    const id = idOf(to);
    const key = this.#asks.keyFor(`send ${named("topic", topic)}`);
    return this.#write("send", key, () => this.#asks.mailTo(id, `message/${topic}`, value, key));
  }

  /** An ask of no outcome whose writes are found first. */
  #write(kind: string, key: string, extra: () => Extra | Promise<Extra>): Promise<void> {
    let found: Extra | undefined;
    const body = async (): Promise<void> => {
      found = await extra();
    };
    return this.#asks.askBody(kind, key, stepPlan(undefined), body, { extraOf: () => found });
  }

  async call<I, O>(
    flow: FlowDefinition<I, O, MessageTypes, unknown>,
    input: I,
    options?: ChildOptions,
  ): Promise<O> {
    const child = await this.#child("call", flow, input, options);
    return child.result(options?.timeout === undefined ? undefined : { timeout: options.timeout });
  }

  start<I, O>(
    flow: FlowDefinition<I, O, MessageTypes, unknown>,
    input: I,
    options?: ChildOptions,
  ): Promise<Child<O>> {
    return this.#child("start", flow, input, options);
  }

  #child<I, O>(
    kind: string,
    flow: FlowDefinition<I, O, MessageTypes, unknown>,
    input: I,
    options: ChildOptions = {},
  ): Promise<Child<O>> {
    only("", options, ["id", "timeout", "onCancel"]);
    if (options.timeout !== undefined) duration("timeout", options.timeout);
    const onCancel = oneOf("onCancel", options.onCancel ?? "cancel", ["cancel", "leave"]);
    isFlow("flow", flow);
    const key = this.#asks.keyFor(`${kind} ${flow.name}`);
    const part = this.#asks.childKey(key);
    const id = named("id", options.id ?? `${this.flowId}/${part}`);
    let found: Extra | undefined;
    const body = async (): Promise<void> => {
      found = await this.#asks.startChild(flow, input, { id, key: part, isLeft: onCancel === "leave" });
    };
    return this.#asks.askBody(kind, key, stepPlan(undefined), body, {
      extraOf: () => found,
      finish: () => this.#childOf<O>(id, key, part),
    });
  }

  #childOf<O>(id: string, key: string, part: string): Child<O> {
    const code = this;
    return {
      id,
      async result(options) {
        if (options !== undefined) only("", options, ["timeout"]);
        const end = await code.#receive<ChildEnd | undefined>(
          childTopic(part),
          `result ${key}`,
          withinOf(options),
        );
        if (end === undefined) return undefined as O;
        if (end.status === "completed") return end.value as O;
        throw new FlowFailedError(id, end.status, end.value);
      },
      cancel: () =>
        code.#write("cancel", code.#asks.keyFor(`cancel ${key}`), () => code.#asks.cancelling(id)),
    };
  }

  dispatch<T, R = unknown>(
    name: string,
    group: ConsumerGroup<T>,
    payload: T,
    options: FlowDispatchOptions = {},
  ): Promise<R> {
    named("name", name);
    withMethod("group", group, "dispatch", "a ConsumerGroup");
    only("", options, ["maxAttempts", "retry", "timeout"]);
    const { maxAttempts, ...rest } = options;
    const body = async (step: StepContext): Promise<unknown> => {
      const outcome = await dispatch(this.#asks.ctx, group, payload, {
        signal: step.signal,
        ...(maxAttempts === undefined ? {} : { maxAttempts }),
      });
      return outcome.reply;
    };
    return this.#asks.askBody("dispatch", this.#asks.keyFor(name), stepPlan(rest), body);
  }

  idempotent<T>(name: string, body: (inner: InnerContext) => Promise<T>, options?: StepOptions): Promise<T> {
    named("name", name);
    callable(`idempotent "${name}"`, body);
    return this.#asks.askBody("subflow", this.#asks.keyFor(name), stepPlan(options), (step) =>
      runInner(this.#asks.ctx, step, body),
    );
  }

  timed<T>(name: string, body: (inner: InnerContext) => Promise<T>, options: TimedOptions = {}): Promise<T> {
    const plan = timedPlan(options);
    named("name", name);
    callable(`timed "${name}"`, body);
    return this.#asks.askBody("subflow", this.#asks.keyFor(name), plan, (step) =>
      runInner(this.#asks.ctx, step, body),
    );
  }

  saga(): Saga {
    return openSaga(this);
  }

  async session(
    to: string | { readonly id: string } | AnyFlow,
    protocol: string,
    options: SessionWait = {},
  ): Promise<Session> {
    named("protocol", protocol);
    only("", options, ["timeout"]);
    if (options.timeout !== undefined) duration("timeout", options.timeout);
    const isDefinition = typeof to === "object" && to !== null && "body" in to;
    if (!isDefinition) idOf(to);
    const id = `${this.flowId}/${this.#asks.outside(this.#asks.keyFor(`session ${protocol}`))}`;
    if (!isDefinition) return FlowSession.ask(this.#sessions, id, idOf(to), protocol, options);
    if (to.options.answers !== protocol)
      throw new SessionRejectedError(protocol, `flow ${to.name} does not have it as its option \`answers\``);
    const peer = `${id}/answer`;
    await this.#write("session", this.#asks.keyFor(`start ${to.name}`), () => this.#asks.answering(to, peer));
    return FlowSession.ask(this.#sessions, id, peer, protocol, options);
  }

  accept(protocol: string): Promise<Session>;
  accept(protocol: string, options: SessionWait): Promise<Session | undefined>;
  async accept(protocol: string, options: SessionWait = {}): Promise<Session | undefined> {
    named("protocol", protocol);
    only("", options, ["timeout"]);
    return FlowSession.answer(this.#sessions, protocol, withinOf(options));
  }

  get #sessions(): SessionAsks {
    const asks = this.#asks;
    return {
      flowId: this.flowId,
      now: () => asks.recordedNow(),
      next: (topic, withinMs) => this.#receive(topic, `receive ${topic}`, withinMs),
      post: ({ to, topic, message, session, open }) => {
        const key = asks.keyFor(`send ${topic}`);
        const row = open === undefined ? [] : [asks.sessionRow(session, open ? to : undefined)];
        return this.#write("send", key, async () => {
          const extra = await asks.mailTo(to, topic, message, key);
          return { ...extra, writes: [...extra.writes, ...row] };
        });
      },
    };
  }

  now(): number {
    return this.#asks.recordedNow();
  }

  random(): number {
    return this.#asks.seeded.random();
  }

  id(): string {
    const part = (): string => this.#asks.seeded.bits().toString(36).padStart(7, "0");
    return `${part()}${part()}${part()}`;
  }

  version(change: string, from: number, to: number): number {
    named("change", change);
    count("from", from, 0);
    count("to", to, from);
    return this.#asks.askVersion(this.#asks.keyFor(`version ${change}`), from, to);
  }

  progress(value: unknown): void {
    this.#asks.setProgress(value);
  }

  emit(topic: string, value: unknown): Promise<void> {
    const key = this.#asks.keyFor(`emit ${named("topic", topic)}`);
    return this.#write("emit", key, () => this.#asks.publish(topic, value));
  }

  query<T>(name: string, answer: (argument: unknown) => T): void {
    this.#asks.query(named("name", name), callable(`query "${name}"`, answer));
  }

  continueAsNew(input: unknown): never {
    throw new ContinueAsNew(input);
  }

  hospital(reason: string): never {
    throw new HospitalizeError(reason);
  }
}

/** The content of the mail with a child's end. */
export interface ChildEnd {
  readonly status: "completed" | "failed" | "cancelled" | "killed";
  readonly value: unknown;
}

/** @throws OptionError */
function isFlow(path: string, value: unknown): void {
  const { name, body } = (value ?? {}) as Partial<AnyFlow>;
  if (typeof name !== "string" || typeof body !== "function")
    throw new OptionError(path, value, "a definition made by defineFlow()");
}

// The context of a flow's code: turns each method into an ask of the flow's process.

import { dispatch } from "../../dispatch/dispatch.js";
import type { ConsumerGroup } from "../../dispatch/index.js";
import { after } from "../../host/payload/codec.js";
import { type Duration, duration } from "../../process/duration.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, oneOf, withMethod } from "../../process/options.js";
import { isThenable } from "../../process/thenable.js";
import type { SqlTransaction, Write } from "../../store/index.js";
import { checked } from "../definition/checked.js";
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
import type { FlowWrites } from "../journal/changes.js";
import type { Stored } from "../journal/entry.js";
import { EVENT_TOPIC, events } from "../journal/tables.js";
import type { How } from "../machine/state.js";
import { SessionRejectedError } from "../sessions/errors.js";
import { FlowSession, type Session, type SessionAsks, type SessionWait } from "../sessions/session.js";
import { sessions } from "../sessions/tables.js";
import { type ChildEnd, childTopic } from "./checkpoint.js";
import { FlowFailedError, HospitalizeError } from "./errors.js";
import { FlowAsks } from "./flow-asks.js";
import type { FlowLife } from "./flow-life.js";
import { runInner, timedPlan } from "./inner.js";
import { Seeded } from "./seeded.js";
import { type AnyStepOptions, stepBody } from "./step-body.js";
import { stepPlan } from "./step-plan.js";

const withinOf = (options: WaitOptions | undefined): number | undefined =>
  options?.timeout === undefined ? undefined : duration("timeout", options.timeout);
const idOf = (to: string | { readonly id: string }): string =>
  named("to", typeof to === "object" && to !== null ? to.id : to);

/** The last moment that a Date can be, in milliseconds since 1970. */
const LATEST_MS = 8.64e15;

export class FlowCode implements FlowContext {
  readonly #life: FlowLife;
  readonly #asks: FlowAsks;
  readonly #seeded: Seeded;

  constructor(life: FlowLife) {
    this.#life = life;
    this.#asks = new FlowAsks(life);
    this.#seeded = new Seeded(`${life.row.seed}/${life.row.generation}`);
  }

  get flowId(): string {
    return this.#life.flowId;
  }

  get signal(): AbortSignal {
    return this.#life.cancelling.signal;
  }

  step<T>(name: string, body: unknown, options?: AnyStepOptions): Promise<Awaited<T>> {
    named("name", name);
    const { run, plan } = stepBody(name, body, options);
    return this.#asks.body("step", this.#asks.keyFor(name), plan, run);
  }

  transaction<T>(
    name: string,
    body: (tx: SqlTransaction) => T | PromiseLike<T>,
    options?: TransactionOptions,
  ): Promise<Awaited<T>> {
    named("name", name);
    callable(`transaction "${name}"`, body);
    return this.#asks.transaction(this.#asks.keyFor(name), stepPlan(options), body);
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
    return this.#write("send", key, () => this.#mailTo(id, `message/${topic}`, value, key));
  }

  /** An ask of no outcome whose writes are found first. */
  #write(kind: string, key: string, extra: () => FlowWrites | Promise<FlowWrites>): Promise<void> {
    let found: FlowWrites | undefined;
    const body = async (): Promise<void> => {
      found = await extra();
    };
    return this.#asks.body(kind, key, stepPlan(undefined), body, { extraOf: () => found });
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
    const part = this.#childKey(key);
    const id = named("id", options.id ?? `${this.flowId}/${part}`);
    let found: FlowWrites | undefined;
    const body = async (): Promise<void> => {
      found = await this.#life.port.childOf(this.#life.row, flow, input, {
        id,
        key: part,
        isLeft: onCancel === "leave",
      });
    };
    return this.#asks.body(kind, key, stepPlan(undefined), body, {
      extraOf: () => found,
      finish: () => this.#childOf<O>(id, key, part),
    });
  }

  /** The key of an ask that starts a child, as a part of ids outside of the journal. */
  #childKey(key: string): string {
    const part = this.#life.outside(key);
    if (this.#life.isCancelled) this.#life.spared.add(part);
    return part;
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
        code.#write("cancel", code.#asks.keyFor(`cancel ${key}`), () =>
          code.#life.port.control(id, "cancel"),
        ),
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
      const outcome = await dispatch(this.#life.ctx, group, payload, {
        signal: step.signal,
        ...(maxAttempts === undefined ? {} : { maxAttempts }),
      });
      return outcome.reply;
    };
    return this.#asks.body("dispatch", this.#asks.keyFor(name), stepPlan(rest), body);
  }

  idempotent<T>(name: string, body: (inner: InnerContext) => Promise<T>, options?: StepOptions): Promise<T> {
    named("name", name);
    callable(`idempotent "${name}"`, body);
    return this.#asks.body("subflow", this.#asks.keyFor(name), stepPlan(options), (step) =>
      runInner(this.#life.ctx, step, body),
    );
  }

  timed<T>(name: string, body: (inner: InnerContext) => Promise<T>, options: TimedOptions = {}): Promise<T> {
    const plan = timedPlan(options);
    named("name", name);
    callable(`timed "${name}"`, body);
    return this.#asks.body("subflow", this.#asks.keyFor(name), plan, (step) =>
      runInner(this.#life.ctx, step, body),
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
    const id = `${this.flowId}/${this.#life.outside(this.#asks.keyFor(`session ${protocol}`))}`;
    if (!isDefinition) return FlowSession.ask(this.#sessions, id, idOf(to), protocol, options);
    if (to.options.answers !== protocol)
      throw new SessionRejectedError(protocol, `flow ${to.name} does not have it as its option \`answers\``);
    const peer = `${id}/answer`;
    await this.#write("session", this.#asks.keyFor(`start ${to.name}`), () =>
      this.#life.port.answererOf(this.#life.row, to, peer),
    );
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
    return {
      flowId: this.flowId,
      now: () => this.now(),
      next: (topic, withinMs) => this.#receive(topic, `receive ${topic}`, withinMs),
      post: ({ to, topic, message, session, open }) => {
        const key = this.#asks.keyFor(`send ${topic}`);
        const row = open === undefined ? [] : [this.#sessionRow(session, open ? to : undefined)];
        return this.#write("send", key, async () => {
          const extra = await this.#mailTo(to, topic, message, key);
          return { ...extra, writes: [...extra.writes, ...row] };
        });
      },
    };
  }

  /** The code calls this on replay too, so the flow knows its open sessions, even those whose rows an earlier host wrote. */
  #sessionRow(session: string, peer: string | undefined): Write {
    const flow = this.#life.row.number;
    if (peer === undefined) {
      this.#life.sessions.delete(session);
      return { type: "delete", table: sessions, key: [flow, session] };
    }
    this.#life.sessions.add(session);
    return { type: "put", table: sessions, row: { flow, session, peer } };
  }

  #mailTo(id: string, topic: string, value: unknown, key: string): Promise<FlowWrites> {
    return this.#life.port.mailTo(this.#life.row, id, topic, value, key);
  }

  now(): number {
    return this.#life.at;
  }

  random(): number {
    return this.#seeded.random();
  }

  id(): string {
    const part = (): string => this.#seeded.bits().toString(36).padStart(7, "0");
    return `${part()}${part()}${part()}`;
  }

  version(change: string, from: number, to: number): number {
    named("change", change);
    count("from", from, 0);
    count("to", to, from);
    return this.#asks.version(this.#asks.keyFor(`version ${change}`), from, to);
  }

  progress(value: unknown): void {
    const { row, definition, port, flowId } = this.#life;
    const stored = after(
      checked(definition.options.progress, value, { type: "progress", flow: row.name }),
      (good) => port.payloads.encode(good, `flow ${flowId}`, "progress"),
    );
    const keep = (kept: Stored): void => {
      this.#life.progress = { stored: kept };
    };
    if (isThenable(stored)) void stored.then(keep);
    else keep(stored);
  }

  emit(topic: string, value: unknown): Promise<void> {
    const key = this.#asks.keyFor(`emit ${named("topic", topic)}`);
    return this.#write("emit", key, () => this.#publish(topic, value));
  }

  async #publish(topic: string, value: unknown): Promise<FlowWrites> {
    const { port, row, flowId } = this.#life;
    const stored = await port.payloads.encode(value, `event "${topic}" of flow ${flowId}`, "message");
    const writes: Write[] = [];
    const kept = port.blobs.split(stored, `flow/${row.number}`, writes);
    const event = { flow: row.number, topic, value: kept, at: port.now() };
    return {
      writes: [...writes, { type: "insert", table: events, row: event }],
      notify: [EVENT_TOPIC + flowId],
    };
  }

  query<T>(name: string, answer: (argument: unknown) => T): void {
    this.#life.answers.set(named("name", name), callable(`query "${name}"`, answer));
  }

  continueAsNew(input: unknown): never {
    throw new ContinueAsNew(input);
  }

  hospital(reason: string): never {
    throw new HospitalizeError(reason);
  }
}

/** @throws OptionError */
function isFlow(path: string, value: unknown): void {
  const { name, body } = (value ?? {}) as Partial<AnyFlow>;
  if (typeof name !== "string" || typeof body !== "function")
    throw new OptionError(path, value, "a definition made by defineFlow()");
}

/** The undo list of a flow. Its undo steps are steps like others: at least once, each in the journal. */
export function openSaga(flow: Pick<FlowContext, "step">): Saga {
  const undos: { readonly name: string; readonly run: () => Promise<unknown> }[] = [];
  return {
    async step(name, body, undo, options) {
      callable(`undo of step "${name}"`, undo);
      const result = await flow.step(name, body, options);
      const run = (): Promise<unknown> =>
        flow.step(`undo ${name}`, (step: StepContext) => undo(result, step) as undefined, options);
      undos.push({ name, run });
      return result;
    },
    async rollback() {
      const errors: unknown[] = [];
      const failed: string[] = [];
      for (let undo = undos.pop(); undo !== undefined; undo = undos.pop()) {
        try {
          await undo.run();
        } catch (error) {
          errors.push(error);
          failed.push(`undo ${undo.name}`);
        }
      }
      if (errors.length > 0) throw new AggregateError(errors, `not undone: ${failed.join(", ")}`);
    },
  };
}

/** Thrown by `flow.continueAsNew`. Code that catches everything must throw it on. */
export class ContinueAsNew {
  readonly input: unknown;
  constructor(input: unknown) {
    this.input = input;
  }
}

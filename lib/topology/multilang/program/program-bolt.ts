// A bolt of ours under another host: it executes the host's tuples, and sends acks and fails to the host. Its ticks come
// from its own clock, because the host does not know their period.

import type { Context } from "../../../process/context.js";
import type { Process } from "../../../process/process.js";
import { TERMINATING } from "../../../process/process-state.js";
import { showThrown } from "../../../process/show.js";
import type { ComponentPlan } from "../../definition/blueprint.js";
import type { BoltContext, BoltDefinition, BoltEmitOptions, Emitters } from "../../definition/component.js";
import { AnchorError, SettledError } from "../../definition/errors.js";
import type { AnyValues, Fields, Streams } from "../../definition/field.js";
import { runGenerator } from "../../definition/generator.js";
import { concurrencyOf, settling } from "../../definition/settling.js";
import { ForeignChannel, Tuple } from "../../definition/tuple.js";
import { processOf } from "../../tasks/task.js";
import { timed } from "../../tasks/watchdog.js";
import type { MessageId } from "../protocol/component-messages.js";
import { MultilangError } from "../protocol/errors.js";
import { checkValues, named, ownOf, toValues } from "../protocol/fields.js";
import type { HostMessage, SourceFields, WireTuple } from "../protocol/host-messages.js";
import {
  type HostConnection,
  type ProgramTask,
  programContext,
  sendTuple,
  type TaskIdentity,
} from "./program-task.js";

export type ProgramBoltItem =
  | Extract<HostMessage, { readonly type: "tuple" | "tick" }>
  /** The topology drains, as a host of ours says. */
  | { readonly type: "flush"; readonly id: MessageId };

/** The fields of an input stream, as far as the topology declares them. */
export type FieldsOf = (component: string, stream: string) => Fields | undefined;

type Ctx = BoltContext<Streams, unknown>;

export class ProgramBolt implements ProgramTask<ProgramBoltItem> {
  readonly #plan: ComponentPlan;
  readonly #definition: BoltDefinition;
  readonly #place: TaskIdentity;
  readonly #wire: HostConnection;
  readonly #process: Context<never>;
  readonly #self: Process;
  readonly #sourceFields: SourceFields;
  readonly #fieldsOf: FieldsOf;
  /** Tuples that are not settled, with their ids in the protocol. */
  readonly #held: Map<Tuple<unknown>, MessageId> = new Map();
  readonly #concurrency: number;
  /** Executions in flight, when the bolt works on several tuples at a time. */
  readonly #executions: Set<Promise<void>> = new Set();
  /** The tuple that `execute` works on, when the bolt works on one at a time. */
  #current: Tuple<unknown> | undefined;
  /** Id of the host's tick or flush that is in progress. */
  #tick: MessageId | undefined;
  #ctx: Ctx | undefined;

  constructor(
    plan: ComponentPlan,
    place: TaskIdentity,
    wire: HostConnection,
    process: Context<never>,
    sourceFields: SourceFields,
    fieldsOf: FieldsOf,
  ) {
    this.#plan = plan;
    this.#definition = plan.definition as BoltDefinition;
    this.#place = place;
    this.#wire = wire;
    this.#process = process;
    this.#self = processOf(process);
    this.#concurrency = concurrencyOf(plan);
    this.#sourceFields = sourceFields;
    this.#fieldsOf = fieldsOf;
  }

  async start(): Promise<void> {
    const { init, activate } = this.#definition.options;
    const task = programContext(this.#place, this.#wire, this.#process);
    this.#ctx = {
      ...task,
      state: await init?.(task),
      emit: this.#emitters(),
      ack: (tuple) => this.#settle("ack", tuple),
      fail: (tuple) => this.#settle("fail", tuple),
      // The protocol has no back-pressure to wait for, and no way to extend a timeout.
      ready: () => undefined,
      extend: () => undefined,
    };
    await activate?.(this.#ctx);
    this.#arm();
  }

  async handle(item: ProgramBoltItem): Promise<void> {
    const ctx = this.#ctx as Ctx;
    const { options } = this.#definition;
    if (item.type !== "tuple") {
      this.#tick = item.id;
      await this.#timed(options[item.type]?.(ctx), `its ${item.type}`);
      // `crashed` has failed it in the meantime.
      if (this.#tick === undefined) return;
      this.#tick = undefined;
      this.#wire.send({ command: "ack", id: item.id });
      return;
    }
    const tuple = this.#read(item);
    if (tuple === undefined) return;
    this.#held.set(tuple, item.id);
    if (this.#concurrency === 1) {
      this.#current = tuple;
      await this.#work(tuple, ctx);
      return;
    }
    const work = this.#work(tuple, { ...ctx, emit: this.#emitters(tuple) }).then(
      () => void this.#executions.delete(work),
      (error) => this.#self.failed(error, undefined),
    );
    this.#executions.add(work);
    if (this.#executions.size >= this.#concurrency) await Promise.race(this.#executions);
  }

  async #work(tuple: Tuple, ctx: Ctx): Promise<void> {
    const { execute, mode = "ack" } = this.#definition.options;
    let end = settling(mode, false);
    try {
      await this.#timed(runGenerator(execute(tuple, ctx), ctx.ready), tuple);
    } catch (error) {
      end = settling(mode, true);
      // An exit that the function itself requested is no failure of the function.
      const exits = this.#self.state === TERMINATING && this.#concurrency === 1;
      if (end === "crash" || !this.#process.alive || exits) throw error;
      this.#report(error, `failed a tuple of ${tuple.component}.${tuple.stream}: `);
    }
    this.#current = undefined;
    if ((end === "ack" || end === "fail") && this.#held.has(tuple)) this.#settle(end, tuple);
  }

  /** Schedules the next tick of the configuration, whether or not the host sends anything. */
  #arm(): void {
    const { tick } = this.#definition.options;
    const { tickMs } = this.#plan.config;
    if (tick === undefined || tickMs === undefined) return;
    this.#process.runAfter(tickMs, async () => {
      await this.#timed(tick(this.#ctx as Ctx), "its tick");
      if (this.#process.alive) this.#arm();
    });
  }

  #timed(result: unknown, work: Tuple | string): unknown {
    return timed(this.#self, this.#place, this.#plan.config.executeTimeoutMs, result, work);
  }

  async stop(final: boolean): Promise<void> {
    const { deactivate, close } = this.#definition.options;
    if (this.#ctx === undefined) return;
    await Promise.allSettled(this.#executions);
    await deactivate?.(this.#ctx);
    await close?.(this.#ctx, final);
  }

  crashed(): void {
    const ids = [...this.#held.values(), ...(this.#tick === undefined ? [] : [this.#tick])];
    for (const id of ids) this.#wire.send({ command: "fail", id });
    this.#held.clear();
    this.#tick = undefined;
  }

  /** @param at - the tuple to anchor to by default; if left out, the one that `execute` works on */
  #emitters(at?: Tuple): Emitters<Streams, BoltEmitOptions> {
    const { streams } = this.#plan;
    const { unanchored } = this.#place;
    return Object.fromEntries(
      Object.entries(streams).map(([name, fields]) => [
        name,
        (values: AnyValues, options: BoltEmitOptions = {}) => {
          const { anchors = at ?? this.#current ?? [] } = options;
          const tuples = anchors instanceof Tuple ? [anchors] : anchors;
          const ids = (tuples as readonly Tuple<unknown>[]).map((tuple) => this.#idOf(tuple));
          const more = { anchors: unanchored?.has(name) ? [] : ids };
          sendTuple(this.#wire, this.#process, name, fields, values, options, more);
        },
      ]),
    );
  }

  #idOf(tuple: Tuple<unknown>): MessageId {
    this.#process.now();
    const id = this.#held.get(tuple);
    if (id === undefined) throw new AnchorError(...this.#whose(tuple));
    return id;
  }

  #settle(how: "ack" | "fail", tuple: Tuple<unknown>): void {
    this.#process.now();
    const id = this.#held.get(tuple);
    if (id === undefined) throw new SettledError(...this.#whose(tuple));
    this.#held.delete(tuple);
    this.#wire.send({ command: how, id });
  }

  #whose({ component, stream }: Tuple<unknown>): [component: string, task: number, stream: string] {
    return [this.#place.component, this.#place.task, `${component}.${stream}`];
  }

  /** Reads a tuple. Invalid values fail that tuple only: a crash would fail all other held tuples too. */
  #read(wire: WireTuple): Tuple | undefined {
    const { id, component, stream, task } = wire;
    try {
      return new Tuple(this.#values(wire), new ForeignChannel(component, stream, task));
    } catch (error) {
      if (!(error instanceof MultilangError)) throw error;
      this.#report(error, "failed a tuple: ");
      this.#wire.send({ command: "fail", id });
      return undefined;
    }
  }

  #report(error: unknown, text: string): void {
    this.#wire.send({ command: "error", msg: `${this.#place.component} ${text}${showThrown(error)}` });
  }

  /** Names the values of a tuple: by the fields from the handshake, else from the topology, else of the bolt's input. */
  #values({ component, stream, values }: WireTuple): AnyValues {
    const what = `stream ${stream} of ${component}`;
    const { inputs } = this.#definition;
    const wanted = ownOf(inputs, stream) ?? inputs["*"];
    const names = ownOf(ownOf(this.#sourceFields, component), stream);
    if (names === undefined) {
      const fields = this.#fieldsOf(component, stream) ?? wanted;
      if (fields === undefined) throw new MultilangError("stream", `${what} is no input of this bolt`);
      return toValues(what, fields, values);
    }
    if (names.length !== values.length)
      throw new MultilangError(
        "field",
        `a tuple of ${what} must have ${names.length} values (${names.join(", ")}); got ${values.length}`,
      );
    const result = named(names, values);
    if (wanted !== undefined) checkValues(what, wanted, result);
    return result;
  }
}

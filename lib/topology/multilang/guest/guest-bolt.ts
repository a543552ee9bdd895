// A bolt of ours under another host: tuples from the wire are executed, and settled over the wire. It has a clock of its
// own, for that of the host knows nothing of its ticks.

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
import { Tuple } from "../../definition/tuple.js";
import { processOf } from "../../tasks/task.js";
import { timed } from "../../tasks/watchdog.js";
import type { MessageId } from "../protocol/component-messages.js";
import { MultilangError } from "../protocol/errors.js";
import { checkValues, named, ownOf, toValues } from "../protocol/fields.js";
import type { HostMessage, SourceFields, WireTuple } from "../protocol/host-messages.js";
import {
  type GuestTask,
  type HostConnection,
  initContext,
  type Place,
  sendTuple,
  taskContext,
} from "./guest-task.js";

export type GuestBoltItem = Extract<HostMessage, { readonly type: "tuple" | "tick" }>;

/** What is known of the fields of a stream that comes in. */
export type FieldsOf = (component: string, stream: string) => Fields | undefined;

type Ctx = BoltContext<Streams, unknown>;

export class GuestBolt implements GuestTask<GuestBoltItem> {
  readonly #plan: ComponentPlan;
  readonly #definition: BoltDefinition;
  readonly #place: Place;
  readonly #wire: HostConnection;
  readonly #process: Context<never>;
  readonly #self: Process;
  readonly #sourceFields: SourceFields;
  readonly #fieldsOf: FieldsOf;
  /** Tuples that are not settled, with their ids on the wire. */
  readonly #held: Map<Tuple<unknown>, MessageId> = new Map();
  readonly #concurrency: number;
  /** Work on tuples beside each other. */
  readonly #beside: Set<Promise<void>> = new Set();
  /** What `execute` is at, one tuple at a time. */
  #current: Tuple<unknown> | undefined;
  /** The tick that is at hand. */
  #tick: MessageId | undefined;
  #ctx: Ctx | undefined;

  constructor(
    plan: ComponentPlan,
    place: Place,
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
    const task = initContext(this.#place, this.#wire, this.#process);
    this.#ctx = {
      ...taskContext(task, await init?.(task)),
      emit: this.#emitters(),
      ack: (tuple) => this.#settle("ack", tuple),
      fail: (tuple) => this.#settle("fail", tuple),
      // Its host has no room that it would tell of, nor a timeout that could begin anew.
      ready: () => undefined,
      extend: () => undefined,
    };
    await activate?.(this.#ctx);
    this.#arm();
  }

  async handle(item: GuestBoltItem): Promise<void> {
    const ctx = this.#ctx as Ctx;
    const { options } = this.#definition;
    if (item.type === "tick") {
      this.#tick = item.id;
      await this.#timed(options.tick?.(ctx), "its tick");
      // Of a task that has ended meanwhile it is failed.
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
      () => void this.#beside.delete(work),
      (error) => this.#self.failed(error, undefined),
    );
    this.#beside.add(work);
    if (this.#beside.size >= this.#concurrency) await Promise.race(this.#beside);
  }

  async #work(tuple: Tuple, ctx: Ctx): Promise<void> {
    const { execute, mode = "ack" } = this.#definition.options;
    let end = settling(mode, false);
    try {
      await this.#timed(runGenerator(execute(tuple, ctx), ctx.ready), tuple);
    } catch (error) {
      end = settling(mode, true);
      // Its own exit, called within the function, is no failure of the function.
      const exits = this.#self.state === TERMINATING && this.#concurrency === 1;
      if (end === "crash" || !this.#process.alive || exits) throw error;
      this.#report(error, `failed a tuple of ${tuple.component}.${tuple.stream}: `);
    }
    this.#current = undefined;
    if ((end === "ack" || end === "fail") && this.#held.has(tuple)) this.#settle(end, tuple);
  }

  /** As often as its configuration says, whether or not the host sends ticks or anything else. */
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
    await Promise.allSettled(this.#beside);
    await deactivate?.(this.#ctx);
    await close?.(this.#ctx, final);
  }

  crashed(): void {
    const ids = [...this.#held.values(), ...(this.#tick === undefined ? [] : [this.#tick])];
    for (const id of ids) this.#wire.send({ command: "fail", id });
    this.#held.clear();
    this.#tick = undefined;
  }

  /** @param at - the tuple at hand; the one that `execute` is at, if left out */
  #emitters(at?: Tuple): Emitters<Streams, BoltEmitOptions> {
    const { streams } = this.#plan;
    return Object.fromEntries(
      Object.entries(streams).map(([name, fields]) => [
        name,
        (values: AnyValues, options: BoltEmitOptions = {}) => {
          const { anchors = at ?? this.#current ?? [] } = options;
          const tuples = anchors instanceof Tuple ? [anchors] : anchors;
          const ids = (tuples as readonly Tuple<unknown>[]).map((tuple) => this.#idOf(tuple));
          sendTuple(this.#wire, this.#process, name, fields, values, options, { anchors: ids });
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

  /** A tuple whose values are not what this bolt reads is failed: to crash would lose all others with it. */
  #read(wire: WireTuple): Tuple | undefined {
    const { id, component, stream, task } = wire;
    try {
      return new Tuple(this.#values(wire), component, stream, task, undefined);
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

  /** By the names that the host told; or else by those of the topology; or else by what this bolt says it reads. */
  #values({ component, stream, values }: WireTuple): AnyValues {
    const what = `stream ${stream} of ${component}`;
    const { inputs } = this.#definition;
    const wanted = ownOf(inputs, stream) ?? inputs["*"];
    const names = ownOf(ownOf(this.#sourceFields, component), stream);
    if (names === undefined) {
      const fields = this.#fieldsOf(component, stream) ?? wanted;
      if (fields === undefined) throw new MultilangError("stream", `${what} is none of those that it reads`);
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

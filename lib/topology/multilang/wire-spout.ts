// A spout of ours under another host: its hooks are run by commands from the wire, each answered with `sync`.
//
// The other host has no retries: what failed is emitted again from here, at once, as often as the configuration says.

import type { Context } from "../../process/context.js";
import type { ComponentPlan } from "../blueprint.js";
import type { Emitters, SpoutContext, SpoutDefinition, SpoutEmitOptions } from "../component.js";
import type { AnyValues, Streams } from "../field.js";
import type { MessageId } from "./messages.js";
import type { HostMessage } from "./requests.js";
import {
  type HostWire,
  initContext,
  type Place,
  sendTuple,
  taskContext,
  type WireTask,
} from "./wire-task.js";

export type SpoutItem = Extract<HostMessage, { readonly type: "command" }>;

type Ctx = SpoutContext<Streams, unknown>;

/** A reliable tuple under way. */
interface Reliable {
  readonly id: unknown;
  readonly stream: string;
  readonly values: AnyValues;
  readonly options: SpoutEmitOptions<unknown>;
  /** How often it was emitted. */
  attempts: number;
}

/** Numbers the ids of one task on the wire, through all its lives. */
export type NextId = () => string;

export class WireSpout implements WireTask<SpoutItem> {
  readonly #plan: ComponentPlan;
  readonly #definition: SpoutDefinition;
  readonly #place: Place;
  readonly #wire: HostWire;
  readonly #process: Context<never>;
  readonly #nextId: NextId;
  /** By their ids on the wire: those of the author may be anything. */
  readonly #pending: Map<string, Reliable> = new Map();
  #ctx: Ctx | undefined;
  #active = false;
  #done = false;
  /** A command is at hand, and not answered. */
  #asked = false;

  constructor(plan: ComponentPlan, place: Place, wire: HostWire, process: Context<never>, nextId: NextId) {
    this.#plan = plan;
    this.#definition = plan.definition as SpoutDefinition;
    this.#place = place;
    this.#wire = wire;
    this.#process = process;
    this.#nextId = nextId;
  }

  async start(): Promise<void> {
    const { init } = this.#definition.options;
    const task = initContext(this.#place, this.#wire, this.#process);
    this.#ctx = {
      ...taskContext(task, await init?.(task)),
      emit: this.#emitters(),
      // The host asks again by itself.
      wake: () => undefined,
      // And for ever: then without troubling the spout.
      done: () => {
        this.#done = true;
      },
    };
  }

  async handle({ command, id }: SpoutItem): Promise<void> {
    const ctx = this.#ctx as Ctx;
    const { options } = this.#definition;
    this.#asked = true;
    switch (command) {
      case "activate":
        await this.#activate(ctx);
        break;
      case "deactivate":
        this.#active = false;
        await options.deactivate?.(ctx);
        break;
      case "next":
        // Old hosts say nothing of activation, and a new life of this task has not been told.
        await this.#activate(ctx);
        if (!this.#done) await options.next(ctx);
        break;
      case "ack":
        await this.#acked(String(id as MessageId), ctx);
        break;
      case "fail":
        await this.#failed(String(id as MessageId), ctx);
        break;
      default:
        command satisfies never;
    }
    this.#sync();
  }

  async stop(): Promise<void> {
    const { deactivate, close } = this.#definition.options;
    if (this.#ctx === undefined) return;
    if (this.#active) await deactivate?.(this.#ctx);
    await close?.(this.#ctx, true);
  }

  crashed(): void {
    this.#sync();
  }

  /** Once for each command, whoever comes first: the end of its work, or that of the task. */
  #sync(): void {
    if (!this.#asked) return;
    this.#asked = false;
    this.#wire.send({ command: "sync" });
  }

  async #activate(ctx: Ctx): Promise<void> {
    if (this.#active) return;
    this.#active = true;
    await this.#definition.options.activate?.(ctx);
  }

  /** Of a tuple from before a crash nobody here knows. */
  async #acked(key: string, ctx: Ctx): Promise<void> {
    const tuple = this.#pending.get(key);
    if (tuple === undefined) return;
    this.#pending.delete(key);
    await this.#definition.options.ack?.(tuple.id, ctx);
  }

  async #failed(key: string, ctx: Ctx): Promise<void> {
    const tuple = this.#pending.get(key);
    if (tuple === undefined) return;
    if (tuple.attempts <= this.#plan.config.retries) {
      tuple.attempts++;
      this.#send(key, tuple);
      return;
    }
    this.#pending.delete(key);
    const { attempts } = tuple;
    await this.#definition.options.fail?.(tuple.id, ctx, { type: "failed", attempts, deadLettered: false });
  }

  #emitters(): Emitters<Streams, SpoutEmitOptions<unknown>> {
    return Object.fromEntries(
      Object.entries(this.#plan.streams)
        .filter(([stream]) => stream !== "dead")
        .map(([stream, fields]) => [
          stream,
          (values: AnyValues, options: SpoutEmitOptions<unknown> = {}) => {
            const { id } = options;
            if (id === undefined) {
              sendTuple(this.#wire, this.#process, stream, fields, values, options, {});
              return;
            }
            const key = this.#nextId();
            const tuple: Reliable = { id, stream, values, options, attempts: 1 };
            this.#send(key, tuple);
            this.#pending.set(key, tuple);
          },
        ]),
    );
  }

  #send(key: string, { stream, values, options }: Reliable): void {
    const fields = this.#plan.streams[stream] ?? {};
    sendTuple(this.#wire, this.#process, stream, fields, values, options, { id: key });
  }
}

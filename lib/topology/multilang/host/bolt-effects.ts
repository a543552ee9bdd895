// Carries out what shell-bolt-machine decides, for the program of a task of any kind: a child in any language (shell-bolt.ts), or a process
// in a thread or on another node (placed-bolt.ts). The two differ only in how they write to their program.

import { EffectLoop } from "../../../process/effect-loop.js";
import type { BoltContext, BoltDefinition, BoltEmitOptions } from "../../definition/component.js";
import type { AnyValues, Fields, Streams } from "../../definition/field.js";
import type { Tuple } from "../../definition/tuple.js";
import type { EmitMessage, WorkMessage } from "../protocol/component-messages.js";
import { ownOf, streamOf, toArray, toValues } from "../protocol/fields.js";
import type { WireTuple } from "../protocol/host-messages.js";
import type { ShellProblem } from "./errors.js";
import { type Config, decide, type Effect, type Event, initial, type State } from "./shell-bolt-machine.js";

/** A tuple that the program holds; undefined for a tick. */
type Held = Tuple<unknown> | undefined;

/** How a task writes to its program. */
export interface ProgramWire {
  /** Writes a tuple, or a tick. Returns whether the program takes more at once. Throws what fails the tuple, or the task. */
  write(work: WireTuple | { readonly type: "tick"; readonly id: string }): boolean;
  /** Whether only the tuple is to blame for an error of `write`: it cannot travel. */
  isUnsendable(error: unknown): boolean;
  /** Writes the receiving tasks of an emit that asked for them. */
  tasks(tasks: readonly number[]): void;
  /** The error with which the task crashes. */
  error(problem: ShellProblem, text: string): Error;
  /** An error of an emit: the program may be to blame for it. */
  blamed(error: unknown): unknown;
  /** Undefined: a program that hangs is noticed elsewhere. */
  readonly heartbeats?: {
    schedule(): void;
    send(): void;
    answered(): void;
  };
}

/** The work of a task that its program does: which tuples it holds, and what it says of them. */
export class BoltEffects<S> {
  readonly #definition: Pick<BoltDefinition, "inputs" | "streams">;
  readonly #wire: ProgramWire;
  readonly #loop: EffectLoop<State<Held>, Event<Held>, Effect<Held>>;
  /** Set before anything is emitted or settled. */
  #ctx: BoltContext<Streams, S> | undefined;
  /** Ends the wait of `execute`. */
  #resume: (() => void) | undefined;

  constructor(definition: Pick<BoltDefinition, "inputs" | "streams">, config: Config, wire: ProgramWire) {
    this.#definition = definition;
    this.#wire = wire;
    this.#loop = new EffectLoop(initial(config), decide, (effect) => this.#carryOut(effect));
  }

  /** Something has happened beside the tuples. */
  happened(
    event: Exclude<Event<Held>, { readonly type: "attached" | "given" | "sent" | "unsendable" | "message" }>,
  ): void {
    this.#loop.dispatch(event);
  }

  /** The program says something. */
  said(message: WorkMessage): void {
    this.#loop.dispatch({ type: "message", message });
  }

  attach(ctx: BoltContext<Streams, S>): void {
    if (this.#ctx !== undefined) return;
    this.#ctx = ctx;
    this.#loop.dispatch({ type: "attached" });
  }

  /** Gives the program a tuple, or a tick. Returns a promise when the next tuple has to wait. */
  give(tuple: Held, ctx: BoltContext<Streams, S>): Promise<void> | undefined {
    this.attach(ctx);
    this.#loop.dispatch({ type: "given", tuple });
    if (!this.#loop.state.isBlocked) return undefined;
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  #carryOut(effect: Effect<Held>): void {
    switch (effect.type) {
      case "schedule-heartbeat":
        this.#wire.heartbeats?.schedule();
        return;
      case "send-heartbeat":
        this.#wire.heartbeats?.send();
        return;
      case "heartbeat-answered":
        this.#wire.heartbeats?.answered();
        return;
      case "send":
        this.#send(effect.id, effect.tuple);
        return;
      case "resume":
        this.#resume?.();
        return;
      case "ack":
      case "fail":
        this.#ctx?.[effect.type](effect.tuple as Tuple<unknown>);
        return;
      case "refuse": {
        const tuple = effect.tuple as Tuple<unknown>;
        const { component, stream } = tuple;
        this.#ctx?.log("error", `failed a tuple of ${component}.${stream}: ${effect.error.message}`);
        this.#ctx?.fail(tuple);
        return;
      }
      case "emit":
        this.#emit(effect.message, effect.anchors as readonly Tuple<unknown>[]);
        return;
      case "crash":
        throw this.#wire.error(effect.problem, effect.text);
      default:
        effect satisfies never;
    }
  }

  #send(id: string, tuple: Held): void {
    const work = tuple === undefined ? ({ type: "tick", id } as const) : this.#wireTuple(id, tuple);
    let isWritable: boolean;
    try {
      isWritable = this.#wire.write(work);
    } catch (error) {
      if (!this.#wire.isUnsendable(error)) throw error;
      this.#loop.dispatch({ type: "unsendable", id, error: error as Error });
      return;
    }
    this.#loop.dispatch({ type: "sent", isWritable });
  }

  #wireTuple(id: string, { component, stream, task, values }: Tuple<unknown>): WireTuple {
    const { inputs } = this.#definition;
    const fields = ownOf(inputs, stream) ?? (inputs["*"] as Fields);
    return { type: "tuple", id, component, stream, task, values: toArray(fields, values as AnyValues) };
  }

  #emit({ stream, values, task, needTaskIds }: EmitMessage, anchors: readonly Tuple<unknown>[]): void {
    const ctx = this.#ctx as BoltContext<Streams, S>;
    try {
      const { name, fields } = streamOf(this.#definition.streams, stream);
      const emit = ctx.emit[name] as (values: object, options: BoltEmitOptions) => void;
      const named = toValues(`stream ${name}`, fields, values);
      const report = needTaskIds && task === undefined ? this.#wire.tasks.bind(this.#wire) : undefined;
      emitAndReport(report, (onTasks) =>
        emit(named, { anchors, onTasks, ...(task === undefined ? {} : { task }) }),
      );
    } catch (error) {
      throw this.#wire.blamed(error);
    }
  }
}

/**
 * Emits, and reports the ids of the receiving tasks if the program asked for them. The emit calls back at once, or not at all. In the
 * second case no task has got the tuple yet, and the report is an empty list, so that the program does not wait.
 */
export function emitAndReport(
  report: ((tasks: readonly number[]) => void) | undefined,
  emit: (onTasks: (tasks: readonly number[]) => void) => void,
): void {
  let receivers: readonly number[] = [];
  emit((tasks) => {
    receivers = tasks;
  });
  report?.(receivers);
}

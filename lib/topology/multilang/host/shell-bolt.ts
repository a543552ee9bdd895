// A bolt that is a program in any language. The program starts with its task, and speaks the multilang protocol.

import { EffectLoop } from "../../../process/effect-loop.js";
import {
  type AnyStream,
  type BoltContext,
  type BoltDefinition,
  type BoltEmitOptions,
  bolt,
  type InitContext,
  type Inputs,
} from "../../definition/component.js";
import type { AnyValues, Fields, Streams } from "../../definition/field.js";
import type { Tuple } from "../../definition/tuple.js";
import type { EmitMessage } from "../protocol/component-messages.js";
import { MultilangError } from "../protocol/errors.js";
import { ownOf, streamOf, toArray, toValues } from "../protocol/fields.js";
import { requests } from "../protocol/host-messages.js";
import { type OpenChild, openChild } from "./child.js";
import { Shell } from "./shell.js";
import { decide, type Effect, type Event, initial, type State } from "./shell-bolt-machine.js";
import { checkShell, type ShellBoltOptions, type ShellSettings } from "./shell-options.js";

type Ctx = BoltContext<Streams, BoltShell>;

/** The state of a shell bolt's task. */
class BoltShell {
  readonly #shell: Shell;
  readonly #settings: ShellSettings;
  readonly #inputs: Inputs;
  readonly #streams: Streams;
  readonly #loop: EffectLoop<State<Tuple<unknown>>, Event<Tuple<unknown>>, Effect<Tuple<unknown>>>;
  /** Set before anything is emitted or settled. */
  #ctx: Ctx | undefined;
  /** Ends the wait of `execute`. */
  #resume: (() => void) | undefined;
  #cancelTimeout: (() => void) | undefined;

  constructor(open: OpenChild, settings: ShellSettings, inputs: Inputs, streams: Streams, task: InitContext) {
    this.#settings = settings;
    this.#inputs = inputs;
    this.#streams = streams;
    const { maxHeld, timeoutMs } = settings;
    this.#loop = new EffectLoop(initial({ maxHeld, timeoutMs }), decide, (effect) => this.#carryOut(effect));
    this.#shell = new Shell(open, settings, task, streams, {
      work: (message) => this.#loop.dispatch({ type: "message", message }),
      drained: () => this.#loop.dispatch({ type: "drained" }),
    });
  }

  async start(): Promise<this> {
    await this.#shell.start();
    this.#loop.dispatch({ type: "started" });
    return this;
  }

  stop(): Promise<void> {
    return this.#shell.stop();
  }

  attach(ctx: Ctx): void {
    if (this.#ctx !== undefined) return;
    this.#ctx = ctx;
    this.#loop.dispatch({ type: "attached" });
  }

  /** Gives the program a tuple, or a tick. Returns a promise when the next tuple has to wait. */
  give(tuple: Tuple<unknown> | undefined, ctx: Ctx): Promise<void> | undefined {
    this.attach(ctx);
    this.#loop.dispatch({ type: "given", tuple });
    if (!this.#loop.state.isBlocked) return undefined;
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  #carryOut(effect: Effect<Tuple<unknown>>): void {
    const { heartbeatMs, timeoutMs } = this.#settings;
    switch (effect.type) {
      case "schedule-heartbeat":
        this.#shell.after(heartbeatMs, () => this.#loop.dispatch({ type: "heartbeat-due" }));
        return;
      case "send-heartbeat":
        this.#cancelTimeout = this.#shell.after(timeoutMs, () =>
          this.#loop.dispatch({ type: "heartbeat-overdue" }),
        );
        this.#shell.write(requests.heartbeat());
        return;
      case "heartbeat-answered":
        this.#cancelTimeout?.();
        return;
      case "send":
        this.#send(effect.id, effect.tuple);
        return;
      case "resume":
        this.#resume?.();
        return;
      case "ack":
      case "fail":
        this.#ctx?.[effect.type](effect.tuple);
        return;
      case "refuse": {
        const { component, stream } = effect.tuple;
        this.#ctx?.log("error", `failed a tuple of ${component}.${stream}, which ${effect.error.message}`);
        this.#ctx?.fail(effect.tuple);
        return;
      }
      case "emit":
        try {
          this.#emit(effect.message, effect.anchors, this.#ctx as Ctx);
        } catch (error) {
          throw this.#shell.blamed(error);
        }
        return;
      case "crash":
        throw this.#shell.error(effect.problem, effect.text);
      default:
        effect satisfies never;
    }
  }

  #send(id: string, tuple: Tuple<unknown> | undefined): void {
    const request = tuple === undefined ? requests.tick(id) : this.#request(id, tuple);
    try {
      this.#loop.dispatch({ type: "sent", isWritable: this.#shell.write(request) });
    } catch (error) {
      if (!(error instanceof MultilangError)) throw error;
      this.#loop.dispatch({ type: "unsendable", id, error });
    }
  }

  #request(id: string, { component, stream, task, values }: Tuple<unknown>): object {
    const fields = ownOf(this.#inputs, stream) ?? (this.#inputs["*"] as Fields);
    return requests.tuple(id, component, stream, task, toArray(fields, values as AnyValues));
  }

  #emit(message: EmitMessage, anchors: readonly Tuple<unknown>[], ctx: Ctx): void {
    const { stream, values, task, needTaskIds } = message;
    const { name, fields } = streamOf(this.#streams, stream);
    const emit = ctx.emit[name] as (values: object, options: BoltEmitOptions) => void;
    const named = toValues(`stream ${name}`, fields, values);
    this.#shell.emitAndReport(needTaskIds && task === undefined, (onTasks) =>
      emit(named, { anchors, onTasks, ...(task === undefined ? {} : { task }) }),
    );
  }
}

/**
 * Defines a bolt that is a program in any language. Each task starts one program, which lives exactly as long as the
 * task. When the program ends or breaks the protocol, the task crashes with {@link ShellError}, and its supervisor
 * restarts both. Lines on the program's standard error are logged.
 *
 * The program gets the values of a tuple in the order of the fields of `input` or `inputs`, and emits arrays in the order
 * of the fields of `streams`. While the program's input is full, the tuples for it wait.
 *
 * @throws OptionError when an option is invalid
 * @example
 * const split = shellBolt({
 *   command: "python3",
 *   args: ["split.py"],
 *   input: { text: field.text },
 *   streams: { words: { word: field.text } },
 * });
 */
export function shellBolt<F extends Fields, S extends Streams = Record<never, never>>(
  options: ShellBoltOptions & {
    /** The fields that every stream that the bolt reads must carry, in the order in which the program gets them. */
    readonly input: F;
    /** The streams that the program emits on, each with its fields in the order of the emitted arrays. */
    readonly streams?: S;
  },
): BoltDefinition<AnyStream<F>, S>;
export function shellBolt<I extends Inputs, S extends Streams = Record<never, never>>(
  options: ShellBoltOptions & {
    /** The streams that the bolt reads, by name, each with its fields in the order in which the program gets them. */
    readonly inputs: I;
    /** The streams that the program emits on, each with its fields in the order of the emitted arrays. */
    readonly streams?: S;
  },
): BoltDefinition<I, S>;
export function shellBolt(options: AnyShellBolt): BoltDefinition<Inputs, Streams> {
  return shellBoltOn(openChild, options);
}

type AnyShellBolt = ShellBoltOptions & {
  readonly input?: Fields;
  readonly inputs?: Inputs;
  readonly streams?: Streams;
};

/** @internal A shell bolt with another way to start programs. */
export function shellBoltOn(open: OpenChild, options: AnyShellBolt): BoltDefinition<Inputs, Streams> {
  const settings = checkShell(options);
  const { input, inputs, streams = {}, config } = options;
  const definition: BoltDefinition<Inputs, Streams> = bolt<Inputs, Streams, BoltShell>({
    ...({ ...(input === undefined ? {} : { input }), ...(inputs === undefined ? {} : { inputs }) } as {
      inputs: Inputs;
    }),
    streams,
    mode: "manual",
    oneAtATime: true,
    closes: true,
    ...(config === undefined ? {} : { config }),
    init: (task) => new BoltShell(open, settings, definition.inputs, streams, task).start(),
    activate: (ctx) => ctx.state.attach(ctx),
    execute: (tuple, ctx) => ctx.state.give(tuple, ctx),
    // A bolt with a `tick` hook must have a period, so the hook is left out when no period is configured.
    ...(config?.tickMs === undefined ? {} : { tick: (ctx: Ctx) => ctx.state.give(undefined, ctx) }),
    close: (ctx) => ctx.state.stop(),
  });
  return definition;
}

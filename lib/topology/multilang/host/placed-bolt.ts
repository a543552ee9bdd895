// A bolt whose tasks have their work done elsewhere: in a thread, or on another node (bolt-program.ts). The task here is the one that the
// topology knows: it holds the tuples, and emits and settles as its program says. When the program ends, or its thread or node is lost,
// the task ends with it: all that it holds fails at once, and its supervisor starts both again.

import { EffectLoop } from "../../../process/effect-loop.js";
import type { Pid } from "../../../process/pid.js";
import type { ProgramHost } from "../../../process/program-host.js";
import type {
  BoltContext,
  BoltDefinition,
  BoltEmitOptions,
  BoltOptions,
  InitContext,
} from "../../definition/component.js";
import type { FullComponentConfig } from "../../definition/config.js";
import { textOf } from "../../definition/errors.js";
import type { AnyValues, Fields, Streams } from "../../definition/field.js";
import type { Tuple } from "../../definition/tuple.js";
import { type EmitMessage, parseComponentMessage } from "../protocol/component-messages.js";
import { ownOf, streamOf, toArray, toValues } from "../protocol/fields.js";
import type { FromPlaced, PlacedTask, ToPlaced } from "../protocol/placed-messages.js";
import { ShellError } from "./errors.js";
import { decide, type Effect, type Event, initial, type State } from "./shell-bolt-machine.js";

type Ctx = BoltContext<Streams, PlacedBolt>;
type Held = Tuple<unknown>;

/**
 * Tuples that a program may have and not have settled: enough to keep it busy. All of them fail when its thread is lost, so there should
 * not be many.
 */
const MOST_HELD = 64;
/** A bolt that settles its tuples by itself may hold as many as the spouts let be in flight. */
const UNLIMITED = 100_000;

/** Where the tasks of a bolt are, and by which program. */
export interface BoltPlace {
  readonly host: ProgramHost;
  readonly program: string;
  readonly config: FullComponentConfig;
}

/** The state of a task. */
class PlacedBolt {
  readonly #definition: BoltDefinition;
  readonly #place: BoltPlace;
  readonly #task: InitContext;
  readonly #loop: EffectLoop<State<Held>, Event<Held>, Effect<Held>>;
  #program: Pid<ToPlaced> | undefined;
  #ctx: Ctx | undefined;
  /** Ends the wait of `execute`. */
  #resume: (() => void) | undefined;
  /** Ends the wait of `flush`, by the id of the question. */
  #flushed: (() => void) | undefined;
  #flushId = "";
  #flushes = 0;
  /** Resolves when the program has ended. */
  #gone: Promise<void> | undefined;

  constructor(definition: BoltDefinition, place: BoltPlace, task: InitContext) {
    this.#definition = definition;
    this.#place = place;
    this.#task = task;
    this.#loop = new EffectLoop(
      initial({
        maxHeld: mostHeld(definition.options, place.config),
        timeoutMs: Number.POSITIVE_INFINITY,
      }),
      decide,
      (effect) => this.#carryOut(effect),
    );
  }

  async start(): Promise<this> {
    const { process, component, task, index } = this.#task;
    const { host, program, config } = this.#place;
    const { concurrency, executeTimeoutMs, tickMs } = config;
    let ready = (_pid: Pid<ToPlaced>): void => undefined;
    const started = new Promise<Pid<ToPlaced>>((resolve) => {
      ready = resolve;
    });
    const said = process.wrap((commands: readonly object[]) => this.#said(commands));
    let over = (): void => undefined;
    this.#gone = new Promise((resolve) => {
      over = resolve;
    });
    const ear = process.spawnLink<FromPlaced | Pid>(
      {
        handle: (ear, message) => {
          if (!("type" in message)) ear.monitor(message);
          else if (message.type === "ready") ready(message.pid);
          else said(message.commands);
        },
        signal: (_ear, signal) => {
          if (signal.type === "down") over();
        },
      },
      { label: `${component}-${task}-ear` },
    );
    const place: PlacedTask = {
      ...{ component, task, index, host: ear as Pid<FromPlaced> },
      config: { concurrency, executeTimeoutMs, tickMs },
    };
    const standIn = await process.start(host.on(program, [place]));
    process.send(ear, standIn as Pid);
    this.#program = await started;
    return this;
  }

  attach(ctx: Ctx): void {
    if (this.#ctx !== undefined) return;
    this.#ctx = ctx;
    this.#loop.dispatch({ type: "attached" });
  }

  /** Gives the program a tuple. Returns a promise when the next tuple has to wait. */
  give(tuple: Held, ctx: Ctx): Promise<void> | undefined {
    this.attach(ctx);
    this.#loop.dispatch({ type: "given", tuple });
    if (!this.#loop.state.isBlocked) return undefined;
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  flush(): Promise<void> {
    this.#flushId = `flush ${++this.#flushes}`;
    this.#write({ type: "flush", id: this.#flushId });
    return new Promise((resolve) => {
      this.#flushed = resolve;
    });
  }

  /** The task ends in order: waits until the program has ended. */
  async stop(final: boolean): Promise<void> {
    this.#write({ type: "stop", final });
    await this.#gone;
  }

  #write(message: ToPlaced): void {
    this.#task.process.send(this.#program as Pid<ToPlaced>, message);
  }

  #said(commands: readonly object[]): void {
    for (const command of commands) {
      const message = parseComponentMessage(command);
      switch (message.type) {
        case "log":
          this.#task.log(message.level, message.text);
          break;
        case "error":
          this.#task.log("error", message.text);
          break;
        case "ack":
          if (message.id === this.#flushId) this.#flushed?.();
          else this.#loop.dispatch({ type: "message", message });
          break;
        case "emit":
        case "fail":
          this.#loop.dispatch({ type: "message", message });
          break;
        default:
          throw this.#error(`said ${message.type}, which bolts do not say`);
      }
    }
  }

  #carryOut(effect: Effect<Held>): void {
    switch (effect.type) {
      case "send":
        this.#send(effect.id, effect.tuple as Held);
        return;
      case "resume":
        this.#resume?.();
        return;
      case "ack":
      case "fail":
        this.#ctx?.[effect.type](effect.tuple);
        return;
      case "refuse":
        this.#task.log("error", `failed a tuple of ${effect.tuple.component}: ${textOf(effect.error)}`);
        this.#ctx?.fail(effect.tuple);
        return;
      case "emit":
        this.#emit(effect.message, effect.anchors, this.#ctx as Ctx);
        return;
      case "crash":
        throw this.#error(effect.text);
      case "schedule-heartbeat":
      case "send-heartbeat":
      case "heartbeat-answered":
        // Threads and nodes have limits of their own for programs that hang.
        return;
      default:
        effect satisfies never;
    }
  }

  #send(id: string, { component, stream, task, values }: Held): void {
    const { inputs } = this.#definition;
    const fields = ownOf(inputs, stream) ?? (inputs["*"] as Fields);
    const wire = toArray(fields, values as AnyValues);
    try {
      this.#write({ type: "tuple", id, component, stream, task, values: wire });
    } catch (error) {
      // It cannot travel: a function in it, or too large.
      this.#loop.dispatch({ type: "unsendable", id, error: error as Error });
      return;
    }
    this.#loop.dispatch({ type: "sent", isWritable: true });
  }

  #emit({ stream, values, task, needTaskIds }: EmitMessage, anchors: readonly Held[], ctx: Ctx): void {
    const { name, fields } = streamOf(this.#definition.streams, stream);
    const emit = ctx.emit[name] as (values: object, options: BoltEmitOptions) => void;
    let tasks: readonly number[] = [];
    const onTasks = (all: readonly number[]): void => {
      tasks = all;
    };
    emit(toValues(`stream ${name}`, fields, values), {
      ...{ anchors, onTasks },
      ...(task === undefined ? {} : { task }),
    });
    if (needTaskIds && task === undefined) this.#write({ type: "tasks", tasks });
  }

  #error(text: string): ShellError {
    return new ShellError(this.#task.component, this.#task.task, "protocol", text);
  }
}

function mostHeld(
  { mode }: BoltOptions<Streams, unknown, never>,
  { concurrency, receiveBuffer }: FullComponentConfig,
): number {
  return mode === "manual" ? UNLIMITED : Math.max(concurrency, Math.min(MOST_HELD, receiveBuffer));
}

/** The definition of a bolt whose tasks have their work done elsewhere. */
export function placedBolt(definition: BoltDefinition, place: BoltPlace): BoltDefinition {
  const { holdsMs, holdsCount, flush } = definition.options;
  const options: BoltOptions<Streams, PlacedBolt, Held> = {
    streams: definition.streams,
    mode: "manual",
    oneAtATime: true,
    closes: true,
    ...(holdsMs === undefined ? {} : { holdsMs }),
    ...(holdsCount === undefined ? {} : { holdsCount }),
    init: (task) => new PlacedBolt(definition, place, task).start(),
    activate: (ctx) => ctx.state.attach(ctx),
    execute: (tuple, ctx) => ctx.state.give(tuple, ctx),
    ...(flush === undefined ? {} : { flush: (ctx: Ctx) => ctx.state.flush() }),
    close: (ctx, final) => ctx.state.stop(final),
  };
  return Object.freeze({
    ...definition,
    options: options as unknown as BoltDefinition["options"],
  });
}

// A bolt whose tasks have their work done elsewhere: in a thread, or on another node (bolt-program.ts). The task here is the one that the
// topology knows: it holds the tuples, and emits and settles as its program says. When the program ends, or its thread or node is lost,
// the task ends with it: all that it holds fails at once, and its supervisor starts both again.

import type { Pid } from "../../../process/pid.js";
import type { ProgramHost } from "../../../process/program-host.js";
import type { BoltContext, BoltDefinition, BoltOptions, InitContext } from "../../definition/component.js";
import type { FullConfig } from "../../definition/config.js";
import type { Streams } from "../../definition/field.js";
import { marked } from "../../definition/made-by.js";
import type { Tuple } from "../../definition/tuple.js";
import { parseComponentMessage } from "../protocol/component-messages.js";
import type { WireTuple } from "../protocol/host-messages.js";
import type { FromPlaced, PlacedTask, ToPlaced } from "../protocol/placed-messages.js";
import { BoltEffects, type ProgramWire } from "./bolt-effects.js";
import { ShellError, type ShellProblem } from "./errors.js";

type Ctx = BoltContext<Streams, PlacedBolt>;

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
  readonly config: FullConfig;
}

/** The state of a task. */
class PlacedBolt implements ProgramWire {
  readonly #place: BoltPlace;
  readonly #task: InitContext;
  readonly #effects: BoltEffects<PlacedBolt>;
  #program: Pid<ToPlaced> | undefined;
  /** Ends the wait of `flush`, by the id of the question. */
  #flushed: (() => void) | undefined;
  #flushId = "";
  #flushes = 0;
  /** Resolves when the program has ended. */
  #gone: Promise<void> | undefined;

  constructor(definition: BoltDefinition, place: BoltPlace, task: InitContext) {
    this.#place = place;
    this.#task = task;
    const maxHeld = mostHeld(definition.options, place.config);
    this.#effects = new BoltEffects(definition, { maxHeld, timeoutMs: Number.POSITIVE_INFINITY }, this);
  }

  async start(): Promise<this> {
    const { process, component, task, index } = this.#task;
    const { host, program, config } = this.#place;
    const { concurrency, executeTimeoutMs, tickMs, messageTimeoutMs } = config;
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
      config: { concurrency, executeTimeoutMs, tickMs, messageTimeoutMs },
    };
    const standIn = await process.start(host.on(program, [place]));
    process.send(ear, standIn as Pid);
    this.#program = await started;
    return this;
  }

  attach(ctx: Ctx): void {
    this.#effects.attach(ctx);
  }

  /** Gives the program a tuple. Returns a promise when the next tuple has to wait. */
  give(tuple: Tuple<unknown>, ctx: Ctx): Promise<void> | undefined {
    return this.#effects.give(tuple, ctx);
  }

  flush(): Promise<void> {
    this.#flushId = `flush ${++this.#flushes}`;
    this.#tell({ type: "flush", id: this.#flushId });
    return new Promise((resolve) => {
      this.#flushed = resolve;
    });
  }

  /** The task ends in order: waits until the program has ended. */
  async stop(final: boolean): Promise<void> {
    this.#tell({ type: "stop", final });
    await this.#gone;
  }

  #tell(message: ToPlaced): void {
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
          else this.#effects.said(message);
          break;
        case "emit":
        case "fail":
          this.#effects.said(message);
          break;
        default:
          throw this.error("protocol", `said ${message.type}, which bolts do not say`);
      }
    }
  }

  /** A program takes as many tuples as it may hold. It has no ticks: its own clock makes them. */
  write(work: WireTuple | { readonly type: "tick" }): boolean {
    if (work.type === "tuple") this.#tell(work);
    return true;
  }

  /** A function in a tuple, or a tuple that is too large. */
  isUnsendable(): boolean {
    return true;
  }

  tasks(tasks: readonly number[]): void {
    this.#tell({ type: "tasks", tasks });
  }

  error(problem: ShellProblem, text: string): Error {
    return new ShellError(this.#task.component, this.#task.task, problem, text);
  }

  blamed(error: unknown): unknown {
    return error;
  }
}

function mostHeld(
  { mode }: BoltOptions<Streams, unknown, never>,
  { concurrency, receiveBuffer }: FullConfig,
): number {
  return mode === "manual" ? UNLIMITED : Math.max(concurrency, Math.min(MOST_HELD, receiveBuffer));
}

/** The definition of a bolt whose tasks have their work done elsewhere. */
export function placedBolt(definition: BoltDefinition, place: BoltPlace): BoltDefinition {
  const { holdsMs, holdsCount, flush } = definition.options;
  const options: BoltOptions<Streams, PlacedBolt, Tuple<unknown>> = {
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
  return marked(
    { ...definition, options: options as unknown as BoltDefinition["options"] },
    { by: "placed", program: place.program },
  );
}

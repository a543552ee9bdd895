// A bolt of ours as a program that is started elsewhere, in a thread or on another node, for a task of a topology here (placed-bolt.ts of
// the host). It works on the tuples as under any other host; only the messages go from process to process.

import type { Callbacks } from "../../../process/behaviour.js";
import type { Context } from "../../../process/context.js";
import type { Signal } from "../../../process/entries.js";
import { OptionError } from "../../../process/errors.js";
import type { Process } from "../../../process/process.js";
import { type ExitReason, isOrderly } from "../../../process/reason.js";
import { type Launch, launch, type Startable } from "../../../process/start.js";
import type { ComponentPlan } from "../../definition/blueprint.js";
import type { BoltDefinition } from "../../definition/component.js";
import { fullConfig } from "../../definition/config.js";
import { textOf } from "../../definition/errors.js";
import { dispose } from "../../runtime/dispose.js";
import { endWithLinked } from "../../tasks/task.js";
import type { PlacedTask, ToPlaced } from "../protocol/placed-messages.js";
import { ProgramBolt } from "./program-bolt.js";

/**
 * A bolt as a program, for the module of `threads` or the programs of a node: tasks of the bolt that a topology places there with `on`
 * run by it.
 *
 * @throws OptionError when it is no bolt
 * @example
 * const Count = bolt({ input: { word: field.text }, execute: ({ values }) => console.log(values.word) });
 * const program = threadProgram({ programs: { count: boltProgram(Count) } }); // export default
 */
export function boltProgram(definition: BoltDefinition<never>): Startable<never, unknown> {
  if ((definition as Partial<BoltDefinition> | undefined)?.kind !== "bolt")
    throw new OptionError("definition", definition, "a definition that bolt() or the like has made");
  return {
    [launch]: (args: readonly unknown[]): Launch<unknown> => {
      const [task] = args as readonly [PlacedTask];
      return {
        behaviour: new BoltProgram(definition as BoltDefinition, task) as Callbacks<never>,
        options: { label: `${task.component}-${task.task}`, trapExit: true },
        ref: (pid) => pid,
      };
    },
  };
}

/** More commands than this are not gathered. */
const MOST_SAID = 1_000;

class BoltProgram implements Callbacks<ToPlaced> {
  readonly #definition: BoltDefinition;
  readonly #task: PlacedTask;
  readonly #shared: Map<unknown, unknown> = new Map();
  readonly #onTaskIds: ((tasks: readonly number[]) => void)[] = [];
  #bolt: ProgramBolt | undefined;
  /** Said and not sent yet. */
  #said: object[] = [];
  #isStopped = false;

  constructor(definition: BoltDefinition, task: PlacedTask) {
    this.#definition = definition;
    this.#task = task;
  }

  async init(ctx: Context<ToPlaced>): Promise<void> {
    const { component, task, index, config, host } = this.#task;
    const definition = this.#definition;
    const plan: ComponentPlan = {
      ...{
        name: component,
        kind: "bolt",
        definition,
        streams: definition.streams,
        tasks: 1,
        executors: 1,
      },
      config: { ...fullConfig(), ...config },
    };
    const place = {
      component,
      task,
      index,
      shared: this.#shared,
      logLevel: "info" as const,
      // The host has a lineage of its tuples, but the program does not.
      messageTimeoutMs: config.messageTimeoutMs,
    };
    const wire = {
      send: (message: object): void => this.#say(ctx, message),
      expectTaskIds: (answer: (tasks: readonly number[]) => void): void => void this.#onTaskIds.push(answer),
    };
    // The fields are those of the bolt's input: the host sends no others.
    const process = ctx as unknown as Context<never>;
    this.#bolt = new ProgramBolt(plan, place, wire, process, {}, () => undefined);
    await this.#bolt.start();
    ctx.send(host, { type: "ready", pid: ctx.self });
  }

  /** Says a command, together with the others of this turn: what a turn sends to another node leaves at its end in any case. */
  #say(ctx: Context<ToPlaced>, command: object): void {
    this.#said.push(command);
    const process = ctx.self.process as Process | undefined;
    const scheduler = process?.kernel.scheduler;
    if (scheduler?.drained === undefined || this.#said.length === MOST_SAID) this.#send(ctx);
    else if (this.#said.length === 1) scheduler.drained(() => process?.perform(() => this.#send(ctx)));
  }

  #send(ctx: Context<ToPlaced>): void {
    const commands = this.#said;
    if (commands.length === 0 || !ctx.alive) return;
    this.#said = [];
    ctx.send(this.#task.host, { type: "said", commands });
  }

  async handle(ctx: Context<ToPlaced>, message: ToPlaced): Promise<void> {
    const bolt = this.#bolt as ProgramBolt;
    switch (message.type) {
      case "tasks":
        this.#onTaskIds.shift()?.(message.tasks);
        return;
      case "stop":
        await this.#stop(ctx, message.final);
        ctx.exit("normal");
        return;
      default:
        try {
          await bolt.handle(message);
        } catch (error) {
          // The process ends by it. The tuples before are settled.
          this.#send(ctx);
          throw error;
        }
    }
  }

  async #stop(ctx: Context<ToPlaced>, final: boolean): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    await this.#bolt?.stop(final);
    const wrong = (error: unknown): void => this.#say(ctx, { command: "error", msg: textOf(error) });
    await Promise.all([...this.#shared.values()].map((value) => dispose(value, wrong)));
    this.#send(ctx);
  }

  signal(_ctx: Context<ToPlaced>, signal: Signal): unknown {
    return endWithLinked(signal);
  }

  terminate(ctx: Context<ToPlaced>, reason: ExitReason): unknown {
    return isOrderly(reason) ? this.#stop(ctx, true) : undefined;
  }
}

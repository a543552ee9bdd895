// A bolt that is a program in any language. The program starts with its task, and speaks the multilang protocol.

import {
  type AnyStream,
  type BoltContext,
  type BoltDefinition,
  bolt,
  type InitContext,
  type Inputs,
} from "../../definition/component.js";
import type { Fields, Streams } from "../../definition/field.js";
import { marked } from "../../definition/made-by.js";
import type { Tuple } from "../../definition/tuple.js";
import { MultilangError } from "../protocol/errors.js";
import { requests, type WireTuple } from "../protocol/host-messages.js";
import { BoltEffects, type ProgramWire } from "./bolt-effects.js";
import { type OpenChild, openChild } from "./child.js";
import type { ShellProblem } from "./errors.js";
import { Shell } from "./shell.js";
import { checkShell, type ShellBoltOptions, type ShellSettings, shellForm } from "./shell-options.js";

type Ctx = BoltContext<Streams, BoltShell>;

/** The state of a shell bolt's task. */
class BoltShell implements ProgramWire {
  readonly #shell: Shell;
  readonly #settings: ShellSettings;
  readonly #effects: BoltEffects<BoltShell>;
  #cancelTimeout: (() => void) | undefined;

  constructor(open: OpenChild, settings: ShellSettings, definition: BoltDefinition, task: InitContext) {
    this.#settings = settings;
    const { maxHeld, timeoutMs } = settings;
    this.#effects = new BoltEffects(definition, { maxHeld, timeoutMs }, this);
    this.#shell = new Shell(open, settings, task, definition.streams, {
      work: (message) => this.#effects.said(message),
      drained: () => this.#effects.happened({ type: "drained" }),
    });
  }

  async start(): Promise<this> {
    await this.#shell.start();
    this.#effects.happened({ type: "started" });
    return this;
  }

  stop(): Promise<void> {
    return this.#shell.stop();
  }

  attach(ctx: Ctx): void {
    this.#effects.attach(ctx);
  }

  /** Gives the program a tuple, or a tick. Returns a promise when the next tuple has to wait. */
  give(tuple: Tuple<unknown> | undefined, ctx: Ctx): Promise<void> | undefined {
    return this.#effects.give(tuple, ctx);
  }

  write(work: WireTuple | { readonly type: "tick"; readonly id: string }): boolean {
    const { id } = work;
    return this.#shell.write(
      work.type === "tick"
        ? requests.tick(id)
        : requests.tuple(id, work.component, work.stream, work.task, work.values),
    );
  }

  isUnsendable(error: unknown): boolean {
    return error instanceof MultilangError;
  }

  tasks(tasks: readonly number[]): void {
    this.#shell.write(tasks);
  }

  error(problem: ShellProblem, text: string): Error {
    return this.#shell.error(problem, text);
  }

  blamed(error: unknown): unknown {
    return this.#shell.blamed(error);
  }

  readonly heartbeats = {
    schedule: (): void => {
      this.#shell.after(this.#settings.heartbeatMs, () => this.#effects.happened({ type: "heartbeat-due" }));
    },
    send: (): void => {
      this.#cancelTimeout = this.#shell.after(this.#settings.timeoutMs, () =>
        this.#effects.happened({ type: "heartbeat-overdue" }),
      );
      this.#shell.write(requests.heartbeat());
    },
    answered: (): void => this.#cancelTimeout?.(),
  };
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
  const made: BoltDefinition<Inputs, Streams> = bolt<Inputs, Streams, BoltShell>({
    ...({ ...(input === undefined ? {} : { input }), ...(inputs === undefined ? {} : { inputs }) } as {
      inputs: Inputs;
    }),
    streams,
    mode: "manual",
    oneAtATime: true,
    closes: true,
    ...(config === undefined ? {} : { config }),
    init: (task) => new BoltShell(open, settings, made as unknown as BoltDefinition, task).start(),
    activate: (ctx) => ctx.state.attach(ctx),
    execute: (tuple, ctx) => ctx.state.give(tuple, ctx),
    // A bolt with a `tick` hook must have a period, so the hook is left out when no period is configured.
    ...(config?.tickMs === undefined ? {} : { tick: (ctx: Ctx) => ctx.state.give(undefined, ctx) }),
    close: (ctx) => ctx.state.stop(),
  });
  return marked(made, shellForm(settings));
}

// A bolt that is a program in any language: it is started with its task, and speaks the multilang protocol.

import {
  type BoltContext,
  type BoltDefinition,
  type BoltEmitOptions,
  bolt,
  type InitContext,
  type Inputs,
} from "../../definition/component.js";
import type { Fields, Streams } from "../../definition/field.js";
import type { Tuple } from "../../definition/tuple.js";
import type { EmitMessage } from "../protocol/component-messages.js";
import { MultilangError } from "../protocol/errors.js";
import { ownOf, streamOf, toArray, toValues } from "../protocol/fields.js";
import { requests } from "../protocol/host-messages.js";
import { type OpenChild, openChild } from "./child.js";
import { HeldTuples, NotHeldError } from "./held-tuples.js";
import { Shell, type Work } from "./shell.js";
import { checkShell, type ShellBoltOptions, type ShellSettings } from "./shell-options.js";

type Ctx = BoltContext<Streams, BoltShell>;

/** What a child may say before its task has anything to emit with. */
const MOST_EARLY = 1_000;

/** The state of a shell bolt's task. */
class BoltShell {
  readonly #shell: Shell;
  readonly #settings: ShellSettings;
  readonly #inputs: Inputs;
  readonly #streams: Streams;
  readonly #ledger: HeldTuples<Tuple<unknown>> = new HeldTuples();
  #ctx: Ctx | undefined;
  readonly #early: Work[] = [];
  /** Lets `execute` go on, while it waits for room. */
  #goOn: (() => void) | undefined;
  /** The child's input is full. */
  #full = false;
  /** Ends the wait for the answer to a heartbeat. */
  #answered: (() => void) | undefined;

  constructor(open: OpenChild, settings: ShellSettings, inputs: Inputs, streams: Streams, task: InitContext) {
    this.#settings = settings;
    this.#inputs = inputs;
    this.#streams = streams;
    this.#shell = new Shell(open, settings, task, streams, {
      work: (message) => this.#work(message),
      drained: () => {
        this.#full = false;
        this.#goOnIfRoom();
      },
    });
  }

  async start(): Promise<this> {
    await this.#shell.start();
    this.#beat();
    return this;
  }

  stop(): Promise<void> {
    return this.#shell.stop();
  }

  attach(ctx: Ctx): void {
    if (this.#ctx !== undefined) return;
    this.#ctx = ctx;
    for (const message of this.#early.splice(0)) this.#work(message);
  }

  /** Gives a tuple to the child. A promise when that has no room: the next tuple waits until there is some. */
  execute(tuple: Tuple<unknown>, ctx: Ctx): Promise<void> | undefined {
    this.attach(ctx);
    const fields = ownOf(this.#inputs, tuple.stream) ?? (this.#inputs["*"] as Fields);
    const values = toArray(fields, tuple.values as Readonly<Record<string, unknown>>);
    return this.#give(tuple, (id) => requests.tuple(id, tuple.component, tuple.stream, tuple.task, values));
  }

  tick(ctx: Ctx): Promise<void> | undefined {
    this.attach(ctx);
    return this.#give(undefined, requests.tick);
  }

  #give(tuple: Tuple<unknown> | undefined, request: (id: string) => object): Promise<void> | undefined {
    const id = this.#ledger.give(tuple);
    try {
      this.#full = !this.#shell.write(request(id));
    } catch (error) {
      if (!(error instanceof MultilangError) || tuple === undefined) throw error;
      this.#ledger.settle(id);
      this.#refuse(tuple, error);
      return undefined;
    }
    if (this.#hasRoom) return undefined;
    return new Promise((resolve) => {
      this.#goOn = resolve;
    });
  }

  get #hasRoom(): boolean {
    return !this.#full && this.#ledger.size < this.#settings.maxHeld;
  }

  #goOnIfRoom(): void {
    if (!this.#hasRoom) return;
    this.#goOn?.();
    this.#goOn = undefined;
  }

  /** The child is not to blame for a tuple that cannot be sent, and goes on with the others. */
  #refuse(tuple: Tuple<unknown>, error: MultilangError): void {
    this.#ctx?.log("error", `failed a tuple of ${tuple.component}.${tuple.stream}, which ${error.message}`);
    this.#ctx?.fail(tuple);
  }

  #beat(): void {
    const { heartbeatMs, timeoutMs } = this.#settings;
    this.#shell.after(heartbeatMs, () => {
      this.#beat();
      if (this.#answered !== undefined) return;
      this.#answered = this.#shell.after(timeoutMs, () => {
        throw this.#shell.error("timeout", `did not answer a heartbeat within ${timeoutMs} ms`);
      });
      this.#shell.write(requests.heartbeat());
    });
  }

  #work(message: Work): void {
    const ctx = this.#ctx;
    if (message.type === "sync") {
      this.#answered?.();
      this.#answered = undefined;
    } else if (ctx === undefined) {
      if (this.#early.push(message) > MOST_EARLY)
        throw this.#shell.error("limit", `said ${MOST_EARLY} things before it was given anything`);
    } else {
      try {
        this.#do(message, ctx);
      } catch (error) {
        if (!(error instanceof NotHeldError)) throw this.#shell.blamed(error);
        const did = message.type === "emit" ? "anchored to" : `${message.type}ed`;
        throw this.#shell.error("settled", `${did} ${error.message}`);
      }
    }
  }

  #do(message: Exclude<Work, { readonly type: "sync" }>, ctx: Ctx): void {
    if (message.type === "emit") {
      this.#emit(message, ctx);
      return;
    }
    const tuple = this.#ledger.settle(message.id);
    if (tuple !== undefined) ctx[message.type](tuple);
    this.#goOnIfRoom();
  }

  #emit({ stream, values, anchors, task, needTaskIds }: EmitMessage, ctx: Ctx): void {
    const { name, fields } = streamOf(this.#streams, stream);
    const tuples = anchors.map((id) => this.#ledger.find(id)).filter((tuple) => tuple !== undefined);
    const emit = ctx.emit[name] as (values: object, options: BoltEmitOptions) => void;
    const named = toValues(`stream ${name}`, fields, values);
    this.#shell.tellTasks(needTaskIds && task === undefined, (onTasks) =>
      emit(named, { anchors: tuples, onTasks, ...(task === undefined ? {} : { task }) }),
    );
  }
}

/**
 * Defines a bolt that is a program in any language. Each task starts one, which lives exactly as long as the task: when
 * one of them ends or breaks the protocol, the task crashes with {@link ShellError}, and its supervisor starts both
 * again. What the program wrote to its standard error is logged.
 *
 * The program gets the fields of `input` or `inputs` in the order in which they stand there, and emits arrays in the
 * order of the fields of `streams`. A tuple waits for room in the program's input, and the tuples after it behind it.
 *
 * @throws OptionError when an option is not what it has to be
 * @example
 * const split = shellBolt({
 *   command: "python3",
 *   args: ["split.py"],
 *   input: { text: field.text },
 *   streams: { words: { word: field.text } },
 * });
 */
export function shellBolt<F extends Fields, S extends Streams = Record<never, never>>(
  options: ShellBoltOptions & { readonly input: F; readonly streams?: S },
): BoltDefinition<{ readonly "*": F }, S>;
export function shellBolt<I extends Inputs, S extends Streams = Record<never, never>>(
  options: ShellBoltOptions & { readonly inputs: I; readonly streams?: S },
): BoltDefinition<I, S>;
export function shellBolt(options: AnyShellBolt): BoltDefinition<Inputs, Streams> {
  return shellBoltOn(openChild, options);
}

type AnyShellBolt = ShellBoltOptions & {
  readonly input?: Fields;
  readonly inputs?: Inputs;
  readonly streams?: Streams;
};

/** @internal A shell bolt whose children come from somewhere else. */
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
    execute: (tuple, ctx) => ctx.state.execute(tuple, ctx),
    // A bolt that listens to ticks must have a period, so only one that was given one listens.
    ...(config?.tickMs === undefined ? {} : { tick: (ctx: Ctx) => ctx.state.tick(ctx) }),
    close: (ctx) => ctx.state.stop(),
  });
  return definition;
}

// A spout that is a program in any language. The program starts with its task, and carries out the commands of the
// multilang protocol, one at a time.

import { EffectLoop } from "../../../process/effect-loop.js";
import {
  type DeadStream,
  type InitContext,
  type SpoutContext,
  type SpoutDefinition,
  type SpoutEmitOptions,
  spout,
} from "../../definition/component.js";
import type { Streams } from "../../definition/field.js";
import { marked } from "../../definition/made-by.js";
import type { EmitMessage, MessageId } from "../protocol/component-messages.js";
import { streamOf, toValues } from "../protocol/fields.js";
import { requests, type SpoutCommand } from "../protocol/host-messages.js";
import { emitAndReport } from "./bolt-effects.js";
import { type OpenChild, openChild } from "./child.js";
import { Shell } from "./shell.js";
import { checkShell, type ShellOptions, type ShellSettings, shellForm } from "./shell-options.js";
import { decide, type Effect, type Event, initial, type State } from "./shell-spout-machine.js";

type Ctx = SpoutContext<Streams, SpoutShell, MessageId>;

/** The hook that waits until the program has carried out its command. */
interface Caller {
  readonly ctx: Ctx;
  readonly done: () => void;
}

/** The state of a shell spout's task. */
class SpoutShell {
  readonly #shell: Shell;
  readonly #settings: ShellSettings;
  readonly #streams: Streams;
  readonly #loop: EffectLoop<State<Caller>, Event<Caller>, Effect<Caller>>;
  #cancelTimeout: (() => void) | undefined;

  constructor(open: OpenChild, settings: ShellSettings, streams: Streams, task: InitContext) {
    this.#settings = settings;
    this.#streams = streams;
    this.#loop = new EffectLoop(initial(settings.timeoutMs), decide, (effect) => this.#carryOut(effect));
    this.#shell = new Shell(open, settings, task, streams, {
      work: (message) => this.#loop.dispatch({ type: "message", message }),
      drained: () => undefined,
    });
  }

  async start(): Promise<this> {
    await this.#shell.start();
    return this;
  }

  stop(): Promise<void> {
    return this.#shell.stop();
  }

  /** Resolves when the program has carried out the command; at once when the task has crashed of its program. */
  command(command: SpoutCommand, ctx: Ctx, id?: MessageId): Promise<void> {
    if (this.#shell.broken) return Promise.resolve();
    return new Promise((done) => {
      this.#loop.dispatch({ type: "command", command: { command, id, caller: { ctx, done } } });
    });
  }

  #carryOut(effect: Effect<Caller>): void {
    switch (effect.type) {
      case "send": {
        const { command, id } = effect.command;
        this.#cancelTimeout = this.#shell.after(this.#settings.timeoutMs, () =>
          this.#loop.dispatch({ type: "overdue" }),
        );
        this.#shell.write(requests.command(command, id));
        return;
      }
      case "done":
        this.#cancelTimeout?.();
        effect.command.caller.done();
        return;
      case "emit":
        try {
          this.#emit(effect.message, effect.command.caller.ctx);
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

  #emit({ stream, values, id, task, needTaskIds }: EmitMessage, ctx: Ctx): void {
    const { name, fields } = streamOf(this.#streams, stream);
    const emit = ctx.emit[name] as (values: object, options: SpoutEmitOptions<MessageId>) => void;
    const named = toValues(`stream ${name}`, fields, values);
    const report = needTaskIds && task === undefined ? this.#shell.write.bind(this.#shell) : undefined;
    emitAndReport(report, (onTasks) =>
      emit(named, { onTasks, ...(id === undefined ? {} : { id }), ...(task === undefined ? {} : { task }) }),
    );
  }
}

/**
 * Defines a spout that is a program in any language. Each task starts one program, which lives exactly as long as the
 * task. When the program ends or breaks the protocol, the task crashes with {@link ShellError}, and its supervisor
 * restarts both. Lines on the program's standard error are logged.
 *
 * The program emits arrays, in the order of the fields of `streams`. A tuple with an id is reliable: the program gets
 * `ack` or `fail` with that id, and `fail` only after the retries of the configuration have failed as well.
 *
 * The protocol has no message for the end of a source. Such a spout is never done, so `finished` of its topology never
 * resolves.
 *
 * @throws OptionError when an option is invalid
 * @example
 * const lines = shellSpout({
 *   command: "python3",
 *   args: ["lines.py"],
 *   streams: { lines: { text: field.text } },
 *   config: { retries: 0 },
 * });
 */
export function shellSpout<S extends Streams>(
  options: ShellOptions & {
    /** The streams that the program emits on, each with its fields in the order of the emitted arrays. */
    readonly streams: S;
  },
): SpoutDefinition<S & DeadStream> {
  return shellSpoutOn(openChild, options);
}

/** @internal A shell spout with another way to start programs. */
export function shellSpoutOn<S extends Streams>(
  open: OpenChild,
  options: ShellOptions & { readonly streams: S },
): SpoutDefinition<S & DeadStream> {
  const settings = checkShell(options);
  const { streams, config } = options;
  const definition: SpoutDefinition<Streams & DeadStream> = spout<Streams, SpoutShell, MessageId>({
    streams,
    ...(config === undefined ? {} : { config }),
    init: (task) => new SpoutShell(open, settings, streams, task).start(),
    activate: (ctx) => ctx.state.command("activate", ctx),
    deactivate: (ctx) => ctx.state.command("deactivate", ctx),
    next: (ctx) => ctx.state.command("next", ctx),
    ack: (id, ctx) => ctx.state.command("ack", ctx, id),
    fail: (id, ctx) => ctx.state.command("fail", ctx, id),
    close: (ctx) => ctx.state.stop(),
  });
  return marked(definition as unknown as SpoutDefinition<S & DeadStream>, shellForm(settings));
}

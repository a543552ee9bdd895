// A task and its child: handshake, messages, log lines, and the errors that the task crashes with. What the messages of
// a bolt or a spout do is in shell-bolt.ts and shell-spout.ts.

import { show } from "../../../process/show.js";
import type { InitContext } from "../../definition/component.js";
import type { Streams } from "../../definition/field.js";
import { Decoder, encode } from "../protocol/codec.js";
import {
  type ComponentMessage,
  parseComponentMessage,
  type WorkMessage,
} from "../protocol/component-messages.js";
import { MultilangError } from "../protocol/errors.js";
import type { ChildEnd, OpenChild } from "./child.js";
import { ChildOwner } from "./child-owner.js";
import { ShellError, type ShellProblem } from "./errors.js";
import type { ShellSettings } from "./shell-options.js";

/** Bytes that may wait for a child that does not read. A tuple waits for room, so these are heartbeats and answers. */
const MOST_WAITING = 64 * 1024 * 1024;
/** Lines of standard error that are told with the end of a child. */
const LAST_LINES = 10;
/** Characters of such a line; what is longer is told in parts. */
const MOST_OF_LINE = 8_192;

export interface ShellHandlers {
  work(message: WorkMessage): void;
  /** Its input has room again. */
  drained(): void;
}

export class Shell {
  readonly settings: ShellSettings;
  readonly #open: OpenChild;
  readonly #task: InitContext;
  readonly #streams: Streams;
  readonly #handlers: ShellHandlers;
  readonly #decoder: Decoder;
  readonly #errorText: InstanceType<typeof TextDecoder> = new TextDecoder();
  #errorLine = "";
  readonly #lastLines: string[] = [];
  #keeper: ChildOwner | undefined;
  /** Takes the answer to the handshake, while that is awaited. */
  #greeted: (() => void) | undefined;
  #stopping = false;
  #broken = false;

  constructor(
    open: OpenChild,
    settings: ShellSettings,
    task: InitContext,
    streams: Streams,
    handlers: ShellHandlers,
  ) {
    this.settings = settings;
    this.#open = open;
    this.#task = task;
    this.#streams = streams;
    this.#handlers = handlers;
    this.#decoder = new Decoder(settings.maxMessage);
  }

  /** Starts the child; resolves when it has answered the handshake. @throws ShellError when it cannot be started */
  async start(): Promise<void> {
    const { process, component, task } = this.#task;
    const { child, graceMs, startTimeoutMs } = this.settings;
    try {
      this.#keeper = await ChildOwner.start(process, {
        open: this.#open,
        spec: child,
        graceMs,
        label: `${component}-${task}-child`,
        events: {
          data: (bytes) => this.#guard(() => this.#data(bytes)),
          errors: (bytes) => this.#guard(() => this.#errors(bytes)),
          drained: () => this.#handlers.drained(),
          ended: (end) => this.#guard(() => this.#ended(end)),
        },
      });
    } catch (error) {
      throw this.error("start", `could not be started: ${(error as Error).message}`, { cause: error });
    }
    const cancel = this.after(startTimeoutMs, () => {
      throw this.error("start", `did not answer the handshake within ${startTimeoutMs} ms`);
    });
    await new Promise<void>((resolve) => {
      this.#greeted = resolve;
      this.write(this.#handshake());
    });
    cancel();
  }

  /** The task has crashed of this child: hooks that run at its end are not to wait for that. */
  get broken(): boolean {
    return this.#broken;
  }

  /** Ends the child before its task does, in order: then its end is no crash. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#keeper?.stop();
  }

  /** False: the child has no room for more. @throws ShellError when far too much waits for it */
  write(message: unknown): boolean {
    const port = this.#keeper?.port;
    if (port === undefined || this.#stopping) return true;
    const room = port.write(encode(message));
    if (port.waiting > MOST_WAITING)
      throw this.error(
        "limit",
        `does not read: ${port.waiting} bytes wait for it, ${MOST_WAITING} are the most`,
      );
    return room;
  }

  /** Runs `fn` as part of the task, even while that awaits something. The function that it gives cancels it. */
  after(ms: number, fn: () => void): () => void {
    const keeper = this.#keeper;
    const timer = keeper?.after(ms, () => this.#guard(fn));
    return () => keeper?.cancel(timer);
  }

  /**
   * Emits, and tells the child which tasks got the tuple, when it wants to know. The emit calls back at once, or not at
   * all: then nobody got it yet, and the child is told so rather than left waiting.
   */
  tellTasks(wanted: boolean, emit: (onTasks: (tasks: readonly number[]) => void) => void): void {
    let told: readonly number[] = [];
    emit((tasks) => {
      told = tasks;
    });
    if (wanted) this.write(told);
  }

  error(problem: ShellProblem, text: string, options?: ErrorOptions): ShellError {
    return new ShellError(this.#task.component, this.#task.task, problem, text, options);
  }

  #guard(fn: () => void): void {
    try {
      fn();
    } catch (error) {
      this.#broken = true;
      throw error;
    }
  }

  #handshake(): object {
    const { component, task } = this.#task;
    const own = Object.entries(this.#streams);
    return {
      conf: this.settings.conf,
      pidDir: this.#keeper?.port.pidDir,
      context: {
        "task->component": { [task]: component },
        taskid: task,
        componentid: component,
        streams: own.map(([name]) => name),
        "stream->outputfields": Object.fromEntries(own.map(([name, fields]) => [name, Object.keys(fields)])),
        // A component is not told how it is wired: that may change without it.
        "stream->target->grouping": {},
        "source->stream->grouping": {},
        "source->stream->fields": {},
      },
    };
  }

  #data(bytes: Uint8Array): void {
    if (this.#stopping || this.#broken) return;
    try {
      this.#decoder.push(bytes, (value) => this.#heard(parseComponentMessage(value)));
    } catch (error) {
      throw this.blamed(error);
    }
  }

  /** An error that the child is to blame for, as the task's; any other as it is. */
  blamed(error: unknown): unknown {
    return error instanceof MultilangError
      ? this.error("protocol", `broke the protocol: ${error.message}`, { cause: error })
      : error;
  }

  #heard(message: ComponentMessage): void {
    if (this.#stopping) return;
    switch (message.type) {
      case "log":
        this.#task.log(message.level, message.text);
        return;
      case "error":
        this.#task.log("error", message.text);
        return;
      case "metrics":
        this.#metrics(message.name, message.params);
        return;
      case "pid":
        if (this.#greeted === undefined)
          throw this.error("protocol", `told its process id ${message.pid} unasked, or twice`);
        this.#keeper?.port.reported(message.pid);
        this.#greeted();
        this.#greeted = undefined;
        return;
      default:
        if (this.#greeted !== undefined)
          throw this.error(
            "protocol",
            `must answer the handshake with its process id first; it said ${show(message)}`,
          );
        this.#handlers.work(message);
    }
  }

  #metrics(name: string, params: unknown): void {
    if (this.settings.onMetrics === undefined)
      this.#task.log("info", () => `metrics ${name}: ${show(params)}`);
    else this.settings.onMetrics(name, params);
  }

  #errors(bytes: Uint8Array): void {
    const lines = (this.#errorLine + this.#errorText.decode(bytes, { stream: true })).split(/\r?\n/);
    this.#errorLine = lines.pop() as string;
    if (this.#errorLine.length > MOST_OF_LINE) {
      lines.push(this.#errorLine);
      this.#errorLine = "";
    }
    for (const line of lines) this.#errorLineHeard(line);
  }

  #errorLineHeard(line: string): void {
    if (this.#lastLines.push(line) > LAST_LINES) this.#lastLines.shift();
    this.#task.log("warn", line);
  }

  #ended({ ran, text }: ChildEnd): void {
    if (this.#stopping || this.#broken) return;
    if (this.#errorLine !== "") this.#errorLineHeard(this.#errorLine);
    const cut =
      this.#decoder.pending > 0 ? ` within a message, ${this.#decoder.pending} bytes of it read` : "";
    const said = this.#lastLines.join("\n").slice(-MOST_OF_LINE);
    const words = said === "" ? "" : `; its last words were:\n${said}`;
    throw this.error(ran ? "exited" : "start", `${text}${cut}${words}`);
  }
}

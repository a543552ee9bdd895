// A task and its program: handshake, messages, log lines, and the errors that crash the task. shell-bolt.ts and
// shell-spout.ts carry out the messages about tuples and commands.

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

/** Bytes that may wait for a program that does not read: heartbeats and answers, since tuples wait until it reads. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** Last lines of standard error in the error text when a program ends. */
const LAST_LINES = 10;
/** Characters of such a line. Longer lines are logged in parts. */
const MAX_LINE = 8_192;

export interface ShellHandlers {
  work(message: WorkMessage): void;
  /** The program's input takes more again. */
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
  #owner: ChildOwner | undefined;
  /** Set while the answer to the handshake is awaited. */
  #onHandshake: (() => void) | undefined;
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

  /** Starts the program. Resolves when it has answered the handshake. @throws ShellError when it cannot be started */
  async start(): Promise<void> {
    const { process, component, task } = this.#task;
    const { child, graceMs, startTimeoutMs } = this.settings;
    try {
      this.#owner = await ChildOwner.start(process, {
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
      this.#onHandshake = resolve;
      this.write(this.#handshake());
    });
    cancel();
  }

  /** The task has crashed because of its program, so hooks at its end must not wait for the program. */
  get broken(): boolean {
    return this.#broken;
  }

  /** Ends the program as part of an orderly end of the task: the end of the program is then no crash. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#owner?.stop();
  }

  /** Sends a message. Returns false when the program's input is full. @throws ShellError when far too many bytes wait */
  write(message: unknown): boolean {
    const port = this.#owner?.port;
    if (port === undefined || this.#stopping) return true;
    const isWritable = port.write(encode(message));
    if (port.waiting > MAX_WAITING_BYTES)
      throw this.error(
        "limit",
        `does not read: ${port.waiting} bytes wait for it, ${MAX_WAITING_BYTES} are the most`,
      );
    return isWritable;
  }

  /** Runs `fn` as part of the task after `ms`, even while the task awaits something. Returns a function that cancels it. */
  after(ms: number, fn: () => void): () => void {
    const owner = this.#owner;
    const timer = owner?.after(ms, () => this.#guard(fn));
    return () => owner?.cancel(timer);
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
      pidDir: this.#owner?.port.pidDir,
      context: {
        "task->component": { [task]: component },
        taskid: task,
        componentid: component,
        streams: own.map(([name]) => name),
        "stream->outputfields": Object.fromEntries(own.map(([name, fields]) => [name, Object.keys(fields)])),
        // A program does not learn the subscriptions of the topology, because these may change while it runs.
        "stream->target->grouping": {},
        "source->stream->grouping": {},
        "source->stream->fields": {},
      },
    };
  }

  #data(bytes: Uint8Array): void {
    if (this.#stopping || this.#broken) return;
    try {
      this.#decoder.push(bytes, (value) => this.#receive(parseComponentMessage(value)));
    } catch (error) {
      throw this.blamed(error);
    }
  }

  /** Turns an error that the program caused into a ShellError. Returns any other error unchanged. */
  blamed(error: unknown): unknown {
    return error instanceof MultilangError
      ? this.error("protocol", `broke the protocol: ${error.message}`, { cause: error })
      : error;
  }

  #receive(message: ComponentMessage): void {
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
        if (this.#onHandshake === undefined)
          throw this.error("protocol", `sent its process id ${message.pid} without a handshake, or twice`);
        this.#owner?.port.reported(message.pid);
        this.#onHandshake();
        this.#onHandshake = undefined;
        return;
      default:
        if (this.#onHandshake !== undefined)
          throw this.error(
            "protocol",
            `must answer the handshake with its process id first; it sent ${show(message)}`,
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
    if (this.#errorLine.length > MAX_LINE) {
      lines.push(this.#errorLine);
      this.#errorLine = "";
    }
    for (const line of lines) this.#logErrorLine(line);
  }

  #logErrorLine(line: string): void {
    if (this.#lastLines.push(line) > LAST_LINES) this.#lastLines.shift();
    this.#task.log("warn", line);
  }

  #ended({ ran, text }: ChildEnd): void {
    if (this.#stopping || this.#broken) return;
    if (this.#errorLine !== "") this.#logErrorLine(this.#errorLine);
    const cut =
      this.#decoder.pending > 0 ? ` within a message, ${this.#decoder.pending} bytes of it read` : "";
    const said = this.#lastLines.join("\n").slice(-MAX_LINE);
    const words = said === "" ? "" : `; its last lines on standard error were:\n${said}`;
    throw this.error(ran ? "exited" : "start", `${text}${cut}${words}`);
  }
}

// A worker thread of the host, which runs a program given as text. Only this file opens threads for the library.

import type { MessagePort, Worker } from "node:worker_threads";
import { node, optionalModule } from "./node-modules.js";

/** An end of a channel between two threads. */
export type HostPort = MessagePort;

/** Both ends of a new channel between two threads. */
export function hostChannel(): readonly [HostPort, HostPort] {
  const { port1, port2 } = new node.workerThreads.MessageChannel();
  return [port1, port2];
}

/** Limits on the memory of a thread, in megabytes: those of `node:worker_threads`. */
export interface ThreadLimits {
  /** The heap of old objects. A thread that needs more is ended. */
  readonly maxOldGenerationSizeMb?: number;
  /** The heap of recently created objects. */
  readonly maxYoungGenerationSizeMb?: number;
  /** The stack of the thread. */
  readonly stackSizeMb?: number;
}

/** How a thread ended. */
export interface ThreadEnd {
  /** The exit code of the thread. Undefined when an error ended it. */
  readonly code: number | undefined;
  /** The error that ended the thread: one that its code did not catch, or a limit on its memory. */
  readonly error: unknown;
}

/** Events of a thread. */
export interface HostThreadEvents {
  /** The program posted a message to its parent. */
  said(message: unknown): void;
  /** The thread has ended by itself. Called once, and not after `end`. */
  ended(end: ThreadEnd): void;
}

export interface HostThreadOptions {
  /** CommonJS source. The program finds `data` as its `workerData`. */
  readonly program: string;
  readonly data: object;
  readonly transfer?: readonly object[];
  readonly limits?: ThreadLimits;
}

/** One thread. It keeps the host alive until `rest`. */
export class HostThread {
  readonly #worker: Worker;
  #over = false;
  #ending: Promise<unknown> | undefined;

  /** @throws HostModuleError, or the host's error about the options */
  constructor({ program, data, transfer, limits }: HostThreadOptions, events: HostThreadEvents) {
    const worker = new node.workerThreads.Worker(program, {
      eval: true,
      workerData: data,
      ...(transfer === undefined ? {} : { transferList: transfer as never[] }),
      ...(limits === undefined ? {} : { resourceLimits: limits }),
    });
    const ended = (code: number | undefined, error: unknown): void => {
      if (this.#over) return;
      this.#over = true;
      events.ended({ code, error });
    };
    worker.on("message", (message) => events.said(message));
    // A message that cannot be read here, such as a WebAssembly module of another origin: the answer is lost.
    worker.on("messageerror", (error) => ended(undefined, error));
    worker.on("error", (error) => ended(undefined, error));
    worker.on("exit", (code) => ended(code, undefined));
    this.#worker = worker;
  }

  /** @throws DataCloneError of the host */
  post(message: unknown): void {
    this.#worker.postMessage(message);
  }

  /** From now on the thread keeps the host alive. */
  work(): void {
    this.#worker.ref();
  }

  /** From now on the thread does not keep the host alive. */
  rest(): void {
    this.#worker.unref();
  }

  /** Ends the thread, even while it runs code. Resolves when the thread is gone. */
  end(): Promise<unknown> {
    this.#over = true;
    this.#ending ??= this.#worker.terminate();
    return this.#ending;
  }
}

/** How many threads the host can run at the same time. */
export function hostParallelism(): number {
  return node.os.availableParallelism();
}

/** Takes the messages that have arrived at a port, in their order, without a turn of the event loop. */
export function* arrivedAt(port: MessagePort): Generator<unknown> {
  const { receiveMessageOnPort } = node.workerThreads;
  for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port))
    yield next.message;
}

/** Whether an object is a Proxy, which no message may hold. False on a host that cannot tell. */
export function isProxy(value: object): boolean {
  return optionalModule("node:util")?.types.isProxy(value) === true;
}

// The engine, as the rest of the store sees it: jobs go in, answers come out in their order. In a thread of the host, or in this one.

import { arrivedAt, HostThread } from "../../process/thread.js";
import { SqliteConnection } from "./connection.js";
import { SqliteEngine } from "./engine.js";
import { loadHere, makeKit, turnOver } from "./engine-kit.js";
import type { Answers, Failure, Job, Reply, Request } from "./jobs.js";
import { decide, initial } from "./sql-transaction-machine.js";

/** An engine that runs. */
export interface EnginePort {
  /** Does a job after those before it. @throws EngineError */
  ask<J extends Job>(job: J): Promise<Answers[J["type"]]>;
  /** Ends the engine, even in the middle of a job. Jobs that have no answer are rejected. */
  end(): Promise<void>;
}

/** A job failed: SQLite, the driver or the file system refused it. sqlite-errors.ts makes of it what users see. */
export class EngineFailure extends Error {
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** The code of the failure of jobs whose thread has ended. */
export const THREAD_ENDED = "ERR_THREAD_ENDED";

/** How long the idle thread sleeps before it goes back to its event loop, in milliseconds: a thread that sleeps wakes fastest. */
const SLEEP_MS = 5;
/** How long it does so after a job: beyond, a message wakes it as an event. */
const ALERT_MS = 50;

const program = `
const { receiveMessageOnPort, workerData } = require("node:worker_threads");
// The experimental node:sqlite of Node 22 warns of itself, once for each thread.
const { emitWarning } = process;
process.emitWarning = (warning, ...rest) =>
  String(warning).startsWith("SQLite is an experimental") ? undefined : emitWarning.call(process, warning, ...rest);
const { port, posted } = workerData;
const engine = new (${SqliteEngine})({
  ...(${makeKit})((name) => (name === "node:sqlite" ? process.getBuiltinModule(name) : require(name))),
  Connection: ${SqliteConnection},
  machine: { initial: ${initial}, decide: ${decide} },
});
let seen = 0;
const take = ([id, job]) => {
  const { failure, answer } = engine.perform(job);
  port.postMessage([id, failure, answer]);
  if (job.type === "close") port.close();
};
const work = () => {
  for (let until = performance.now() + ${ALERT_MS}; ; ) {
    for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) take(next.message);
    const before = seen;
    seen = Atomics.load(posted, 0);
    if (before !== seen) continue;
    if (Atomics.wait(posted, 0, seen, ${SLEEP_MS}) === "timed-out" && performance.now() > until) return;
  }
};
port.on("message", (message) => {
  take(message);
  work();
});
`;

interface Waiting {
  fulfil(answer: never): void;
  reject(error: Error): void;
}

/** Opens an engine in a thread of its own. The host waits for the thread only while a job is under way. */
export function openThread(): EnginePort {
  const { port1: port, port2 } =
    new MessageChannel() as unknown as import("node:worker_threads").MessageChannel;
  const posted = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const waiting = new Map<number, Waiting>();
  let last = 0;
  let ended: Failure | undefined;
  const said = (message: unknown): void => {
    const [id, failure, answer] = message as Reply;
    const one = waiting.get(id);
    if (one === undefined) return;
    waiting.delete(id);
    if (waiting.size === 0) port.unref();
    if (failure === undefined) one.fulfil(answer as never);
    else one.reject(new EngineFailure(failure));
  };
  const over = (message: string): void => {
    // Answers that the thread sent before its end may have arrived without being handled.
    for (const one of arrivedAt(port)) said(one);
    ended ??= { message, result: undefined, code: THREAD_ENDED, at: "the thread of the store" };
    for (const one of waiting.values()) one.reject(new EngineFailure(ended));
    waiting.clear();
    port.close();
  };
  const thread = new HostThread(
    { program, data: { port: port2, posted }, transfer: [port2] },
    {
      said: () => undefined,
      ended: ({ error }) =>
        over(`the thread of the store has ended${error === undefined ? "" : `: ${String(error)}`}`),
    },
  );
  thread.rest();
  port.on("message", said);
  port.unref();
  return {
    ask: (job) =>
      new Promise((fulfil, reject) => {
        if (ended !== undefined) return reject(new EngineFailure(ended));
        const request: Request = [++last, job];
        port.postMessage(request);
        waiting.set(last, { fulfil, reject });
        // The answer keeps the host alive, and only while one is due.
        if (waiting.size === 1) port.ref();
        Atomics.add(posted, 0, 1);
        Atomics.notify(posted, 0);
      }),
    end: async () => {
      const gone = thread.end();
      over("the store was closed");
      await gone;
    },
  };
}

/** Opens an engine in this thread: every commit, and every flush of the disk, holds the event loop. */
export function openHere(): EnginePort {
  const engine = new SqliteEngine({
    ...makeKit((name) => loadHere(name)),
    Connection: SqliteConnection,
    machine: { initial, decide },
  });
  let ended: Failure | undefined;
  return {
    ask: async (job) => {
      if (ended !== undefined) throw new EngineFailure(ended);
      const { failure, answer } = engine.perform(job);
      // Writers who write again when they are answered would keep the event loop from ever turning.
      await turnOver();
      if (failure !== undefined) throw new EngineFailure(failure);
      return answer as never;
    },
    end: async () => {
      ended = { message: "the store was closed", result: undefined, code: undefined, at: "" };
      engine.perform({ type: "close" });
    },
  };
}

// Threads of the host for pools. A job goes through a port of its own, so that the worker file may use `parentPort` as it likes.

import { arrivedAt, HostThread } from "../../process/thread.js";
import { checkLevels, deeper, MOST_LEVELS, TOO_DEEP, uncloneablePart } from "./cloneable.js";
import { type FromThread, type OpenThread, SAID, type ThreadPort, type ToThread } from "./thread.js";
import { PoolThread } from "./thread-program.js";
import { inTrace } from "./trace.js";

/**
 * How long an idle thread sleeps before it goes back to its event loop, in milliseconds. A thread that sleeps is woken within
 * microseconds, but does not run timers.
 */
const SLEEP_MS = 5;

/** How many messages the pool has posted, so that a thread that sleeps is woken by each. */
const POSTED = 0;

const program = `
const { receiveMessageOnPort, workerData } = require("node:worker_threads");
const { createRequire } = require("node:module");
const { getHeapStatistics } = require("node:v8");
const { isProxy } = require("node:util").types;
const deeper = ${deeper};
const uncloneablePart = ${uncloneablePart};
const inTrace = ${inTrace};
const { port, posted, library, ...given } = workerData.signalboxPool;
let seen = 0;
new (${PoolThread})({
  ...given,
  load: (file) => import(file),
  isTooDeep: (value) => deeper(value, ${MOST_LEVELS}),
  post: (message, transfer) => {
    if (deeper(message[2], ${MOST_LEVELS})) throw new RangeError(${JSON.stringify(TOO_DEEP)});
    port.postMessage(message, transfer);
  },
  listen: (take) => void port.on("message", take),
  receive: () => receiveMessageOnPort(port)?.message,
  sleep: () => {
    if (process.stdout.writableLength > 0 || process.stderr.writableLength > 0) return false;
    const before = seen;
    seen = Atomics.load(posted, ${POSTED});
    return before !== seen || Atomics.wait(posted, ${POSTED}, seen, ${SLEEP_MS}) !== "timed-out";
  },
  uncloneablePart: (value, path, transfer) => uncloneablePart(value, path, transfer, isProxy),
  traced: (trace, run) => inTrace(createRequire(library), trace, run),
  heapMb: () => getHeapStatistics().used_heap_size / 1e6,
  now: () => performance.now(),
  after: (ms, fn) => {
    const timer = setTimeout(fn, ms);
    return () => clearTimeout(timer);
  },
}).start();
`;

/** Opens a thread of the host. @throws HostModuleError, or the host's error about the limits */
export const openNodeThread: OpenThread = ({ file, limits, idleMs, maxHeapMb }, events): ThreadPort => {
  const { port1: port, port2 } =
    new MessageChannel() as unknown as import("node:worker_threads").MessageChannel;
  const posted = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const said = (message: unknown): void => events.said(message as FromThread);
  const thread = new HostThread(
    {
      program,
      data: {
        signalboxPool: { port: port2, posted, library: import.meta.url, said: SAID, file, idleMs, maxHeapMb },
      },
      transfer: [port2],
      ...(limits === undefined ? {} : { limits }),
    },
    {
      said: () => undefined,
      ended: (end) => {
        // Answers that the thread sent before its end may have arrived without being handled.
        for (const message of arrivedAt(port)) said(message);
        events.ended(end);
      },
    },
  );
  port.on("message", said);
  port.on("messageerror", (error) => {
    // This answer cannot be read here. Its job is unknown, so the thread is of no use any more.
    void thread.end();
    events.ended({ code: undefined, error });
  });
  // The thread alone decides whether the host has something to wait for.
  port.unref();
  return {
    post: (message: ToThread, transfer) => {
      checkLevels(message[2]);
      port.postMessage(message, transfer as never);
      Atomics.add(posted, POSTED, 1);
      Atomics.notify(posted, POSTED);
    },
    keepAlive: (flag) => (flag ? thread.work() : thread.rest()),
    end: () => {
      port.close();
      return thread.end();
    },
  };
};

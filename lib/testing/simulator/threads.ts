// The threads of pools under the simulator. A thread runs the functions of its worker file in the simulation itself: each message
// that the thread takes is a step of the worker's process, and messages between the two are cloned as on the way to a real
// thread. A crash of the worker's process is the end of its thread; a pause of it, or a rush of time, is a job that takes long.

import type { Context } from "../../process/context.js";
import { TaskEntry } from "../../process/entries.js";
import type { Process } from "../../process/process.js";
import { isProxy } from "../../process/thread.js";
import { checkLevels, deeper, MOST_LEVELS, uncloneablePart } from "../../service/pool/cloneable.js";
import {
  type FromThread,
  type OpenThread,
  SAID,
  type ThreadPort,
  type ToThread,
} from "../../service/pool/thread.js";
import { PoolThread } from "../../service/pool/thread-program.js";

/**
 * Opens simulated threads.
 *
 * @param loading - worker files that are being loaded: no step is made meanwhile
 */
export function threadsOf(loading: Set<Promise<unknown>>): OpenThread {
  const load = (file: string): Promise<Readonly<Record<string, unknown>>> => {
    const module = import(file);
    const loaded = (): void => void loading.delete(module);
    loading.add(module);
    module.then(loaded, loaded);
    return module;
  };
  return ({ file, idleMs, maxHeapMb }, events, ctx): ThreadPort => {
    let isOver = false;
    let take: (message: ToThread) => void = () => undefined;
    const say = (message: FromThread, transfer: readonly object[]): void => {
      // Cloned when it is said, heard by the worker as code of its own.
      checkLevels(message[2]);
      const sent = structuredClone(message, { transfer: transfer as never });
      if (!isOver) events.said(sent);
    };
    const thread = new PoolThread({
      said: SAID,
      file,
      idleMs,
      maxHeapMb,
      load,
      post: say,
      listen: (fn) => {
        take = fn;
      },
      receive: () => undefined,
      sleep: () => false,
      isTooDeep: (value) => deeper(value, MOST_LEVELS),
      uncloneablePart: (value, path, transfer) => uncloneablePart(value, path, transfer, isProxy),
      // The thread is this one, and the job is in the context in which it arrives.
      traced: (_trace, run) => run(),
      heapMb: () => 0,
      // Time stands still within a step.
      now: () => 0,
      after: (ms, fn) => {
        if (!ctx.alive) return () => undefined;
        const timer = ctx.runAfter(ms, () => isOver || fn());
        return () => void (ctx.alive && ctx.cancel(timer));
      },
    });
    void thread.start();
    return {
      post: (message, transfer) => {
        const sent = structuredClone(message, { transfer: (transfer ?? []) as never });
        step(ctx, () => isOver || take(sent));
      },
      keepAlive: () => undefined,
      end: () => {
        isOver = true;
        return Promise.resolve();
      },
    };
  };
}

/** Runs `fn` in a later step of the process. */
function step(ctx: Context<never>, fn: () => void): void {
  (ctx.self.process as Process).deliverSignal(new TaskEntry(() => void fn()));
}

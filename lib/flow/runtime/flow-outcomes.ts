// How outcomes reach the code of a flow: decoded, one at a time, each followed by the word that the code has gone on as far as it can.

import { isThenable } from "../../process/thenable.js";
import type { Stored } from "../journal/entry.js";
import type { Call } from "./call.js";
import { FlowCancelledError } from "./errors.js";
import { cancelChildren } from "./flow-ends.js";
import type { FlowLife } from "./flow-life.js";

/** Decodes an outcome and resumes the code that waits for it. */
export function deliver(life: FlowLife, key: string, ok: boolean, value: Stored, at: number): void {
  const call = life.calls.get(key) as Call;
  life.calls.delete(key);
  life.at = at;
  life.seen = key;
  let decoded: unknown;
  try {
    decoded = life.port.payloads.decode(value);
  } catch (error) {
    life.fail(error, "payload");
    return;
  }
  if (isThenable(decoded))
    decoded.then(
      (plain: unknown) => resume(life, call, ok, plain),
      (error: unknown) => life.fail(error, "payload"),
    );
  else resume(life, call, ok, decoded);
}

function rejectWith(life: FlowLife, call: Call, error: unknown): void {
  if (typeof error === "object" && error !== null) life.recorded.add(error);
  call.reject?.(error);
}

function resume(life: FlowLife, call: Call, ok: boolean, value: unknown): void {
  life.port.kernel.scheduler.resume({
    owner: life.ctx.self.process,
    resume: () => {
      if (!ok) rejectWith(life, call, value);
      else if (call.finish === undefined) call.resolve?.(value as never);
      else
        try {
          call.resolve?.(call.finish(value) as never);
        } catch (error) {
          call.reject?.(error);
        }
      drainAfter(life, [call]);
    },
  });
}

/** Asks for `drained` when the code has gone on after these calls. A simulated one goes on in a step of its own. */
function drainAfter(life: FlowLife, calls: readonly (Call | undefined)[]): void {
  if (life.port.kernel.interception === undefined) life.port.drain(life);
  else void Promise.allSettled(calls.map((call) => call?.going)).then(() => life.port.drain(life));
}

/** Notifies the code of a cancellation: these asks are rejected. */
export function rejectAll(life: FlowLife, keys: readonly string[], at: number): void {
  life.at = at;
  const error = new FlowCancelledError(life.flowId);
  life.port.kernel.scheduler.resume({
    owner: life.ctx.self.process,
    resume: () => {
      life.isCancelled = true;
      if (life.state.caughtUp) void cancelChildren(life);
      const calls = keys.map((key) => life.calls.get(key));
      for (const key of keys) life.calls.delete(key);
      for (const call of calls) {
        call?.running?.abort(error);
        call?.tap?.ended("aborted");
        call?.reject?.(error);
      }
      life.cancelling.abort(error);
      drainAfter(life, calls);
    },
  });
}

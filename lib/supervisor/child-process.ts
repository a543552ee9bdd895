// How every kind of supervisor starts and stops a child process.

import type { StartOutcome } from "../process/behaviour.js";
import type { Context } from "../process/context.js";
import type { TimerRef } from "../process/owned-timer.js";
import type { Pid } from "../process/pid.js";
import type { Process } from "../process/process.js";
import { SHUTDOWN } from "../process/reason.js";
import { reportEarlyEnd, spawnAwaited } from "../process/start.js";
import { childLaunch, type FullChildSpec, type Shutdown } from "./child.js";

/** A start has ended, one way or another. */
export interface Outcome {
  readonly type: "outcome";
  readonly id: string;
  readonly outcome: StartOutcome;
}

/** Spawns a child linked to its supervisor; how its start ends comes as a message. @throws NameTakenError */
export function launchChild<M>(
  ctx: Context<M | Outcome>,
  spec: FullChildSpec,
  args: readonly unknown[],
  id: string = spec.id,
): Pid {
  const supervisor = ctx.self.process as Process;
  const { kernel } = supervisor;
  const { behaviour, options: own } = childLaunch(spec.start, args);
  const { id: label, name } = spec;
  // Object spreads are slow on Node 20, and a plain child needs none.
  const options =
    own === undefined && name === undefined
      ? { label }
      : { ...own, label, ...(name === undefined ? {} : { name }) };
  const child = spawnAwaited(kernel, supervisor, behaviour, options, spec.startTimeoutMs, (outcome) => {
    kernel.send(ctx.self, { type: "outcome", id, outcome });
  });
  kernel.links.link(supervisor, child.pid, child.exitReason);
  reportEarlyEnd(kernel, child);
  return child.pid;
}

/** Whether the start of a child has ended, and only the news of that may still be on their way. */
export function hasStarted(pid: Pid): boolean {
  return pid.process?.rare?.onStart === undefined;
}

/** Cuts a start short. A supervisor obeys at any time and stops what it has started; of a worker's `init` nobody knows. */
export function abortStart<M>(ctx: Context<M>, pid: Pid, spec: FullChildSpec): void {
  killAfter(ctx, pid, spec.type === "supervisor" || hasStarted(pid) ? spec.shutdown : "brutal_kill");
}

/** Tells a child to stop; kills it at once, or when its time is up. */
export function killAfter<M>(ctx: Context<M>, pid: Pid, shutdown: Shutdown): TimerRef | undefined {
  if (shutdown === "brutal_kill") {
    ctx.exit(pid, "kill");
    return undefined;
  }
  ctx.exit(pid, SHUTDOWN);
  return shutdown === Number.POSITIVE_INFINITY
    ? undefined
    : ctx.runAfter(shutdown, () => ctx.exit(pid, "kill"));
}

// How every kind of supervisor starts and stops a child process.

import type { StartOutcome } from "../process/behaviour.js";
import type { Context } from "../process/context.js";
import type { TimerRef } from "../process/owned-timer.js";
import type { Pid } from "../process/pid.js";
import type { Process } from "../process/process.js";
import { SHUTDOWN } from "../process/reason.js";
import { reportEarlyEnd, spawnAwaited } from "../process/start.js";
import type { Claim } from "../process/via.js";
import { childLaunch, countedAs, type FullChildSpec, type Shutdown } from "./child.js";

/** How the start of a child ended. */
export interface ChildStartOutcome {
  readonly type: "outcome";
  readonly id: string;
  readonly outcome: StartOutcome;
}

/** Spawns a child that is linked to its supervisor. The outcome of the start arrives as a message. @throws NameTakenError */
export function launchChild<M>(
  ctx: Context<M | ChildStartOutcome>,
  spec: FullChildSpec,
  args: readonly unknown[],
  id: string = spec.id,
  name: string | Claim | undefined = spec.name,
): Pid {
  const supervisor = ctx.self.process as Process;
  const { kernel } = supervisor;
  const { behaviour, options: own } = childLaunch(spec.start, args);
  const { id: label, mailbox } = spec;
  // Object spreads are slow on Node 20, and a plain child needs none.
  const options =
    own === undefined && name === undefined && mailbox === undefined
      ? { label }
      : {
          ...own,
          label,
          ...(name === undefined ? {} : { name }),
          ...(mailbox === undefined ? {} : { mailbox }),
        };
  kernel.taps?.launching(ctx.self, id, countedAs(spec));
  const child = spawnAwaited(kernel, supervisor, behaviour, options, spec.startTimeoutMs, (outcome) => {
    kernel.send(ctx.self, { type: "outcome", id, outcome });
  });
  kernel.links.link(supervisor, child.pid, child.exitReason);
  reportEarlyEnd(kernel, child);
  return child.pid;
}

/** Whether the start of a child has ended. The message with the outcome may still be in the mailbox. */
export function hasStarted(pid: Pid): boolean {
  return pid.process?.rare?.onStart === undefined;
}

/**
 * Aborts a start. A supervisor obeys at any time and stops its children. A worker's `init` may do anything, so a worker
 * is killed.
 */
export function abortStart<M>(ctx: Context<M>, pid: Pid, spec: FullChildSpec): void {
  killAfter(ctx, pid, spec.type === "supervisor" || hasStarted(pid) ? spec.shutdown : "brutal_kill");
}

/** Tells a child to stop, and kills it when its shutdown time is over. `brutal_kill` kills it at once. */
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

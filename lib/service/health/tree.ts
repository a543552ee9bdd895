// Reads the state of a tree from its supervisors, each by a message, within a time for all.

import type { Context } from "../../process/context.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { isSupervisor } from "../../supervisor/child.js";
import type { SupervisorMessage } from "../../supervisor/ref.js";
import type { SupervisorStatus } from "../../supervisor/status.js";
import type { PartHealth } from "./report.js";

/** Most parts of a tree that one reading looks at. */
const MAX_PARTS = 10_000;

/** The parts of the tree below `root`, in start order, supervisors before their children. */
export async function readTree(ctx: Context<never>, root: Pid, deadline: number): Promise<PartHealth[]> {
  let left = MAX_PARTS;
  const read = async (pid: Pid, path: string, ended: PartHealth["phase"]): Promise<PartHealth[]> => {
    const process = inSystem(ctx, pid);
    if (process === undefined) return [{ path, phase: ended }];
    const part: PartHealth = { path, phase: "running", mailboxDepth: process.depth };
    if (!isSupervisor(process.behaviour)) return [part];
    const status = await ask(ctx, pid, deadline);
    if (status === undefined)
      return [{ ...part, phase: ctx.alive && inSystem(ctx, pid) ? "unknown" : ended }];
    const { intensity, periodMs, restarts: count } = status;
    // Supervisors are asked side by side, so that a slow one does not use up the time of the others.
    const children = (status.children ?? []).slice(0, Math.max(left, 0)).map((child) => {
      left--;
      const below = path === "" ? child.id : `${path}/${child.id}`;
      // It ran when its supervisor answered: its supervisor is about to notice.
      if (child.pid !== undefined) return read(child.pid, below, "restarting");
      return Promise.resolve([{ path: below, phase: child.phase }]);
    });
    return [{ ...part, restarts: { count, intensity, periodMs } }, ...(await Promise.all(children)).flat()];
  };
  return read(root, "", "stopped");
}

function inSystem(ctx: Context<never>, pid: Pid): Process | undefined {
  const { kernel } = ctx.self.process as Process;
  kernel.shared?.process(pid, "write");
  kernel.shared?.mailbox(pid, "read");
  return pid.process?.kernel === kernel ? pid.process : undefined;
}

async function ask(ctx: Context<never>, pid: Pid, deadline: number): Promise<SupervisorStatus | undefined> {
  try {
    return await ctx.call(
      pid as Pid<SupervisorMessage>,
      (replyTo): SupervisorMessage => ({ type: "status", replyTo }),
      { timeoutMs: Math.max(0, deadline - ctx.now()) },
    );
  } catch {
    return undefined;
  }
}

// The process that reads the health of a service.

import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Pid } from "../../process/pid.js";
import type { ReplyTo } from "../../process/request.js";
import { RunningCheck } from "./checks.js";
import type { HealthSettings } from "./options.js";
import type { Findings } from "./report.js";
import { readTree } from "./tree.js";

/** The message of the process: a request for its findings. */
export interface HealthMessage {
  readonly replyTo: ReplyTo<Findings>;
  /** Asks for what liveness depends on: no check of readiness runs. */
  readonly isLive: boolean;
}

/** @param rootOf - the root of the tree, while there is one */
export function healthBehaviour(
  settings: HealthSettings,
  rootOf: () => Pid | undefined,
): Callbacks<HealthMessage> {
  let checks: readonly RunningCheck[] | undefined;
  /** The readings in progress, at most one of each kind. Requests that come meanwhile share their results. */
  const readings = new Map<boolean, Promise<Findings>>();
  return {
    handle: (ctx, { replyTo, isLive }) => {
      const own = ctx as Context<never>;
      checks ??= settings.checks.map((check) => new RunningCheck(own, check));
      let reading = readings.get(isLive);
      if (reading === undefined) {
        const asked = isLive ? checks.filter(({ kind }) => kind === "live") : checks;
        reading = read(own, settings, asked, rootOf()).finally(() => void readings.delete(isLive));
        readings.set(isLive, reading);
      }
      void reading.then((findings) => ctx.alive && ctx.reply(replyTo, findings));
    },
    // The runs of checks are linked to this process, which traps their exits.
    signal: (_ctx, signal) => {
      if (signal.type === "exit") for (const check of checks ?? []) check.ended(signal.from, signal.reason);
    },
  };
}

async function read(
  ctx: Context<never>,
  settings: HealthSettings,
  checks: readonly RunningCheck[],
  root: Pid | undefined,
): Promise<Findings> {
  const deadline = ctx.now() + settings.timeoutMs;
  const [parts, answers, eventLoopDelayMs] = await Promise.all([
    root === undefined ? [] : readTree(ctx, root, deadline),
    Promise.all(checks.map((check) => check.ask())),
    lateness(ctx),
  ]);
  return { parts, checks: answers, eventLoopDelayMs };
}

/** By how many milliseconds a timer is late. */
function lateness(ctx: Context<never>): Promise<number> {
  const due = ctx.now() + 1;
  return new Promise((resolve) => {
    ctx.runAfter(1, () => resolve(Math.max(0, ctx.now() - due)));
  });
}

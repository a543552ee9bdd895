// The process that reads the health of a service.

import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Pid } from "../../process/pid.js";
import type { ReplyTo } from "../../process/request.js";
import { RunningCheck } from "./checks.js";
import type { HealthSettings } from "./options.js";
import type { Findings } from "./report.js";
import { readTree } from "./tree.js";

/** What the process understands: it is asked for what it can find out. */
export interface HealthMessage {
  readonly replyTo: ReplyTo<Findings>;
}

/** @param rootOf - the root of the tree, while there is one */
export function healthBehaviour(
  settings: HealthSettings,
  rootOf: () => Pid | undefined,
): Callbacks<HealthMessage> {
  let checks: RunningCheck[] | undefined;
  let reading: Promise<Findings> | undefined;
  return {
    handle: (ctx, { replyTo }) => {
      const own = ctx as Context<never>;
      checks ??= settings.checks.map((check) => new RunningCheck(own, check));
      // Whoever asks meanwhile gets the same: however many ask, one reading is in progress.
      reading ??= read(own, settings, checks, rootOf()).finally(() => {
        reading = undefined;
      });
      void reading.then((findings) => ctx.alive && ctx.reply(replyTo, findings));
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

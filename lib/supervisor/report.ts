// What a supervisor tells of each restart, as the event `restart` of its system.

import type { Context } from "../process/context.js";
import type { Pid } from "../process/pid.js";
import type { Process } from "../process/process.js";
import { formatReason } from "../process/reason.js";
import type { Restarting } from "./protocol.js";

/** A child is started again, or its supervisor gives up on it (`gaveUp`). */
export interface RestartReport extends Restarting {
  readonly supervisor: Pid;
  /** More restarts than the intensity allows: the supervisor stops its children and ends with `shutdown`. */
  readonly gaveUp: boolean;
}

declare module "../process/events.js" {
  interface SystemEventMap {
    /** A supervisor starts a child again, or gives up. */
    restart: [RestartReport];
  }
}

/** Tells of a restart. A root that gives up has nobody above it to hear of that, so it is printed as well. */
export function publishRestart<M>(ctx: Context<M>, restart: Restarting, periodMs: number): void {
  const { kernel } = ctx.self.process as Process;
  const gaveUp = restart.intensityLeft < 0;
  if (kernel.events.wants.restart)
    kernel.events.publish("restart", { ...restart, supervisor: ctx.self, gaveUp });
  if (gaveUp && ctx.parent === undefined) {
    kernel.print(
      `${ctx.self} gave up: child "${restart.id}" ended once more (${formatReason(restart.reason)}) than its restart ` +
        `intensity allows within ${periodMs} ms, and there is no supervisor above to try again`,
    );
  }
}

// How a supervisor reports restarts: through the event `restart` of its system, and through printed reports. A witness of the system gets the
// decisions of its machine, and finds out by itself what has changed.

import type { Context } from "../process/context.js";
import type { Pid } from "../process/pid.js";
import type { Process } from "../process/process.js";
import { type ExitReason, formatReason } from "../process/reason.js";
import { pathOf } from "../process/report.js";
import { framesOf } from "../process/show.js";
import { countedAs, type FullChildSpec } from "./child.js";
import type { DynamicEvent, DynamicState } from "./dynamic-protocol.js";
import type { Event, Restarting } from "./protocol.js";
import type { RestartLimits } from "./restart-rule.js";
import type { State } from "./state.js";

/** The record of one restart, or of a supervisor that gives up (`gaveUp`). */
export interface RestartReport extends Restarting {
  /** The supervisor that restarts. */
  readonly supervisor: Pid;
  /** How many restarts the supervisor allows within `periodMs`; `Infinity` for any number. */
  readonly intensity: number;
  /** The window in which it counts them, in milliseconds. */
  readonly periodMs: number;
  /** More restarts than the intensity allows: the supervisor stops its children and ends with `shutdown`. */
  readonly gaveUp: boolean;
}

declare module "../process/events.js" {
  interface SystemEventMap {
    /** A supervisor restarts a child, or gives up. */
    restart: [RestartReport];
  }
}

declare module "../process/witness.js" {
  interface Witness {
    /** A supervisor has begun. */
    supervises(supervisor: Pid, state: State<Pid> | DynamicState<Pid>): void;
    /** A supervisor with named children has decided. Its effects have yet to be carried out. */
    decided(supervisor: Pid, before: State<Pid>, after: State<Pid>, event: Event<Pid>): void;
    /** A dynamic supervisor has decided: `changed` of its state has the children that this concerns. */
    changed(supervisor: Pid, state: DynamicState<Pid>, event: DynamicEvent<Pid>): void;
  }
}

declare module "../process/taps.js" {
  interface Taps {
    /**
     * @param key - tells the child from all others of its supervisor
     * @param countedAs - what metrics call the child; undefined for its label
     */
    launching(supervisor: Pid, key: string, countedAs: string | undefined): void;
    /**
     * @param key - of the child that has ended
     * @param countedAs - what metrics call the child; undefined for its id
     */
    restarted(
      supervisor: Pid,
      key: string,
      restart: Restarting,
      gaveUp: boolean,
      countedAs: string | undefined,
    ): void;
  }
}

/** How many earlier exits the report of a supervisor that gives up lists. */
const HISTORY = 10;

/** Reports the restarts of one supervisor: emits events, and prints reports unless `quiet`. */
export class RestartReports<M> {
  readonly #ctx: Context<M>;
  readonly #limits: Pick<RestartLimits, "intensity" | "periodMs">;
  readonly #quiet: boolean;
  #earlier: readonly { readonly id: string; readonly reason: ExitReason; readonly at: number }[] = [];

  constructor(ctx: Context<M>, limits: Pick<RestartLimits, "intensity" | "periodMs">, quiet: boolean) {
    this.#ctx = ctx;
    this.#limits = limits;
    this.#quiet = quiet;
  }

  /**
   * Reports a restart, or that the supervisor gives up.
   *
   * @param key - tells the child from all others of its supervisor
   * @param spec - of the child; undefined if metrics call it by its id
   */
  restart(restart: Restarting, key: string = restart.id, spec?: FullChildSpec): void {
    const ctx = this.#ctx;
    const { intensity, periodMs } = this.#limits;
    const { kernel } = ctx.self.process as Process;
    const { id, reason, strategy, siblings, intensityLeft: left, delayMs } = restart;
    const gaveUp = left < 0;
    kernel.taps?.restarted(ctx.self, key, restart, gaveUp, spec && countedAs(spec));
    if (kernel.events.wants.restart)
      kernel.events.publish("restart", { ...restart, supervisor: ctx.self, intensity, periodMs, gaveUp });
    const at = kernel.env.now();
    const earlier = this.#earlier;
    if (!this.#quiet) this.#earlier = [...earlier.slice(1 - HISTORY), { id, reason, at }];
    if (gaveUp) {
      this.#report("gaveUp", id, reason, () => {
        const above = ctx.parent === undefined ? ", and there is no supervisor above to try again" : "";
        const before = earlier
          .filter((one) => at - one.at <= periodMs)
          .map(
            (one) =>
              `\n  ${Math.round(at - one.at)} ms before: child "${one.id}" ended (${formatReason(one.reason)})`,
          );
        return (
          `gave up: child "${id}" ended once more (${formatReason(reason)}) than its restart intensity allows ` +
          `within ${periodMs} ms${above}${before.join("")}`
        );
      });
      return;
    }
    this.#report("restart", id, reason, () => {
      const among = siblings.length === 0 ? "" : ` with ${siblings.slice(0, HISTORY).join(", ")}`;
      const allowed =
        left === Number.POSITIVE_INFINITY ? "no limit" : `${left} more allowed within ${periodMs} ms`;
      const wait = delayMs === 0 ? "" : ` in ${Math.round(delayMs)} ms`;
      return `restarts child "${id}"${wait} (${strategy}${among}; ${allowed}), which ended: ${formatReason(reason)}`;
    });
  }

  /** Reports a child that failed and is not restarted. */
  leave(id: string, reason: ExitReason): void {
    this.#report(
      "childExit",
      id,
      reason,
      () => `does not restart child "${id}" (temporary), which ended: ${formatReason(reason)}`,
    );
  }

  #report(
    event: "restart" | "childExit" | "gaveUp",
    id: string,
    reason: ExitReason,
    what: () => string,
  ): void {
    const { self: pid } = this.#ctx;
    const { reports } = (pid.process as Process).kernel;
    if (this.#quiet || !reports.admits(event, pid.id)) return;
    const error = reason.type === "crash" ? reason.error : undefined;
    reports.write({
      level: event === "restart" ? "warn" : "error",
      event,
      pid,
      path: `${pathOf(pid)}/${id}`,
      reason,
      error,
      text: `${pid} ${what()}${framesOf(error)}`,
    });
  }
}

// A system in virtual time whose supervisors and children are watched: who was started, who ended, and of what.

import {
  type AnySupervisorRef,
  type Callbacks,
  type ChildSpec,
  type ExitInput,
  formatReason,
  type Pid,
  type RestartReport,
  type SupervisorOptions,
  type SupervisorRef,
  System,
  stop,
  supervisor,
} from "signalbox";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";

/** Ends itself with the reason that it is sent. */
export const worker: Callbacks<ExitInput> = { handle: (_ctx, reason) => stop(reason) };

/** Traps exits and does not care. */
export const stubborn: Callbacks<never> = {
  init: (ctx) => void ctx.trapExit(true),
  handle: () => undefined,
  parentExit: () => undefined,
};

/** Never comes up. */
export const hanging: Callbacks<never> = {
  init: () => new Promise(() => undefined),
  handle: () => undefined,
};

export function child(id: string, more?: Partial<ChildSpec>): ChildSpec {
  return { id, start: worker, ...more };
}

/** A child whose `init` goes as planned, start by start; beyond the plan it is well. */
export function planned(id: string, plan: readonly ("up" | "fail")[], more?: Partial<ChildSpec>): ChildSpec {
  let starts = 0;
  const start: Callbacks<ExitInput> = {
    init: () => {
      if (plan[starts++] === "fail") throw new Error(`${id} cannot`);
    },
    handle: (_ctx, reason) => stop(reason),
  };
  return { id, start, ...more };
}

/** Processes that are not of interest. */
const UNSEEN = new Set([undefined, "supervisor"]);

export class House {
  readonly clock: TestClock = testClock();
  /** `a up` for each spawn, `a down: reason` for each end, in order; processes are called by their labels. */
  readonly diary: string[] = [];
  readonly restarts: RestartReport[] = [];
  readonly reports: string[] = [];
  readonly system: System = new System({
    name: "house",
    environment: this.clock.environment,
    report: (text) => this.reports.push(text),
  });

  constructor() {
    const { events } = this.system;
    events.on("spawn", ({ pid }) => {
      if (!UNSEEN.has(pid.label)) this.diary.push(`${pid.label} up`);
    });
    events.on("exit", ({ pid, reason }) => {
      if (!UNSEEN.has(pid.label)) this.diary.push(`${pid.label} down: ${formatReason(reason)}`);
    });
    events.on("restart", (report) => this.restarts.push(report));
  }

  start(options: SupervisorOptions): Promise<SupervisorRef> {
    return this.system.start(supervisor(options));
  }

  /** What happened since this was asked last. */
  news(): string[] {
    return this.diary.splice(0);
  }

  /** The processes with this label, oldest first. */
  find(label: string): Pid<unknown>[] {
    return this.system.processes().filter((pid) => pid.label === label);
  }

  /** The only process with this label. */
  the(label: string): Pid<unknown> {
    const [pid, ...more] = this.find(label);
    if (pid === undefined || more.length > 0)
      throw new Error(`${more.length + (pid ? 1 : 0)} run as ${label}`);
    return pid;
  }

  /** Has a worker end itself, and lets everything happen that happens for it without time passing. */
  async end(label: string, reason: ExitInput = { type: "custom", value: "broken" }): Promise<void> {
    this.system.send(this.the(label), reason);
    await this.system.idle();
  }

  async close(): Promise<void> {
    for (const pid of this.system.processes()) this.system.exit(pid, "kill");
    await this.system.stop();
  }
}

/** `a running, b stopped`, in start order. */
export async function statuses(ref: AnySupervisorRef): Promise<string> {
  const children = [...(await ref.whichChildren())].reverse();
  return children.map(({ id, status }) => `${id} ${status}`).join(", ");
}

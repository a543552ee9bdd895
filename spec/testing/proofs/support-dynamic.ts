// A model of a dynamic supervisor. Its children are sessions, each with a number as its argument; a session has one process
// after the other. Sessions do not depend on each other, so that the model follows each by itself.

import type { Rule } from "./support-supervision.js";

export interface DynamicCharter {
  readonly restart: Rule;
  readonly intensity: number;
  readonly periodMs: number;
  readonly maxChildren: number;
}

/** Something seen of a dynamic supervisor. Processes are numbered as they come; reasons are texts. */
export type DynamicAct = { readonly step: number } /** A session is asked for. */ & (
  | { readonly act: "wanted"; readonly session: number }
  | {
      readonly act: "answered";
      readonly session: number;
      readonly process: number | undefined;
      readonly problem: string | undefined;
    }
  | { readonly act: "start"; readonly process: number }
  /** Its `init` is done. */
  | { readonly act: "up"; readonly process: number; readonly session: number }
  /** `own`: by itself or by a fault; otherwise its supervisor stopped it. */
  | { readonly act: "end"; readonly process: number; readonly reason: string; readonly own: boolean }
  | {
      readonly act: "restart";
      readonly reason: string;
      readonly left: number;
      readonly gaveUp: boolean;
      readonly at: number;
    }
  /** `terminateChild` is called, and has been answered. */
  | { readonly act: "dismissed"; readonly session: number }
  | { readonly act: "is gone"; readonly session: number; readonly found: boolean }
  | { readonly act: "asked" }
  | { readonly act: "over"; readonly reason: string; readonly struck: boolean }
);

/** Interesting states, for `sim.sometimes`. */
export const DYNAMIC_STATES = [
  "two sessions start at the same time",
  "a session is restarted twice",
  "a restart fails and is tried again",
  "a first start fails",
  "there is no room for one more",
  "a session is dismissed while it is started again",
  "a session ends before its dismissal is seen",
  "a session that ended by its own will stays away",
  "too many restarts",
  "a shutdown with a start under way",
  "the dynamic supervisor is struck",
] as const;

export type DynamicState = (typeof DYNAMIC_STATES)[number];

interface OneProcess {
  /** Known at once for one that takes another's place, else when its `init` tells. */
  session: number | undefined;
  alive: boolean;
  up: boolean;
  /** It takes the place of another. */
  readonly again: boolean;
}

interface Loss {
  readonly session: number;
  readonly reason: string;
  readonly failed: boolean;
}

type Of<A extends DynamicAct["act"]> = Extract<DynamicAct, { act: A }>;

class Judge {
  readonly states = new Set<DynamicState>();
  private readonly charter: DynamicCharter;
  private readonly processes = new Map<number, OneProcess>();
  private readonly wanted = new Set<number>();
  /** Sessions that were asked for and have not come up yet. */
  private readonly fresh = new Set<number>();
  private readonly running = new Set<number>();
  /** How many dismissals of a session are on their way, or were met. */
  private readonly dismissals = new Map<number, number>();
  private readonly gone = new Set<number>();
  private readonly stayAway = new Set<number>();
  private readonly restarts = new Map<number, number>();
  /** Ends that call for a restart. */
  private losses: Loss[] = [];
  /** The session that is to be started again in this very step. */
  private due: { readonly session: number; readonly step: number } | undefined = undefined;
  private unasked = 0;
  private readonly times: number[] = [];
  private leaving: "gave up" | "told to" | undefined = undefined;
  private asked = false;
  private over = false;

  constructor(charter: DynamicCharter) {
    this.charter = charter;
  }

  read(acts: readonly DynamicAct[]): string | undefined {
    for (const [index, act] of acts.entries()) {
      const late = this.due !== undefined && this.due.step !== act.step;
      const complaint = late
        ? `session ${this.due?.session} is not started again`
        : this.take(act, acts, index);
      if (complaint !== undefined) return `act ${index + 1}, ${JSON.stringify(act)}: ${complaint}`;
    }
    return undefined;
  }

  rest(): string | undefined {
    const alive = this.alive();
    if (this.over) return alive.length === 0 ? undefined : `${alive.length} run on without their supervisor`;
    if (this.leaving !== undefined || this.asked) return "it should have ended";
    const lost = this.losses.find(({ session }) => !this.isDismissed(session));
    if (lost !== undefined) return `nothing came of the end of session ${lost.session}, ${lost.reason}`;
    for (const session of this.running) {
      const count = alive.filter((one) => one.session === session).length;
      if (count > 1) return `session ${session} runs ${count} times`;
      if (count === 0 && !this.stayAway.has(session) && !this.isDismissed(session))
        return `session ${session} does not run`;
    }
    const stray = alive.find(({ session }) => session === undefined || !this.running.has(session));
    return stray === undefined ? undefined : `session ${stray.session} runs, and nobody was told so`;
  }

  private alive(): OneProcess[] {
    return [...this.processes.values()].filter((one) => one.alive);
  }

  private take(act: DynamicAct, acts: readonly DynamicAct[], index: number): string | undefined {
    switch (act.act) {
      case "wanted":
        this.wanted.add(act.session);
        this.fresh.add(act.session);
        this.unasked++;
        return undefined;
      case "answered":
        return this.answered(act);
      case "start":
        return this.started(act);
      case "up":
        return this.isUp(act);
      case "end":
        return this.ended(act, acts.slice(index));
      case "restart":
        return this.restarted(act);
      case "dismissed":
        this.dismissals.set(act.session, (this.dismissals.get(act.session) ?? 0) + 1);
        if (this.alive().some((one) => one.session === act.session && !one.up))
          this.states.add("a session is dismissed while it is started again");
        return undefined;
      case "is gone":
        return this.isGone(act);
      case "asked":
        this.asked = true;
        return undefined;
      case "over":
        return this.ends(act);
      default:
        return act satisfies never;
    }
  }

  private answered({ session, process, problem }: Of<"answered">): string | undefined {
    if (!this.wanted.delete(session)) return "nobody wanted it";
    if (problem === "max_children") {
      this.states.add("there is no room for one more");
      return undefined;
    }
    if (problem !== undefined) return undefined;
    const one = this.processes.get(process ?? -1);
    if (one?.session !== session) return `its process is session ${one?.session ?? "of nobody"}`;
    this.running.add(session);
    return undefined;
  }

  private started({ process }: Of<"start">): string | undefined {
    if (this.over || this.leaving !== undefined) return "its supervisor is on its way out";
    const { due } = this;
    if (due === undefined && this.unasked-- <= 0) return "nobody asked for it";
    if (due !== undefined && this.gone.has(due.session)) return `session ${due.session} was dismissed`;
    this.due = undefined;
    if (this.alive().some((one) => !one.up)) this.states.add("two sessions start at the same time");
    this.processes.set(process, { session: due?.session, alive: true, up: false, again: due !== undefined });
    const many = this.alive().length;
    return many > this.charter.maxChildren
      ? `there are ${many} of at most ${this.charter.maxChildren}`
      : undefined;
  }

  private isUp({ process, session }: Of<"up">): string | undefined {
    const one = this.processes.get(process);
    if (one === undefined || !one.alive || one.up) return "it was not being started";
    if (one.again && one.session !== session) return `it is in the place of session ${one.session}`;
    if (!one.again && !this.fresh.delete(session))
      return `nobody asked for session ${session}, or it has come up before`;
    one.session = session;
    one.up = true;
    return undefined;
  }

  private ended({ process, reason, own, step }: Of<"end">, rest: readonly DynamicAct[]): string | undefined {
    const one = this.processes.get(process);
    if (one === undefined || !one.alive) return "it did not run";
    one.alive = false;
    if (this.over) return undefined;
    if (rest.some((act) => act.act === "over" && act.step === step && act.reason === reason))
      return undefined;
    const { session } = one;
    if (!own) {
      if (this.leaving !== undefined || (session !== undefined && this.isDismissed(session)))
        return undefined;
      if (!this.asked) return "nobody asked it to";
      if (this.alive().some((other) => !other.up) || !one.up)
        this.states.add("a shutdown with a start under way");
      this.leaving = "told to";
      return undefined;
    }
    if (!one.up && !one.again) {
      this.states.add("a first start fails");
      return undefined;
    }
    if (session === undefined) return "it was up, and has no session";
    const orderly = reason === "normal" || reason.startsWith("shutdown");
    if (
      one.up &&
      (this.charter.restart === "temporary" || (this.charter.restart === "transient" && orderly))
    ) {
      this.states.add("a session that ended by its own will stays away");
      this.stayAway.add(session);
    } else this.losses.push({ session, reason, failed: !one.up });
    return undefined;
  }

  private restarted({ reason, left, gaveUp, at, step }: Of<"restart">): string | undefined {
    if (this.over || this.leaving !== undefined) return "its supervisor is on its way out";
    const index = this.losses.findIndex((one) => one.reason === reason);
    const loss = this.losses[index];
    if (loss === undefined) return "no such end has been seen";
    const skipped = this.losses.slice(0, index).find((one) => !one.failed && !this.isDismissed(one.session));
    if (skipped !== undefined) return `session ${skipped.session} ended before it`;
    this.losses.splice(index, 1);
    if (loss.failed) this.states.add("a restart fails and is tried again");
    const times = (this.restarts.get(loss.session) ?? 0) + 1;
    this.restarts.set(loss.session, times);
    if (times > 1) this.states.add("a session is restarted twice");
    const { intensity, periodMs } = this.charter;
    this.times.push(at);
    const recent = this.times.filter((time) => time >= at - periodMs).length;
    if (left !== intensity - recent) return `${intensity - recent} are left of ${intensity}`;
    if (gaveUp !== recent > intensity) return `it is number ${recent} of ${intensity} in ${periodMs} ms`;
    if (gaveUp) {
      this.states.add("too many restarts");
      this.leaving = "gave up";
    } else this.due = { session: loss.session, step };
    return undefined;
  }

  private isGone({ session, found }: Of<"is gone">): string | undefined {
    const dismissals = this.dismissals.get(session) ?? 0;
    if (dismissals === 0) return "nobody dismissed it";
    if (!found) {
      // A dismissal is of one process, and another may have come in its place.
      this.states.add("a session ends before its dismissal is seen");
      this.dismissals.set(session, dismissals - 1);
      return undefined;
    }
    this.gone.add(session);
    this.losses = this.losses.filter((one) => one.session !== session);
    return this.alive().some((one) => one.session === session) ? "it runs on" : undefined;
  }

  private isDismissed(session: number): boolean {
    return (this.dismissals.get(session) ?? 0) > 0;
  }

  private ends({ reason, struck }: Of<"over">): string | undefined {
    this.over = true;
    if (struck) {
      this.states.add("the dynamic supervisor is struck");
      return undefined;
    }
    const alive = this.alive().length;
    if (alive > 0) return `${alive} still run`;
    if (this.leaving === undefined && !this.asked) return "nobody asked it to";
    return reason === "shutdown" ? undefined : "it should end with shutdown";
  }
}

/** Judges the life of one dynamic supervisor, when nothing can run any more. Nothing was delayed on its way. */
export function judgeDynamic(
  charter: DynamicCharter,
  acts: readonly DynamicAct[],
): { readonly complaint: string | undefined; readonly states: ReadonlySet<DynamicState> } {
  const judge = new Judge(charter);
  return { complaint: judge.read(acts) ?? judge.rest(), states: judge.states };
}

// A model of one supervisor: it checks that the history of the children follows from the strategy. The model knows neither
// mailboxes nor messages, only rules: which children stop and start together, in which order, and how often.

export type Rule = "permanent" | "transient" | "temporary";

/** What the model has to know of a supervisor. */
export interface Charter {
  readonly strategy: "one_for_one" | "one_for_all" | "rest_for_one";
  readonly intensity: number;
  readonly periodMs: number;
  /** In start order. */
  readonly children: readonly { readonly id: string; readonly restart: Rule }[];
  /** It has a supervisor above it, which may end it at any time; a root ends only when it is asked to. */
  readonly nested: boolean;
}

/** Something seen of a supervisor or its children. Reasons are texts; two are equal only if the reasons are the same. */
export type Act = { readonly step: number } & (
  | { readonly act: "start"; readonly id: string }
  /** Its `init` is done. */
  | { readonly act: "up"; readonly id: string }
  /** `own`: by itself or by a fault; otherwise its supervisor stopped it, or killed it when it did not stop. */
  | { readonly act: "end"; readonly id: string; readonly reason: string; readonly own: boolean }
  | {
      readonly act: "restart";
      readonly id: string;
      readonly reason: string;
      readonly siblings: readonly string[];
      readonly left: number;
      readonly gaveUp: boolean;
      readonly at: number;
    }
  /** Somebody outside tells it to shut down. */
  | { readonly act: "asked" }
  /** The supervisor itself has ended. */
  | { readonly act: "over"; readonly reason: string; readonly struck: boolean }
);

/** Interesting states, for `sim.sometimes`. */
export const SUPERVISION_STATES = [
  "a crash during a restart",
  "two crashes in one period",
  "one repair covers two crashes",
  "a restart fails and is tried again",
  "a failed restart is covered by the repair of another",
  "a crash while its siblings are being stopped",
  "a temporary child goes down with its siblings",
  "a transient child that had ended comes up with its siblings",
  "a normal end is left alone",
  "old restarts are forgotten",
  "the intensity is exceeded",
  "a shutdown in the middle of a repair",
  "a shutdown in the middle of a start",
  "the supervisor itself is struck",
  "the supervisor is struck in the middle of a repair",
  "the first start fails",
] as const;

export type SupervisionState = (typeof SUPERVISION_STATES)[number];

export interface Finding {
  readonly complaint: string | undefined;
  readonly states: ReadonlySet<SupervisionState>;
  /** How often each child was started. */
  readonly starts: ReadonlyMap<string, number>;
}

/** An end that the supervisor has yet to see to. */
interface Pending {
  readonly id: string;
  readonly reason: string;
  /** It ended while it was being started: the supervisor tries again when it has seen to what else waits. */
  readonly failed: boolean;
  /** It is to be started again. */
  readonly repair: boolean;
}

type Of<A extends Act["act"]> = Extract<Act, { act: A }>;

const ORDERLY = /^(?:normal|shutdown)/;

class Judge {
  readonly states = new Set<SupervisionState>();
  readonly starts = new Map<string, number>();
  private readonly charter: Charter;
  private readonly inOrder: boolean;
  /** Ids that the supervisor knows of, in start order. */
  private known: string[];
  /** All of them, also those that are forgotten, in start order. */
  private readonly order: readonly string[];
  private readonly alive = new Set<string>();
  /** Children that are not running, and rightly so. */
  private readonly resting = new Set<string>();
  private pending: Pending[] = [];
  /** The children that the current repair still has to stop, and those that it starts after that. */
  private toStop = new Set<string>();
  private toStart: string[];
  private starting: string | undefined = undefined;
  private booting = true;
  private readonly times: number[] = [];
  private asked = false;
  /** Why it may end, and then has to. */
  private leaving: "gave up" | "did not start" | "told to" | undefined = undefined;
  private over = false;

  constructor(charter: Charter, inOrder: boolean) {
    this.charter = charter;
    this.inOrder = inOrder;
    this.order = charter.children.map(({ id }) => id);
    this.known = [...this.order];
    this.toStart = [...this.order];
  }

  read(acts: readonly Act[]): string | undefined {
    for (const [index, act] of acts.entries()) {
      const complaint = this.take(act, acts, index);
      if (complaint !== undefined) return `act ${index + 1}, ${textOf(act)}: ${complaint}`;
    }
    return undefined;
  }

  /** Nothing can run any more: is everything as it should be? */
  rest(): string | undefined {
    if (this.over)
      return this.alive.size === 0 ? undefined : `${list(this.alive)} run on without their supervisor`;
    if (this.leaving !== undefined) return `it should have ended: ${this.leaving}`;
    if (this.asked) return "it was asked to shut down, and runs on";
    const unseen = this.pending.find(({ repair }) => repair);
    if (unseen !== undefined) return `nothing came of the end of ${unseen.id}, ${unseen.reason}`;
    if (this.toStart.length > 0) return `${this.toStart[0]} has not been started`;
    const missing = this.known.find((id) => !this.alive.has(id) && !this.resting.has(id) && !this.gone(id));
    return missing === undefined ? undefined : `${missing} does not run`;
  }

  private take(act: Act, acts: readonly Act[], index: number): string | undefined {
    switch (act.act) {
      case "start":
        return this.started(act);
      case "up":
        if (this.starting !== act.id) return "it was not being started";
        this.starting = undefined;
        if (this.toStart.length === 0) this.booting = false;
        return undefined;
      case "end":
        return this.ended(act, acts, index);
      case "restart":
        return this.repaired(act);
      case "asked":
        this.asked = true;
        return undefined;
      case "over":
        return this.ends(act);
      default:
        return act satisfies never;
    }
  }

  private started({ id }: Of<"start">): string | undefined {
    if (this.over) return "its supervisor is no more";
    if (this.leaving !== undefined) return `its supervisor is on its way out: ${this.leaving}`;
    if (this.alive.has(id)) return "it runs already";
    if (this.toStop.size > 0) return `${list(this.toStop)} are to be stopped first`;
    if (this.starting !== undefined) return `${this.starting} has not come up yet`;
    if (this.toStart[0] !== id) return `${this.toStart[0] ?? "nobody"} is to be started now`;
    this.toStart.shift();
    this.starting = id;
    this.alive.add(id);
    if (this.resting.delete(id))
      this.states.add("a transient child that had ended comes up with its siblings");
    this.starts.set(id, (this.starts.get(id) ?? 0) + 1);
    return undefined;
  }

  private ended(
    { id, reason, own, step }: Of<"end">,
    acts: readonly Act[],
    index: number,
  ): string | undefined {
    if (!this.alive.delete(id)) return "it did not run";
    const inStart = this.starting === id;
    if (inStart) this.starting = undefined;
    const inRepair = this.toStop.delete(id);
    if (this.over) return undefined;
    // Children that end with their supervisor end in the same step, with the same reason.
    if (acts.slice(index).some((one) => one.act === "over" && one.step === step && one.reason === reason))
      return undefined;
    if (this.leaving === undefined && own) {
      this.ownEnd(id, reason, inRepair, inStart);
      return undefined;
    }
    if (own) return undefined;
    if (!inRepair && this.leaving === undefined) {
      if (!this.asked && !this.charter.nested) return "nobody asked it to";
      if (inStart) this.states.add("a shutdown in the middle of a start");
      this.leaves("told to");
    }
    // The last started goes first; but a start under way is cut short before anybody is stopped.
    const later = this.order.slice(this.order.indexOf(id) + 1);
    const waits = later.find((one) => (inRepair ? this.toStop : this.alive).has(one));
    return waits === undefined || inStart ? undefined : `${waits} is to be stopped first`;
  }

  private ownEnd(id: string, reason: string, inRepair: boolean, inStart: boolean): void {
    if (inStart && this.booting) {
      this.states.add("the first start fails");
      this.leaves("did not start");
      return;
    }
    if (inRepair) {
      this.states.add("a crash while its siblings are being stopped");
      return;
    }
    if (!this.booting && (this.toStart.length > 0 || this.starting !== undefined))
      this.states.add("a crash during a restart");
    const rule = this.rule(id);
    const repair = inStart || rule === "permanent" || (rule === "transient" && !ORDERLY.test(reason));
    if (!repair) this.states.add("a normal end is left alone");
    this.pending.push({ id, reason, failed: inStart, repair });
    if (inStart) this.toStart = [];
  }

  private repaired({ id, reason, siblings, left, gaveUp, at }: Of<"restart">): string | undefined {
    if (this.over || this.leaving !== undefined) return "its supervisor is on its way out";
    if (this.starting !== undefined || this.toStart.length > 0 || this.toStop.size > 0)
      return "another repair is under way";
    const index = this.pending.findIndex((one) => one.id === id && one.reason === reason && one.repair);
    const cause = this.pending[index];
    if (cause === undefined) return "no such end has been seen, or it is covered by another's repair";
    if (cause.failed) this.states.add("a restart fails and is tried again");
    // A failed start waits for its turn behind what came meanwhile, or finds one that an earlier failure left.
    const before = cause.failed ? [] : this.pending.slice(0, index).filter((one) => !one.failed);
    const skipped = before.find((one) => one.repair);
    if (skipped !== undefined && this.inOrder) return `${skipped.id} ended before it`;
    for (const one of before) if (!one.repair) this.layToRest(one.id);
    this.pending = this.pending.filter((one) => one !== cause && (one.repair || !before.includes(one)));
    const range = this.rangeOf(id);
    const wrong = this.inOrder ? this.wrongSiblings(siblings, range, id, cause.failed) : undefined;
    return wrong ?? this.counted(at, left, gaveUp) ?? this.begin(range, gaveUp);
  }

  private layToRest(id: string): void {
    if (this.rule(id) === "temporary") this.known = this.known.filter((one) => one !== id);
    else this.resting.add(id);
  }

  /** The supervisor takes for running what has ended since, and it has not seen to. */
  private wrongSiblings(
    said: readonly string[],
    range: readonly string[],
    id: string,
    afterFailure: boolean,
  ): string | undefined {
    const unseen = (one: string): boolean =>
      this.pending.some((end) => end.id === one && end.repair && !end.failed);
    const doubtful = (one: string): boolean => this.pending.some((end) => end.id === one && !end.repair);
    const others = range.filter((one) => one !== id);
    const sure = others.filter(
      (one) => this.alive.has(one) || unseen(one) || (!afterFailure && doubtful(one)),
    );
    const missing = sure.find((one) => !said.includes(one));
    if (missing !== undefined) return `${missing} goes with it, and is not said to`;
    const extra = said.find((one) => !sure.includes(one) && !(others.includes(one) && doubtful(one)));
    return extra === undefined ? undefined : `${extra} is said to go with it, and does not`;
  }

  private counted(at: number, left: number, gaveUp: boolean): string | undefined {
    const { intensity, periodMs } = this.charter;
    this.times.push(at);
    const recent = this.times.filter((time) => time >= at - periodMs).length;
    if (recent > 1) this.states.add("two crashes in one period");
    if (recent < this.times.length) this.states.add("old restarts are forgotten");
    if (left !== intensity - recent) return `${intensity - recent} are left of ${intensity}`;
    if (gaveUp !== recent > intensity) return `it is number ${recent} of ${intensity} in ${periodMs} ms`;
    return undefined;
  }

  private begin(range: readonly string[], gaveUp: boolean): undefined {
    if (gaveUp) {
      this.states.add("the intensity is exceeded");
      this.leaves("gave up");
      return;
    }
    const covered = this.pending.filter((one) => range.includes(one.id) && one.repair);
    if (covered.some((one) => one.failed))
      this.states.add("a failed restart is covered by the repair of another");
    if (covered.some((one) => !one.failed)) this.states.add("one repair covers two crashes");
    this.pending = this.pending.filter((one) => !range.includes(one.id));
    const stays = range.filter((one) => this.rule(one) === "temporary");
    if (stays.some((one) => this.alive.has(one)))
      this.states.add("a temporary child goes down with its siblings");
    this.known = this.known.filter((one) => !stays.includes(one));
    this.toStop = new Set(range.filter((one) => this.alive.has(one)));
    this.toStart = range.filter((one) => !stays.includes(one));
  }

  private leaves(why: "gave up" | "did not start" | "told to"): void {
    if (why === "told to" && this.toStart.length > 0 && !this.booting)
      this.states.add("a shutdown in the middle of a repair");
    this.leaving = why;
    this.toStart = [];
    this.toStop.clear();
    this.pending = [];
  }

  private ends({ reason, struck }: Of<"over">): string | undefined {
    const repairing = this.toStart.length > 0 || this.starting !== undefined;
    this.over = true;
    if (struck) {
      this.states.add("the supervisor itself is struck");
      if (repairing && !this.booting) this.states.add("the supervisor is struck in the middle of a repair");
      return undefined;
    }
    if (this.alive.size > 0) return `${list(this.alive)} still run`;
    if (this.leaving === "gave up" && reason !== "shutdown") return "who gives up ends with shutdown";
    if (this.asked || this.charter.nested) return undefined;
    if (this.leaving === undefined) return "nobody asked it to";
    const says = this.leaving !== "did not start" || reason.startsWith("shutdown ");
    return says ? undefined : "it should say which child failed";
  }

  private rangeOf(id: string): readonly string[] {
    const { strategy } = this.charter;
    if (strategy === "one_for_one") return [id];
    return strategy === "one_for_all" ? this.known : this.known.slice(this.known.indexOf(id));
  }

  private rule(id: string): Rule | undefined {
    return this.charter.children.find((child) => child.id === id)?.restart;
  }

  /** It ended by itself in a way that calls for nothing. */
  private gone(id: string): boolean {
    return this.pending.some((one) => one.id === id && !one.repair);
  }
}

function list(ids: Iterable<string>): string {
  return [...ids].join(", ");
}

function textOf(act: Act): string {
  switch (act.act) {
    case "start":
    case "up":
      return `${act.id} ${act.act}`;
    case "end":
      return `${act.id} ended, ${act.reason}${act.own ? "" : " (told)"}`;
    case "restart":
      return `restart for ${act.id}, ${act.reason}, ${act.gaveUp ? "gave up" : `${act.left} left`}`;
    case "asked":
      return "asked to shut down";
    case "over":
      return `over, ${act.reason}`;
    default:
      return act satisfies never;
  }
}

/**
 * Judges the life of one supervisor.
 *
 * @param inOrder - ends reach it in the order in which they come about: nothing was delayed on its way
 * @param atRest - nothing can run any more
 */
export function judgeSupervisor(
  charter: Charter,
  acts: readonly Act[],
  inOrder: boolean,
  atRest: boolean,
): Finding {
  const judge = new Judge(charter, inOrder);
  const complaint = judge.read(acts) ?? (atRest ? judge.rest() : undefined);
  return { complaint, states: judge.states, starts: judge.starts };
}

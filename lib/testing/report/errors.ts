// The errors of the simulator. Each says what was wrong and what to do.

import { SignalboxError } from "../../process/errors.js";

/**
 * The token belongs to a schedule that the code under test no longer has.
 *
 * @remedy Explore again and take the new token: code or scenario have changed since.
 */
export class ReplayOutdatedError extends SignalboxError {
  static override readonly name: string = "ReplayOutdatedError";
  readonly code = "ERR_SIM_OUTDATED";
  /** Index of the first choice that does not fit, from 0; -1 when the token belongs to another exploration. */
  readonly choice: number;
  constructor(choice: number, label: string, before: number, now: number) {
    super(
      choice < 0
        ? `the token belongs to another exploration than ${label}: the name, the kinds of faults and \`freeze\` must be the same`
        : `the token is outdated: its choice ${choice + 1} (${label}) had ${before} alternatives, and now there ${now === 1 ? "is 1" : `are ${now}`}. ` +
            "The code or the options have changed since: explore again for a new token",
    );
    this.choice = choice;
  }
}

/**
 * A thread of an exploration on several cores cannot load the scenario, ended, or does not answer.
 *
 * @remedy The module of `source` must export the scenario, and be loadable by Node as it is: it must not explore as it is loaded. For
 * TypeScript, start Node with the loader that it needs; or run on one core.
 */
export class ThreadError extends SignalboxError {
  static override readonly name: string = "ThreadError";
  readonly code = "ERR_SIM_THREAD";
  constructor(why: string) {
    super(`a thread of the exploration failed: ${why}. With \`cores: 1\` the scenario runs in this thread`);
  }
}

/**
 * The same choices led to another step than before: something in the code is outside of the simulator's
 * control.
 *
 * @remedy Look for real time, real randomness, iteration over changing state, and state that outlives a
 * schedule.
 */
export class NondeterminismError extends SignalboxError {
  static override readonly name: string = "NondeterminismError";
  readonly code = "ERR_SIM_NONDETERMINISM";
  /** Number of the first step that differs. */
  readonly step: number;
  constructor(step: number, first: string, second: string, token: string, cause: unknown) {
    super(
      `the same choices led to different runs, from step ${step} on: first "${first}", then "${second}". Something is not ` +
        "under the simulator's control: state shared between runs, Math.random (use ctx.random), Date.now (use ctx.now), " +
        `the order of a Set or Map filled by real I/O. Token: ${token}`,
      cause === undefined ? undefined : { cause },
    );
    this.step = step;
  }
}

/**
 * Code under simulation used a timer of the host, which does not follow virtual time.
 *
 * @remedy Use `ctx.sendAfter`, `ctx.runAfter` or `sim.sleep`, or pass the clock in.
 */
export class HostTimerError extends SignalboxError {
  static override readonly name: string = "HostTimerError";
  readonly code = "ERR_SIM_HOST_TIMER";
  constructor(process: string, name: string, place: string | undefined) {
    super(
      `${process} used the host's ${name}${at(place)}: virtual time does not move it. Use ctx.runAfter, ctx.sendAfter, ` +
        `receive({ timeoutMs }) or sim.sleep, also in fakes; or name the process in \`allow\` if it needs the timer`,
    );
  }
}

/**
 * Code under simulation began I/O of the host, or work of its threads: its end would come at any time.
 *
 * @remedy Pass the function in, and pass a fake made with `sim.io` in tests; or name the process in `allow`.
 */
export class HostIoError extends SignalboxError {
  static override readonly name: string = "HostIoError";
  readonly code = "ERR_SIM_HOST_IO";
  constructor(process: string, name: string, place: string | undefined) {
    super(
      `${process} called the host's ${name}${at(place)}: the simulator does not control when it ends. Give the code a fake ` +
        "instead, made with sim.io; or name the process in `allow`, and the simulator waits for it in real time",
    );
  }
}

/**
 * Code awaits something that the simulator does not settle, such as real I/O, and nothing else can run.
 *
 * @remedy Replace the I/O by a fake that the scenario controls: a function of `sim.io`, a process, the simulated disk
 * or network.
 */
export class UncontrolledAwaitError extends SignalboxError {
  static override readonly name: string = "UncontrolledAwaitError";
  readonly code = "ERR_SIM_UNCONTROLLED";
  constructor(
    process: string,
    place: string | undefined,
    resources: readonly string[],
    others: readonly string[] = [],
  ) {
    const pending = resources.length > 0 ? ` (active in the host: ${resources.join(", ")})` : "";
    super(
      `${process} awaits something that the simulator does not control${at(place)}${pending}. Replace the work by a fake ` +
        `made with sim.io, or by a process that answers; or name the process in \`allow\`, and the simulator waits for it in real time${
          others.length === 0 ? "" : `. Besides:${linesOf(others)}`
        }`,
    );
  }
}

/**
 * No process can run and no timer is set, but the scenario has not ended.
 *
 * @remedy The message lists who waits for what. Look for a reply or message that is never sent.
 */
export class StuckError extends SignalboxError {
  static override readonly name: string = "StuckError";
  readonly code = "ERR_SIM_STUCK";
  constructor(waits: readonly string[]) {
    super(
      `no process can run, and no timer is set:${linesOf(waits)}\n` +
        "A reply or message never comes, and no wait has a timeout",
    );
  }
}

/**
 * A step of a schedule did not end: its code awaits in a loop, and no await of the loop lets anything else run. The simulator has
 * stopped the code.
 *
 * @remedy Await something in the loop that lets others run, such as `sim.sleep`, a receive or a timer of `ctx`; or end the loop.
 */
export class EndlessStepError extends SignalboxError {
  static override readonly name: string = "EndlessStepError";
  readonly code = "ERR_SIM_ENDLESS_STEP";
  constructor(who: string, step: number, place: string | undefined) {
    super(
      `step ${step} does not end: ${who} awaits in a loop${at(place)}, and nothing else can run meanwhile, in production neither. ` +
        "Await something that lets others run, such as a receive or a timer, or end the loop",
    );
  }
}

/** The part of a schedule that repeats. */
export interface Cycling {
  /** Numbers of its first and last step. */
  readonly first: number;
  /** The step at which it was last there. */
  readonly last: number;
  /** How often it was there. */
  readonly times: number;
  /** The rounds are equal; otherwise they differ in numbers. */
  readonly exact: boolean;
  /** Virtual milliseconds of one round. */
  readonly ms: number;
  /** The steps in a few words. */
  readonly lines: readonly string[];
}

/**
 * A schedule did not end within `maxSteps` steps, although every process that could run did run. The message shows the steps
 * that repeat.
 *
 * @remedy Give the retry a limit or a random backoff, or break the tie between the processes. If the scenario
 * is meant to go on for ever, pass `endless: "pass"`; if it is only long, raise `maxSteps`.
 */
export class LivelockError extends SignalboxError {
  static override readonly name: string = "LivelockError";
  readonly code = "ERR_SIM_LIVELOCK";
  /** The steps after which the schedule was cut off. */
  readonly steps: number;
  /** The steps that repeat, in a few words. Empty when no part of the schedule repeats. */
  readonly cycle: readonly string[];
  constructor(
    steps: number,
    cycle: Cycling | undefined,
    ran: readonly string[],
    nextTimer: number | undefined,
  ) {
    const still =
      nextTimer === undefined
        ? ""
        : `\nThe next timer is due at ${nextTimer} ms, but time passes only when nothing can run`;
    const ending =
      cycle === undefined
        ? `. No part of it repeats; at the end these ran: ${ran.join(", ")}`
        : `: ${roundText(cycle)}`;
    super(`the schedule did not end in ${steps} steps${ending}${still}`);
    this.steps = steps;
    this.cycle = cycle?.lines ?? [];
  }
}

/**
 * Something that a monitor waits for did not come true: in time, before the schedule ended, or in a fair schedule that does not end.
 *
 * @remedy Look at the step from which on it was due, and follow what should have brought it about.
 */
export class LivenessError extends SignalboxError {
  static override readonly name: string = "LivenessError";
  readonly code = "ERR_SIM_LIVENESS";
  /** The name that the scenario gave to the monitor. */
  readonly monitor: string;
  /** Number of the step from which on it was due. */
  readonly sinceStep: number;
  /** @internal */
  constructor(
    monitor: string,
    { type, since, until }: Waiting,
    withinMs: number,
    cycle: Cycling | undefined,
  ) {
    const steps = until.step - since.step;
    const during = `in the ${steps === 1 ? "next step" : `next ${steps} steps`}`;
    const ending = {
      late: `within ${withinMs} ms, but did not come true by ${until.at} ms, ${during}`,
      never: `and did not come true ${during}, until the schedule ended`,
      endless: `and did not come true ${during} of a schedule that does not end${cycle === undefined ? "" : `: ${roundText(cycle)}`}`,
    }[type];
    super(`"${monitor}" was due from step ${since.step} on (at ${since.at} ms) ${ending}`);
    this.monitor = monitor;
    this.sinceStep = since.step;
  }
}

/** @internal Since when a monitor waits in vain, until when, and why that is too long. */
export interface Waiting {
  readonly type: "late" | "never" | "endless";
  readonly since: { readonly step: number; readonly at: number };
  readonly until: { readonly step: number; readonly at: number };
}

function roundText(cycle: Cycling): string {
  return `${roundsOf(cycle)}${linesOf(cycle.lines)}`;
}

function roundsOf({ first, last, times, exact, ms }: Cycling): string {
  const which = first === last ? `step ${first} repeats` : `steps ${first} to ${last} repeat`;
  return `${which}, ${times} times, ${ms} ms each time${exact ? "" : ", the same except for numbers"}`;
}

/**
 * Processes wait for each other's replies in a circle, so that none of them can go on.
 *
 * @remedy Turn one of the calls into a cast or a message, or reply before calling.
 */
export class WaitCycleError extends SignalboxError {
  static override readonly name: string = "WaitCycleError";
  readonly code = "ERR_SIM_WAIT_CYCLE";
  constructor(cycle: readonly string[]) {
    super(
      `processes wait for each other: ${[...cycle, cycle[0]].join(" calls ")}; none can answer before its own call ends`,
    );
  }
}

/**
 * The simulator injected this crash. Supervisors, links and monitors see it as any other crash.
 *
 * @remedy None is needed: code under test must survive it. Do not catch it in a `catch` that goes on as if
 * nothing had happened.
 */
export class InjectedCrash extends SignalboxError {
  static override readonly name: string = "InjectedCrash";
  readonly code = "ERR_SIM_CRASH";
  constructor() {
    super("a crash injected by the simulator");
  }
}

/**
 * An invariant that the scenario states with `sim.monitor.always` or `sim.finally` does not hold.
 *
 * @remedy Replay the token and follow the steps: the last step broke the invariant.
 */
export class SimulationInvariantError extends SignalboxError {
  static override readonly name: string = "SimulationInvariantError";
  readonly code = "ERR_SIM_INVARIANT";
  /** The name that the scenario gave to the invariant. */
  readonly invariant: string;
  constructor(invariant: string, said: string | undefined, cause: unknown) {
    super(`the invariant "${invariant}" does not hold${said === undefined ? "" : `: ${said}`}`, { cause });
    this.invariant = invariant;
  }
}

/**
 * The system did not reach the expected state within the limit.
 *
 * @remedy The message lists who waits for what. Raise the limit when the system is right but slower.
 */
export class NotConvergedError extends SignalboxError {
  static override readonly name: string = "NotConvergedError";
  readonly code = "ERR_SIM_NOT_CONVERGED";
  constructor(goal: string, withinMs: number, why: string, waits: readonly string[]) {
    super(`the system did not reach this state within ${withinMs} ms: ${goal} (${why})${linesOf(waits)}`);
  }
}

/**
 * A schedule ended with something left behind: a child without its supervisor, several monitors of one process on another,
 * or a mailbox that only grew.
 *
 * @remedy Stop or release it in the code under test, or turn the check off with the option `checks`.
 */
export class LeftBehindError extends SignalboxError {
  static override readonly name: string = "LeftBehindError";
  readonly code = "ERR_SIM_LEFT_BEHIND";
  /** One line for each thing that was left behind, at least one. */
  readonly findings: readonly string[];
  constructor(findings: readonly string[]) {
    super(`left behind at the end of the scenario:\n${findings.map((one) => `  ${one}`).join("\n")}`);
    this.findings = findings;
  }
}

/**
 * No schedule reached a state that the scenario marks as interesting.
 *
 * @remedy Raise the number of schedules, add faults, or remove the mark when the state cannot happen.
 */
export class NeverReachedError extends SignalboxError {
  static override readonly name: string = "NeverReachedError";
  readonly code = "ERR_SIM_NEVER";
  constructor(labels: readonly string[], schedules: number) {
    super(
      `none of ${schedules} schedules reached: ${labels.join(", ")}. Explore more schedules, allow more faults, or remove ` +
        "the label: if the state is unreachable, the test does not test it",
    );
  }
}

/**
 * A rule of `faults` matched no process or node in any schedule, so its fault never struck.
 *
 * @remedy Correct the pattern; the message lists paths that existed, the most similar first. Remove the rule if
 * there is nothing to match.
 */
export class UnmatchedRuleError extends SignalboxError {
  static override readonly name: string = "UnmatchedRuleError";
  readonly code = "ERR_SIM_UNMATCHED";
  /** The rules, with their patterns. */
  readonly rules: readonly string[];
  constructor(rules: readonly string[], paths: readonly string[], schedules: number) {
    super(
      rules
        .map((rule) => {
          const near = nearest(rule.slice(rule.indexOf(" of ") + 4), paths);
          const there = near.length === 0 ? "there were none" : `there were, for example, ${near.join(", ")}`;
          return `the rule ${rule} matches nothing in ${schedules} schedules: ${there}`;
        })
        .join("\n"),
    );
    this.rules = rules;
  }
}

/** Paths that an error lists. */
const MOST_NEAR = 5;

/** The paths that are most like a pattern. */
function nearest(pattern: string, paths: readonly string[]): readonly string[] {
  return paths
    .map((path) => ({ path, distance: distance(pattern.replaceAll("*", ""), path) }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, MOST_NEAR)
    .map(({ path }) => path);
}

/** Edit distance, in which missing letters of the pattern cost little: stars stand for any number of them. */
function distance(pattern: string, path: string): number {
  let row = Array.from({ length: path.length + 1 }, (_, column) => column / path.length / 2);
  for (const [index, letter] of [...pattern].entries()) {
    const next = [index + 1];
    for (let column = 1; column <= path.length; column++) {
      const [left, above, diagonal] = [next[column - 1], row[column], row[column - 1]] as [
        number,
        number,
        number,
      ];
      next[column] = Math.min(
        diagonal + (path[column - 1] === letter ? 0 : 1),
        above + 1,
        left + 1 / path.length / 2,
      );
    }
    row = next;
  }
  return row.at(-1) as number;
}

/**
 * A function that the test gave to the simulator threw, or returned a value that it may not return. `cause`
 * is the error.
 *
 * @remedy Mend the function that the message names: `sim.state`, an invariant or a goal of the test itself.
 */
export class ModelError extends SignalboxError {
  static override readonly name: string = "ModelError";
  readonly code = "ERR_SIM_MODEL";
  constructor(what: string, where: string, cause: unknown) {
    super(`${what} ${where}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/** Lines below a text. */
function linesOf(lines: readonly string[]): string {
  return lines.map((line) => `\n  ${line}`).join("");
}

function at(place: string | undefined): string {
  return place === undefined ? "" : ` at ${place}`;
}

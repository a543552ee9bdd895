// What the simulator has to say against a scenario, a token or a model. Each names what was wrong and what to do.

import { SignalboxError } from "../../process/errors.js";

/** A token belongs to a schedule that the code under test does not have any more. */
export class ReplayOutdatedError extends SignalboxError {
  static override readonly name: string = "ReplayOutdatedError";
  readonly code = "ERR_SIM_OUTDATED";
  readonly choice: number;
  constructor(choice: number, label: string, before: number, now: number) {
    super(
      choice < 0
        ? `the token is of another exploration than ${label}: its name, the kinds of its faults and \`freeze\` have to be the same`
        : `the token is outdated: its choice ${choice + 1} (${label}) was one of ${before} alternatives, now there ${now === 1 ? "is 1" : `are ${now}`}; ` +
            "the code or the options have changed since: explore again for a new token",
    );
    this.choice = choice;
  }
}

/** The same choices led to something else: something in the code is not under the simulator's control. */
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

/** Code under simulation used a timer of the host, which knows nothing of virtual time. */
export class HostTimerError extends SignalboxError {
  static override readonly name: string = "HostTimerError";
  readonly code = "ERR_SIM_HOST_TIMER";
  constructor(process: string, name: string, place: string | undefined) {
    super(
      `${process} used the host's ${name}${at(place)}: virtual time does not move it. Use ctx.runAfter, ctx.sendAfter, ` +
        `receive({ timeout }) or sim.sleep; or name the process in \`allow\` if it has to`,
    );
  }
}

/** Code awaits something that the simulator does not settle, such as real I/O, and nothing else can go on. */
export class UncontrolledAwaitError extends SignalboxError {
  static override readonly name: string = "UncontrolledAwaitError";
  readonly code = "ERR_SIM_UNCONTROLLED";
  constructor(process: string, place: string | undefined, resources: readonly string[]) {
    const pending = resources.length > 0 ? ` (the host is at work on: ${resources.join(", ")})` : "";
    super(
      `${process} awaits something that the simulator does not control${at(place)}${pending}. Hand the work to a stand-in ` +
        "that answers by message or call; or name the process in `allow`, and the simulator waits for it in real time",
    );
  }
}

/** Nothing can run, no timer is set, and the scenario is not at its end. */
export class StuckError extends SignalboxError {
  static override readonly name: string = "StuckError";
  readonly code = "ERR_SIM_STUCK";
  constructor(waits: readonly string[]) {
    super(
      `nothing can go on, and no timer is set:\n${waits.map((wait) => `  ${wait}`).join("\n")}\n` +
        "Whoever should have answered has not, and nobody waits with a timeout",
    );
  }
}

/** Processes wait for each other's replies in a circle. */
export class WaitCycleError extends SignalboxError {
  static override readonly name: string = "WaitCycleError";
  readonly code = "ERR_SIM_WAIT_CYCLE";
  constructor(cycle: readonly string[]) {
    super(
      `processes wait for each other: ${[...cycle, cycle[0]].join(" calls ")}; none can answer before its own call ends`,
    );
  }
}

/** The fault that the simulator injects: what a crash looks like to supervisors, links and monitors. */
export class InjectedCrash extends SignalboxError {
  static override readonly name: string = "InjectedCrash";
  readonly code = "ERR_SIM_CRASH";
  constructor() {
    super("a crash injected by the simulator");
  }
}

/** An invariant that a scenario states, with `sim.invariant` or `sim.finally`, does not hold. */
export class SimulationInvariantError extends SignalboxError {
  static override readonly name: string = "SimulationInvariantError";
  readonly code = "ERR_SIM_INVARIANT";
  readonly invariant: string;
  constructor(invariant: string, said: string | undefined, cause: unknown) {
    super(`the invariant "${invariant}" does not hold${said === undefined ? "" : `: ${said}`}`, { cause });
    this.invariant = invariant;
  }
}

/** The system has not come to where it should. */
export class NotConvergedError extends SignalboxError {
  static override readonly name: string = "NotConvergedError";
  readonly code = "ERR_SIM_NOT_CONVERGED";
  constructor(goal: string, withinMs: number, why: string) {
    super(`within ${withinMs} ms it has not come to this: ${goal} (${why})`);
  }
}

/** Something was left behind at the end of a schedule. */
export class LeftBehindError extends SignalboxError {
  static override readonly name: string = "LeftBehindError";
  readonly code = "ERR_SIM_LEFT_BEHIND";
  readonly findings: readonly string[];
  constructor(findings: readonly string[]) {
    super(`left behind at the end of the scenario:\n${findings.map((one) => `  ${one}`).join("\n")}`);
    this.findings = findings;
  }
}

/** States that the scenario says are interesting, and that no schedule has come to. */
export class NeverReachedError extends SignalboxError {
  static override readonly name: string = "NeverReachedError";
  readonly code = "ERR_SIM_NEVER";
  constructor(labels: readonly string[], schedules: number) {
    super(
      `in ${schedules} schedules never came to: ${labels.join(", ")}. Explore more schedules, allow more faults, or the ` +
        "state cannot be reached and the test does not test it",
    );
  }
}

/** A function that the test gave to the simulator threw, or answered with something that it may not. */
export class ModelError extends SignalboxError {
  static override readonly name: string = "ModelError";
  readonly code = "ERR_SIM_MODEL";
  constructor(what: string, where: string, cause: unknown) {
    super(`${what} ${where}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

function at(place: string | undefined): string {
  return place === undefined ? "" : ` at ${place}`;
}

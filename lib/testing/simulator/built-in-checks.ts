// Checks of every schedule, in any scenario: children without a supervisor, duplicate monitors, mailboxes that
// only grow, calls in a circle, awaits that never end.

import { only } from "../../process/known-options.js";
import { members } from "../../process/one-or-many.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { STARTING, SUSPENDED, TERMINATING } from "../../process/process-state.js";
import { Request } from "../../process/request.js";
import { LeftBehindError, UncontrolledAwaitError, WaitCycleError } from "../report/errors.js";
import type { Actor } from "./actor.js";
import type { World } from "./world.js";

/** The checks of every schedule. Each is on unless it is `false`. */
export interface BuiltInChecks {
  /** A child must not outlive its supervisor. */
  readonly orphans?: boolean;
  /** A process must not have several monitors on the same process: each sends a DOWN. */
  readonly monitors?: boolean;
  /** A mailbox must not grow from quiet moment to quiet moment, several times, without ever shrinking. */
  readonly mailboxes?: boolean;
  /** Processes must not wait for each other's replies in a circle. */
  readonly cycles?: boolean;
  /** At the end, no code may await a promise that nothing settles. */
  readonly awaits?: boolean;
}

const KINDS = ["orphans", "monitors", "mailboxes", "cycles", "awaits"] as const;

/** A mailbox that grew this often in a row "only grows". */
const GROWTHS = 8;

interface Depth {
  last: number;
  growths: number;
}

export class BuiltInChecker {
  readonly #world: World;
  readonly #options: BuiltInChecks;
  readonly #depths = new Map<Actor, Depth>();

  /** @throws OptionError */
  constructor(world: World, options: BuiltInChecks) {
    only("checks", options, KINDS);
    this.#world = world;
    this.#options = options;
  }

  /** Called when nothing can run. */
  quiet(): void {
    if (this.#options.cycles !== false) this.#lookForCycle();
    if (this.#options.mailboxes === false) return;
    for (const actor of this.#world.actors.all) {
      const depth = actor.alive ? (actor.process?.depth ?? 0) : 0;
      const known = this.#depths.get(actor);
      if (known === undefined) {
        if (depth > 0) this.#depths.set(actor, { last: depth, growths: 1 });
        continue;
      }
      if (depth < known.last) known.growths = 0;
      else if (depth > known.last) known.growths++;
      known.last = depth;
    }
  }

  /** Called when the library has found a circle of calls, and is about to refuse one of them. */
  circle(paths: readonly string[]): void {
    if (this.#options.cycles !== false) this.#world.fail(new WaitCycleError(paths));
  }

  /** Called when the schedule has ended and nothing can run. */
  end(): void {
    const world = this.#world;
    const options = this.#options;
    const findings: string[] = [];
    for (const actor of world.actors.all) {
      const { process, parent } = actor;
      if (process === undefined || !actor.alive) continue;
      if (options.awaits !== false && actor.adrift)
        world.fail(new UncontrolledAwaitError(actor.path, actor.place, []));
      if (options.orphans !== false && parent?.process !== undefined && !parent.alive && parent.supervises)
        findings.push(`${actor.path} is alive, though its supervisor ${parent.path} is not`);
      if (options.monitors !== false) findings.push(...this.#doubles(actor, process));
      const depth = this.#depths.get(actor);
      if (depth !== undefined && depth.growths >= GROWTHS)
        findings.push(
          `the mailbox of ${actor.path} only grows: ${depth.last} messages are queued, and the process does not take them`,
        );
    }
    if (findings.length > 0) world.fail(new LeftBehindError(findings));
  }

  #doubles(actor: Actor, process: Process): string[] {
    const counts = new Map<Pid, number>();
    for (const { target } of members(process.watching)) counts.set(target, (counts.get(target) ?? 0) + 1);
    return [...counts]
      .filter(([, count]) => count > 1)
      .map(
        ([target, count]) =>
          `${actor.path} has ${count} monitors on ${this.#world.actors.pathOf(target)}: demonitor those that are no longer needed`,
      );
  }

  #lookForCycle(): void {
    const done = new Set<Process>();
    for (const { process } of this.#world.actors.all) {
      const path: Process[] = [];
      let at: Process | undefined = process;
      while (at !== undefined && awaits(at) && !done.has(at)) {
        const start = path.indexOf(at);
        if (start >= 0) {
          this.#world.fail(
            new WaitCycleError(path.slice(start).map((one) => this.#world.actors.pathOf(one.pid))),
          );
          return;
        }
        path.push(at);
        at = calleeOf(at);
      }
      for (const one of path) done.add(one);
    }
  }
}

/** Whether the code is at an await, in any phase of the process. */
function awaits({ state }: Process): boolean {
  return state === SUSPENDED || state === STARTING || state === TERMINATING;
}

/** The process whose reply this process awaits. */
function calleeOf(process: Process): Process | undefined {
  for (const wait of members(process.rare?.waits)) {
    if (wait instanceof Request && wait.open && wait.promise !== undefined) return wait.callee;
  }
  return undefined;
}

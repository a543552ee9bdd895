// What no schedule may end in, whatever the scenario is about: processes without a supervisor, monitors left behind,
// mailboxes that only grow, circles of calls.

import { members } from "../../process/one-or-many.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { STARTING, SUSPENDED, TERMINATING } from "../../process/process-state.js";
import { Request } from "../../process/request.js";
import { LeftBehindError, UncontrolledAwaitError, WaitCycleError } from "../report/errors.js";
import type { Actor } from "./actor.js";
import { only } from "./options.js";
import type { World } from "./world.js";

/** What is watched for; each is on unless it is `false`. */
export interface BuiltInChecks {
  /** A child that is alive though its supervisor is not. */
  readonly orphans?: boolean;
  /** Several monitors of one process on the same other: one would do, and each is answered. */
  readonly monitors?: boolean;
  /** A mailbox that grew from quiet moment to quiet moment, several times and never less: nobody comes to what it holds. */
  readonly mailboxes?: boolean;
  /** Processes that wait for each other's replies. */
  readonly cycles?: boolean;
  /** Code that at the end still awaits what nothing settles. */
  readonly awaits?: boolean;
}

const KINDS = ["orphans", "monitors", "mailboxes", "cycles", "awaits"] as const;

/** Growths in a row that count as "only grows". */
const GROWTHS = 8;

interface Depth {
  last: number;
  growths: number;
}

export class BuiltInChecker {
  private readonly world: World;
  private readonly options: BuiltInChecks;
  private readonly depths = new Map<Actor, Depth>();

  /** @throws OptionError */
  constructor(world: World, options: BuiltInChecks) {
    only("checks", options, KINDS);
    this.world = world;
    this.options = options;
  }

  /** Nothing can run at this moment. */
  quiet(): void {
    if (this.options.cycles !== false) this.lookForCycle();
    if (this.options.mailboxes === false) return;
    for (const actor of this.world.actors) {
      const depth = actor.alive ? (actor.process?.depth ?? 0) : 0;
      const known = this.depths.get(actor);
      if (known === undefined) {
        if (depth > 0) this.depths.set(actor, { last: depth, growths: 1 });
        continue;
      }
      if (depth < known.last) known.growths = 0;
      else if (depth > known.last) known.growths++;
      known.last = depth;
    }
  }

  /** The schedule has ended, and nothing can run any more. */
  end(): void {
    const { options, world } = this;
    const findings: string[] = [];
    for (const actor of world.actors) {
      const { process, parent } = actor;
      if (process === undefined || !actor.alive) continue;
      if (options.awaits !== false && actor.adrift)
        world.fail(new UncontrolledAwaitError(actor.path, actor.place, []));
      if (options.orphans !== false && parent?.process !== undefined && !parent.alive && parent.supervises)
        findings.push(`${actor.path} is alive, though its supervisor ${parent.path} is not`);
      if (options.monitors !== false) findings.push(...this.doubles(actor, process));
      const depth = this.depths.get(actor);
      if (depth !== undefined && depth.growths >= GROWTHS)
        findings.push(
          `the mailbox of ${actor.path} only grows: ${depth.last} wait, and it does not come to them`,
        );
    }
    if (findings.length > 0) world.fail(new LeftBehindError(findings));
  }

  private doubles(actor: Actor, process: Process): string[] {
    const counts = new Map<Pid, number>();
    for (const { target } of members(process.watching)) counts.set(target, (counts.get(target) ?? 0) + 1);
    return [...counts]
      .filter(([, count]) => count > 1)
      .map(
        ([target, count]) =>
          `${actor.path} has ${count} monitors on ${this.world.interceptor.actorOf(target)?.path ?? String(target)}: demonitor those that are done with`,
      );
  }

  private lookForCycle(): void {
    const done = new Set<Process>();
    for (const { process } of this.world.actors) {
      const path: Process[] = [];
      let at: Process | undefined = process;
      while (at !== undefined && awaits(at) && !done.has(at)) {
        const start = path.indexOf(at);
        if (start >= 0) {
          this.world.fail(
            new WaitCycleError(
              path.slice(start).map((one) => this.world.interceptor.actorOf(one.pid)?.path ?? ""),
            ),
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

/** Its code is at an await, in whichever part of its life. */
function awaits({ state }: Process): boolean {
  return state === SUSPENDED || state === STARTING || state === TERMINATING;
}

/** Whose reply a process awaits. */
function calleeOf(process: Process): Process | undefined {
  for (const wait of members(process.rare?.waits)) {
    if (wait instanceof Request && wait.open && wait.promise !== undefined) return wait.callee;
  }
  return undefined;
}

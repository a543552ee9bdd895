// What the history sees of supervisors, out of the states of their machines. It is read here, so that a program that nobody looks at has none of
// this code.

import type { Pid } from "../../process/pid.js";
import type { ExitReason } from "../../process/reason.js";
import type { DynamicChild, DynamicEvent, DynamicState } from "../../supervisor/dynamic-protocol.js";
import type { ChildStatus, Event } from "../../supervisor/protocol.js";
import type { Child } from "../../supervisor/roster.js";
import type { State } from "../../supervisor/state.js";

/** The state of the machine of a supervisor. */
export type MachineState = State<Pid> | DynamicState<Pid>;

/** A child, as its supervisor has it. */
export interface SeenChild {
  /** Tells it from all others of its supervisor. It keeps that over restarts. */
  readonly key: string;
  readonly id: string;
  readonly type: "worker" | "supervisor";
  /** `gone`: its supervisor has it no longer. */
  readonly status: ChildStatus | "gone";
  readonly pid: Pid | undefined;
}

/** A child that has changed. */
export interface ChangedChild extends SeenChild {
  /** Its supervisor has not had it before. */
  readonly isNew: boolean;
  /** Why its process has ended. Undefined: none has, or its supervisor has stopped it. */
  readonly reason: ExitReason | undefined;
}

/** A supervisor with the first of its children. */
export interface SeenSupervisor {
  readonly strategy: string;
  readonly intensity: number;
  readonly periodMs: number;
  /** How many children it has. */
  readonly count: number;
  readonly first: readonly SeenChild[];
}

const NONE: readonly ChangedChild[] = [];

/** The children that a decision of a supervisor with named children has changed, as others see them. */
export function changedBy(before: State<Pid>, after: State<Pid>, event: Event<Pid>): readonly ChangedChild[] {
  if (before.children === after.children) return NONE;
  return after.children
    .changedSince(before.children)
    .filter(([was, is]) => was?.status !== is?.status || was?.pid !== is?.pid)
    .map(([was, is]) => {
      // One of the two is there.
      const { id, type } = ((is ?? was) as Child<Pid>).spec;
      const hasEnded = was?.pid !== undefined && was.pid !== is?.pid;
      const reason = hasEnded ? endOf(was.pid, is, before, event) : undefined;
      const status = is?.status ?? "gone";
      return { key: id, id, type, status, pid: is?.pid, isNew: was === undefined, reason };
    });
}

/** Why a child has ended by itself. Undefined when its supervisor has stopped it. */
function endOf(
  pid: Pid,
  is: Child<Pid> | undefined,
  { deferred }: State<Pid>,
  event: Event<Pid>,
): ExitReason | undefined {
  if (is?.status === "restarting") return is.failure;
  // An exit that was deferred is handled behind another event.
  for (const one of [event, ...deferred]) if (one.type === "exited" && one.pid === pid) return one.reason;
  return undefined;
}

/** The same of a dynamic supervisor. */
export function changedIn(state: DynamicState<Pid>, event: DynamicEvent<Pid>): readonly ChangedChild[] {
  const { changed } = state;
  if (changed === undefined || changed.length === 0) return NONE;
  const reason = event.type === "exited" ? event.reason : undefined;
  const { id, type } = state.config.spec;
  return changed.map(({ child, isNew }) => {
    const { key } = child;
    const status = state.children.get(key) === child ? statusOf(child) : "gone";
    return { key, id, type, status, pid: status === "running" ? child.pid : undefined, isNew, reason };
  });
}

const statusOf = ({ pid, starting }: DynamicChild<Pid>): ChildStatus =>
  pid === undefined || starting ? "restarting" : "running";

/** A supervisor with its first children, so many at most. */
export function seenIn(state: MachineState, most: number): SeenSupervisor {
  const { intensity, periodMs } = state.config;
  const first: SeenChild[] = [];
  if (!isDynamic(state)) {
    const { children, config } = state;
    for (const { spec, status, pid } of children) {
      if (first.length === most) break;
      first.push({ key: spec.id, id: spec.id, type: spec.type, status, pid });
    }
    return { strategy: config.strategy, intensity, periodMs, count: children.size, first };
  }
  const { id, type } = state.config.spec;
  let count = 0;
  for (const child of state.children.values()) {
    // One that has never come up is not seen.
    if (child.asker !== undefined || ++count > most) continue;
    const status = statusOf(child);
    first.push({ key: child.key, id, type, status, pid: status === "running" ? child.pid : undefined });
  }
  return { strategy: "dynamic", intensity, periodMs, count, first };
}

const isDynamic = (state: MachineState): state is DynamicState<Pid> => "byName" in state;

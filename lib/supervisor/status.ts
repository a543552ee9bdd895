// The status of a supervisor for health checks: which children run, and how near it is to giving up.

import type { Pid } from "../process/pid.js";
import type { ChildType } from "./child.js";
import type { DynamicState } from "./dynamic-protocol.js";
import type { Queue } from "./queue.js";
import { countRecent, type RestartLimits } from "./restart-rule.js";
import type { State } from "./state.js";
import { STRATEGIES } from "./strategies.js";

/** Where a child is: it runs, its first start or its restart is under way or due, or it does not run and will not by itself. */
export type ChildPhase = "running" | "starting" | "restarting" | "stopped";

/** One child, as the status of its supervisor lists it. */
export interface ChildHealth {
  /** The id of the child. */
  readonly id: string;
  /** Its pid, while it runs. */
  readonly pid: Pid<unknown> | undefined;
  /** Where it is. A sibling that waits to be restarted together with a failed child counts as restarting. */
  readonly phase: ChildPhase;
  /** Whether it is a worker or a supervisor. */
  readonly type: ChildType;
}

/** The status of a supervisor. */
export interface SupervisorStatus {
  /** The children in start order. Undefined for a dynamic supervisor, which may have very many. */
  readonly children: readonly ChildHealth[] | undefined;
  /** How many children there are, running or not. */
  readonly size: number;
  /** How many restarts count at present. With unlimited intensity none are counted. */
  readonly restarts: number;
  /** How many restarts are allowed within `periodMs`. With one more the supervisor gives up. */
  readonly intensity: number;
  /** The period in milliseconds. */
  readonly periodMs: number;
}

/** @param now - in milliseconds of the system's clock */
export function statusOf(state: State<Pid>, now: number): SupervisorStatus {
  const { children, config, agenda, booting } = state;
  const due = new Set<string>();
  for (const step of agenda) if (step.do === "start") due.add(step.id);
  for (const { spec, status } of children) {
    if (status !== "restarting") continue;
    const { from, to } = STRATEGIES[config.strategy](children.placeOf(spec.id), children.end);
    for (const one of children.range(from, to)) due.add(one.spec.id);
  }
  const list = [...children].map(({ spec: { id, type }, status, pid }): ChildHealth => {
    const waits: ChildPhase = booting ? "starting" : "restarting";
    return {
      id,
      type,
      pid: pid as Pid<unknown> | undefined,
      phase: status === "stopped" && due.has(id) ? waits : status,
    };
  });
  return { children: list, size: list.length, ...counted(config, state.restarts, now) };
}

/** @param now - in milliseconds of the system's clock */
export function dynamicStatusOf(
  { config, children, restarts }: DynamicState<Pid>,
  now: number,
): SupervisorStatus {
  return { children: undefined, size: children.size, ...counted(config, restarts, now) };
}

function counted(
  { intensity, periodMs }: RestartLimits,
  restarts: Queue<number>,
  now: number,
): Pick<SupervisorStatus, "restarts" | "intensity" | "periodMs"> {
  return { restarts: countRecent(restarts, periodMs, now), intensity, periodMs };
}

/** How many children a supervisor has, by kind. */
export interface ChildCounts {
  /** Specs known, running or not. */
  readonly specs: number;
  /** Children that run. */
  readonly active: number;
  /** Children that are supervisors, running or not. */
  readonly supervisors: number;
  /** Children that are workers, running or not. */
  readonly workers: number;
}

/** Counts children, as OTP's count_children does. */
export function countOf(
  children: readonly { readonly type: ChildType; readonly pid: Pid | undefined }[],
): ChildCounts {
  const supervisors = children.filter((child) => child.type === "supervisor").length;
  return {
    specs: children.length,
    active: children.filter((child) => child.pid !== undefined).length,
    supervisors,
    workers: children.length - supervisors,
  };
}

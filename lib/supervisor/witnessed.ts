// What the witness of a system sees of a supervisor with named children. A supervisor looks for changes only while there is a witness.

import type { Pid } from "../process/pid.js";
import type { ExitReason } from "../process/reason.js";
import type { ChangedChild, SeenChild, SeenSupervisor } from "../process/witness.js";
import type { Event } from "./protocol.js";
import type { Child } from "./roster.js";
import type { State } from "./state.js";

const NONE: readonly ChangedChild[] = [];

/** The children that a decision has changed, as others see them. */
export function changedBy(before: State<Pid>, after: State<Pid>, event: Event<Pid>): readonly ChangedChild[] {
  if (before.children === after.children) return NONE;
  return after.children
    .changedSince(before.children)
    .filter(([was, is]) => was?.status !== is?.status || was?.pid !== is?.pid)
    .map(([was, is]) => {
      // One of the two is there.
      const child = (is ?? was) as Child<Pid>;
      const hasEnded = was?.pid !== undefined && was.pid !== is?.pid;
      const reason = hasEnded ? endOf(was.pid, is, before, event) : undefined;
      const { id, type } = child.spec;
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

const seen = ({ spec: { id, type }, status, pid }: Child<Pid>): SeenChild => ({
  key: id,
  id,
  type,
  status,
  pid,
});

/** A supervisor with its first children. */
export function sightOf({ config, children }: State<Pid>, most: number): SeenSupervisor {
  const { strategy, intensity, periodMs } = config;
  const first: SeenChild[] = [];
  for (const child of children) {
    if (first.length === most) break;
    first.push(seen(child));
  }
  return { strategy, intensity, periodMs, count: children.size, first };
}

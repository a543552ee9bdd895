// The state of a supervisor's machine, and copies of that with one field changed. The copies are written out, because an
// object spread costs Node 20 a microsecond.

import type { ExitReason } from "../process/reason.js";
import type { AutoShutdown } from "./child.js";
import type { Event, RestartStrategy } from "./protocol.js";
import type { Queue } from "./queue.js";
import type { RestartLimits } from "./restart-rule.js";
import type { Child, Roster } from "./roster.js";

/** Options of a supervisor that the machine decides by. */
export interface Config extends RestartLimits {
  readonly strategy: RestartStrategy;
  readonly autoShutdown: AutoShutdown;
}

/** A start or stop, which takes time. The first step of the agenda is in progress. */
export type AgendaStep<P> =
  | { readonly do: "stop"; readonly id: string; readonly token?: number }
  | { readonly do: "start"; readonly id: string; readonly why: "boot" | "restart" }
  | {
      readonly do: "start";
      readonly id: string;
      readonly why: "add" | "again";
      readonly token: number;
      readonly child: Child<P>;
    };

export interface State<P> {
  readonly config: Config;
  /** In start order. */
  readonly children: Roster<P>;
  /** Times of the restarts within the period. */
  readonly restarts: Queue<number>;
  readonly agenda: Queue<AgendaStep<P>>;
  /** Events that came while something was in progress. */
  readonly deferred: Queue<Event<P>>;
  /** The reason with which the supervisor will exit, once it is closing. */
  readonly closing: ExitReason | undefined;
  readonly booting: boolean;
}

export function withChildren<P>(state: State<P>, children: Roster<P>): State<P> {
  const { config, restarts, agenda, deferred, closing, booting } = state;
  return { config, children, restarts, agenda, deferred, closing, booting };
}

export function withRestarts<P>(state: State<P>, restarts: Queue<number>): State<P> {
  const { config, children, agenda, deferred, closing, booting } = state;
  return { config, children, restarts, agenda, deferred, closing, booting };
}

export function withAgenda<P>(state: State<P>, agenda: Queue<AgendaStep<P>>): State<P> {
  const { config, children, restarts, deferred, closing, booting } = state;
  return { config, children, restarts, agenda, deferred, closing, booting };
}

export function withDeferred<P>(state: State<P>, deferred: Queue<Event<P>>): State<P> {
  const { config, children, restarts, agenda, closing, booting } = state;
  return { config, children, restarts, agenda, deferred, closing, booting };
}

// A monitor of liveness as a machine. It is hot while something is due that has not come true, and cold otherwise. Being hot is no
// failure, staying hot is: until a deadline, until the schedule ends, or through the fair part of a schedule that does not end.

/** A step of a schedule, and its virtual time. */
export interface Moment {
  readonly step: number;
  readonly at: number;
}

export interface MonitorRule {
  /** `eventually`: due once, from the beginning. `leadsTo`: due whenever the trigger holds. */
  readonly kind: "eventually" | "leadsTo";
  /** Virtual milliseconds within which the goal has to hold; Infinity for any time before the end. */
  readonly withinMs: number;
}

export interface MonitorState {
  readonly rule: MonitorRule;
  /** The moment from which on the goal is due; undefined while the monitor is cold. */
  readonly hotSince: Moment | undefined;
}

export type MonitorEvent =
  /** The state after a step. */
  | { readonly type: "step"; readonly moment: Moment; readonly trigger: boolean; readonly goal: boolean }
  /** The schedule has ended. */
  | { readonly type: "end"; readonly moment: Moment }
  /** The schedule did not end and was cut off; from `fairFrom` on every ready process ran. */
  | { readonly type: "cut off"; readonly moment: Moment; readonly fairFrom: number };

/** Why the monitor fails: too late, not before the end, or not in a fair schedule without an end. */
export interface Violation {
  readonly type: "late" | "never" | "endless";
  readonly since: Moment;
  readonly until: Moment;
}

export function initial(rule: MonitorRule, moment: Moment): MonitorState {
  return { rule, hotSince: rule.kind === "eventually" ? moment : undefined };
}

/** A violated monitor decides no more: the schedule has failed. */
export function decide(state: MonitorState, event: MonitorEvent): [MonitorState, Violation | undefined] {
  const { rule, hotSince: since } = state;
  const { moment } = event;
  switch (event.type) {
    case "step": {
      // The state before this step lasted until now, and it was not the goal.
      if (since !== undefined && moment.at > since.at + rule.withinMs)
        return [state, { type: "late", since, until: moment }];
      if (event.goal) return [{ rule, hotSince: undefined }, undefined];
      const due = since === undefined && rule.kind === "leadsTo" && event.trigger;
      return [due ? { rule, hotSince: moment } : state, undefined];
    }
    case "end":
      return [state, since === undefined ? undefined : { type: "never", since, until: moment }];
    case "cut off": {
      const endless = since !== undefined && since.step <= event.fairFrom;
      return [state, endless ? { type: "endless", since, until: moment } : undefined];
    }
    default:
      return event satisfies never;
  }
}

// The outcome that a task hands to its owner, and when: one value, or one reason, once.

import { invariant } from "../../process/invariant.js";
import { type ExitReason, isOrderly } from "../../process/reason.js";

/** How a task ended. */
export type TaskOutcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: ExitReason };

export interface TaskState {
  /** How the task ended; undefined while it runs. */
  readonly outcome: TaskOutcome | undefined;
  /** Whether the owner has asked: not yet, asks now, or got its answer. */
  readonly claim: "free" | "waiting" | "used";
}

export type TaskEvent =
  | { readonly type: "awaited" }
  /** `owner`: dies of this end, learns of it in another way than by awaiting, or does not. */
  | {
      readonly type: "ended";
      readonly outcome: TaskOutcome;
      readonly owner: "dies" | "learns" | "apart";
    }
  /** The timeout or the AbortSignal of the wait. */
  | { readonly type: "gave-up"; readonly onTimeout: "kill" | "leave" }
  /** The owner has ended, and with it its waits. */
  | { readonly type: "orphaned"; readonly isLinked: boolean };

export type TaskEffect =
  | { readonly type: "settle"; readonly outcome: TaskOutcome }
  | { readonly type: "kill" }
  | { readonly type: "shut-down" }
  /** No owner learns of this failure, so it is reported. */
  | { readonly type: "report"; readonly reason: ExitReason };

export const initial: TaskState = { outcome: undefined, claim: "free" };

const NONE: readonly TaskEffect[] = [];

export function decide(state: TaskState, event: TaskEvent): readonly [TaskState, readonly TaskEffect[]] {
  const { outcome, claim } = state;
  switch (event.type) {
    case "awaited":
      invariant(claim === "free", "a task is awaited once at a time");
      if (outcome === undefined) return [{ outcome, claim: "waiting" }, NONE];
      return [{ outcome, claim: "used" }, [{ type: "settle", outcome }]];
    case "ended": {
      const { outcome: now, owner } = event;
      if (outcome !== undefined) return [state, NONE];
      // The death of the owner ends its wait.
      if (owner === "dies") return [{ outcome: now, claim }, NONE];
      if (claim === "waiting") return [{ outcome: now, claim: "used" }, [{ type: "settle", outcome: now }]];
      // A kill is deliberate. After a timeout the owner knows.
      const isReported =
        !now.ok &&
        claim === "free" &&
        owner === "apart" &&
        now.reason.type !== "killed" &&
        !isOrderly(now.reason);
      return [{ outcome: now, claim }, isReported ? [{ type: "report", reason: now.reason }] : NONE];
    }
    case "gave-up":
      if (claim !== "waiting") return [state, NONE];
      if (event.onTimeout === "leave") return [{ outcome, claim: "free" }, NONE];
      return [{ outcome, claim: "used" }, [{ type: "kill" }]];
    case "orphaned": {
      const isOver = outcome !== undefined || !event.isLinked;
      // From now on no owner waits for the task. If it goes on, its crash is reported.
      return [{ outcome, claim: event.isLinked ? "used" : "free" }, isOver ? NONE : [{ type: "shut-down" }]];
    }
    default:
      return event satisfies never;
  }
}

// The staff of the hospital: each diagnoses an error, and the diagnosis with the highest priority counts. The default staff and
// their rules are those of Corda's StaffedFlowHospital; the rules for journals and crashes are new.

import { showCause } from "../../process/show.js";
import type { Suspension, Visit } from "./record.js";
import type { Symptom, SymptomKind } from "./symptom.js";

/**
 * The diagnosis of a member of the staff about an error, from the highest priority to the lowest:
 *
 * - `resuscitate`: run the flow again from its last checkpoint at once, even if others disagree
 * - `terminal`: nothing can help; the flow fails
 * - `discharge`: run the flow again from its last checkpoint, after the hospital's backoff or after `afterMs`
 * - `observe`: keep the flow until a person acts
 * - `not-my-specialty`: ask others
 */
export type Diagnosis =
  | "resuscitate"
  | "terminal"
  | "discharge"
  | { readonly type: "discharge"; readonly afterMs: number }
  | "observe"
  | "not-my-specialty";

/** The knowledge of a member of the staff about a flow, beside its error. */
export interface Chart {
  /** The id of the flow. */
  readonly flow: string;
  /** The name of the definition of the flow. */
  readonly definition: string;
  /** Where the flow is. */
  readonly suspension: Suspension;
  /** How often this member of the staff has discharged the flow since it last made progress. */
  readonly discharged: number;
  /** How often the flow was discharged since it last made progress, by any member of the staff. */
  readonly discharges: number;
  /** The last visits of the flow, from old to new. */
  readonly visits: readonly Visit[];
}

/**
 * A member of the staff.
 *
 * @example
 * const patient: StaffMember = {
 *   name: "payments",
 *   diagnose: (symptom, chart) =>
 *     symptom.name === "PaymentServiceDown" && chart.discharged < 10 ? { type: "discharge", afterMs: 60_000 } : "not-my-specialty",
 * };
 */
export interface StaffMember {
  /** Unique in the staff. Under this name discharges are counted. */
  readonly name: string;
  /**
   * Says what to do about an error. The same arguments must give the same answer. One that throws, or answers something else than a
   * diagnosis, is not asked about this error, and a warning is emitted.
   */
  diagnose(symptom: Symptom, chart: Chart): Diagnosis;
}

/** From the highest priority to the lowest. */
const PRIORITIES = ["resuscitate", "terminal", "discharge", "observe", "not-my-specialty"] as const;

/** The joint finding of the staff. */
export interface Consultation {
  readonly diagnosis: (typeof PRIORITIES)[number];
  /** The members of the staff that made this diagnosis. */
  readonly by: readonly string[];
  /** The wait for which the first of them asked. */
  readonly afterMs?: number;
  /** The members of the staff that could not answer, and the reasons. */
  readonly failed: readonly { readonly staff: string; readonly message: string }[];
}

/** Asks the whole staff. Never throws. */
export function consult(
  staff: readonly StaffMember[],
  symptom: Symptom,
  chart: Omit<Chart, "discharged">,
  counts: Readonly<Record<string, number>>,
): Consultation {
  let best: number = PRIORITIES.indexOf("not-my-specialty");
  let by: string[] = [];
  let afterMs: number | undefined;
  const failed: { staff: string; message: string }[] = [];
  for (const member of staff) {
    const answer = asked(member, symptom, { ...chart, discharged: counts[member.name] ?? 0 });
    if ("message" in answer) failed.push({ staff: member.name, message: answer.message });
    else if (answer.priority < best) {
      best = answer.priority;
      by = [member.name];
      afterMs = answer.afterMs;
    } else if (answer.priority === best) by.push(member.name);
  }
  const diagnosis = PRIORITIES[best] as Consultation["diagnosis"];
  if (diagnosis === "not-my-specialty") by = [];
  return { diagnosis, by, ...(afterMs === undefined ? {} : { afterMs }), failed };
}

type Answer =
  | { readonly priority: number; readonly afterMs: number | undefined }
  | { readonly message: string };

function asked(member: StaffMember, symptom: Symptom, chart: Chart): Answer {
  try {
    const answer: unknown = member.diagnose(symptom, chart);
    const { type, afterMs } =
      typeof answer === "object" && answer !== null
        ? (answer as { type?: unknown; afterMs?: unknown })
        : { type: answer, afterMs: undefined };
    const priority = (PRIORITIES as readonly unknown[]).indexOf(type);
    if (priority < 0) return { message: `diagnose must return one of ${PRIORITIES.join(", ")}` };
    if (afterMs === undefined) return { priority, afterMs };
    if (typeof afterMs === "number" && afterMs >= 0 && Number.isFinite(afterMs)) return { priority, afterMs };
    return { message: "afterMs must be a number of milliseconds, 0 or more" };
  } catch (error) {
    return { message: showCause(error) };
  }
}

/** A member of the staff that treats only symptoms of these kinds. */
function specialist(
  name: string,
  kinds: readonly SymptomKind[],
  diagnose: (chart: Chart) => Diagnosis,
): StaffMember {
  return {
    name,
    diagnose: (symptom, chart) => (kinds.includes(symptom.kind) ? diagnose(chart) : "not-my-specialty"),
  };
}

/** Discharges so often, then observes. */
const upTo =
  (times: number) =>
  ({ discharged }: Chart): Diagnosis =>
    discharged < times ? "discharge" : "observe";

/** The first wait of a flow that ended the program, and the longest: each is twice as long as the one before. */
const CRASH_WAIT_MS = 60_000;
const CRASH_WAIT_MOST_MS = 3_600_000;

/** Evidence does not fail a flow for good: the flow runs again after a wait, and comes back if it ends the program once more. */
function afterCrashes({ discharged }: Chart): Diagnosis {
  return { type: "discharge", afterMs: Math.min(CRASH_WAIT_MOST_MS, CRASH_WAIT_MS * 2 ** discharged) };
}

/** How often the default staff discharges a flow whose error may be chronic. */
const CHRONIC = 3;

/** The staff of every hospital. Staff of the user's own comes before it. */
export const DEFAULT_STAFF: readonly StaffMember[] = [
  specialist("deadlock", ["deadlock"], () => "discharge"),
  specialist("constraint", ["constraint"], upTo(CHRONIC)),
  specialist("timeout", ["timeout"], () => "discharge"),
  specialist("connection", ["connection"], () => "discharge"),
  specialist("exhausted", ["exhausted"], () => "discharge"),
  specialist("server", ["server"], upTo(CHRONIC)),
  specialist("store", ["store"], () => "observe"),
  specialist("engine", ["engine"], upTo(CHRONIC)),
  specialist("divergence", ["divergence"], () => "observe"),
  specialist("quarantine", ["payload", "definition"], () => "observe"),
  specialist("crash-loop", ["crash-loop"], afterCrashes),
  specialist("request", ["requested"], () => "observe"),
  specialist("final", ["final"], () => "terminal"),
];

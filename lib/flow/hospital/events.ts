// How a hospital tells what it does: the event `hospital` of its system, and reports that are printed.

import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import { pathOf } from "../../process/report.js";
import type { DischargedBy, HospitalEffect } from "./hospital-machine.js";
import type { HospitalRecord } from "./record.js";

/** An event of a flow in the hospital, or of the hospital itself. */
export type HospitalReport =
  /** The flow runs again. `by`: the staff, its timer, a person, other code, the start of a host, or the recovery of the store. */
  | {
      readonly type: "discharged";
      /** The id of the flow. */
      readonly flow: string;
      /** The cause of the discharge. */
      readonly by: DischargedBy;
      /** Its record in the hospital. */
      readonly record: HospitalRecord;
    }
  /** The flow runs again at `dueAt`, milliseconds since 1970. */
  | {
      readonly type: "waits";
      /** The id of the flow. */
      readonly flow: string;
      /** When it runs again, in milliseconds since 1970. */
      readonly dueAt: number;
      /** Its record in the hospital. */
      readonly record: HospitalRecord;
    }
  /** The flow is kept until a person acts. */
  | { readonly type: "observed"; readonly flow: string; readonly record: HospitalRecord }
  /** The flow has failed for good. */
  | { readonly type: "failed"; readonly flow: string; readonly record: HospitalRecord }
  /** A member of the staff threw, or gave no diagnosis. */
  | {
      readonly type: "staff-failed";
      /** The id of the flow. */
      readonly flow: string;
      /** The name of the member of the staff. */
      readonly staff: string;
      /** Its error, as text. */
      readonly message: string;
    }
  /** The store has flows for which this host has no definition. They stay where they are. */
  | { readonly type: "unknown"; readonly flows: readonly UnknownFlows[] };

/** Flows of one definition that the host does not have. */
export interface UnknownFlows {
  /** The name of the definition. */
  readonly name: string;
  /** The version of the definition that is missing. */
  readonly version: number;
  /** How many there are that have not ended. */
  readonly count: number;
}

declare module "../../process/events.js" {
  interface SystemEventMap {
    /** A flow host's hospital treats a flow, or the host finds flows that it cannot run. */
    hospital: [HospitalReport & { readonly host: Pid }];
  }
}

/** The event that reports an effect. */
export function eventOf(effect: HospitalEffect): HospitalReport {
  switch (effect.type) {
    case "discharge":
      return { type: "discharged", flow: effect.flow, by: effect.by, record: effect.record };
    case "wait":
      return { type: "waits", flow: effect.flow, dueAt: effect.dueAt, record: effect.record };
    case "observe":
      return { type: "observed", flow: effect.flow, record: effect.record };
    case "fail":
      return { type: "failed", flow: effect.flow, record: effect.record };
    case "staff-failed":
      return effect;
    default:
      return effect satisfies never;
  }
}

/** Emits an event, and prints it if people should know. */
export function tell(kernel: Kernel, host: Pid, event: HospitalReport): void {
  if (kernel.events.wants.hospital) kernel.events.publish("hospital", { ...event, host });
  if (!kernel.reports.admits("hospital")) return;
  const isBad = event.type !== "discharged" && event.type !== "waits";
  const path = "flow" in event ? `${pathOf(host)}/${event.flow}` : pathOf(host);
  kernel.reports.write({
    level: isBad ? "error" : "warn",
    event: "hospital",
    pid: host,
    path,
    text: `${host} ${textOf(event)}`,
  });
}

function textOf(event: HospitalReport): string {
  switch (event.type) {
    case "discharged":
      return `runs flow "${event.flow}" again (${event.by}) after ${why(event.record)}`;
    case "waits": {
      const [visit] = event.record.visits.slice(-1);
      return `runs flow "${event.flow}" again in ${Math.round(visit?.afterMs ?? 0)} ms after ${why(event.record)}`;
    }
    case "observed":
      return `keeps flow "${event.flow}" in the hospital until it is discharged: ${why(event.record)}`;
    case "failed":
      return `flow "${event.flow}" has failed: ${why(event.record)}`;
    case "staff-failed":
      return `the staff member "${event.staff}" gave no diagnosis for flow "${event.flow}": ${event.message}`;
    case "unknown": {
      const lines = event.flows.map(
        ({ name, version, count }) => `\n  ${count} of "${name}" version ${version}`,
      );
      return `does not run flows whose definitions it does not have; add them to its option flows:${lines.join("")}`;
    }
    default:
      return event satisfies never;
  }
}

function why({ symptom, suspension, by }: HospitalRecord): string {
  return `${symptom.kind} at ${suspension.name} (entry ${suspension.position}; decided by ${by.join(", ")}): ${symptom.name}: ${symptom.message}`;
}

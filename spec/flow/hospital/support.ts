// A hospital that a test drives by hand, and what a naive host would know about its flows.

import {
  decide,
  type HospitalEffect,
  type HospitalEvent,
  type HospitalState,
  initial,
  type PatientFilter,
} from "../../../lib/flow/hospital/hospital-machine.js";
import { checkHospital, type HospitalOptions } from "../../../lib/flow/hospital/options.js";
import type { Symptom, SymptomKind } from "../../../lib/flow/hospital/symptom.js";

type Act = Exclude<HospitalEffect, { type: "staff-failed" }>;

export function symptom(kind: SymptomKind, more: Partial<Symptom> = {}): Symptom {
  return { kind, name: "Error", message: `a ${kind}`, ...more };
}

/** The same hospital once more: `decide` updates its tables in place. */
export function copyOf(state: HospitalState): HospitalState {
  const { waiting, observed, failing, out } = state.byStatus;
  return {
    config: state.config,
    patients: new Map(state.patients),
    runs: state.runs,
    byStatus: {
      waiting: new Set(waiting),
      observed: new Set(observed),
      failing: new Set(failing),
      out: new Set(out),
    },
  };
}

interface Failure {
  readonly flow?: string;
  readonly position?: number;
  readonly name?: string;
  readonly onError?: "fail" | "hospital";
  readonly random?: number;
}

export class Driven {
  state: HospitalState;
  now = 1_000;
  run = 0;
  /** All effects so far, those for people apart. */
  readonly notices: HospitalEffect[] = [];

  constructor(options: HospitalOptions = {}) {
    this.state = initial(checkHospital("hospital", options).config);
  }

  send(event: HospitalEvent): Act[] {
    const [state, effects] = decide(this.state, event);
    this.state = state;
    this.notices.push(...effects.filter(({ type }) => type === "staff-failed"));
    return effects.filter((effect): effect is Act => effect.type !== "staff-failed");
  }

  /** A new run of a flow fails. Returns what becomes of the flow, and the wait if there is one. */
  fail(
    kind: SymptomKind | Symptom,
    { flow = "f", position = 1, onError = "fail", random = 0.5, name = "pay" }: Failure = {},
  ): string {
    const effects = this.send({
      type: "admitted",
      flow,
      definition: "checkout",
      code: "1",
      run: ++this.run,
      symptom: typeof kind === "string" ? symptom(kind) : kind,
      suspension: { name, position },
      onError,
      now: this.now,
      random,
    });
    return effects.map((one) => (one.type === "wait" ? `wait ${one.dueAt - this.now}` : one.type)).join(", ");
  }

  due(flow = "f"): string {
    return told(this.send({ type: "due", flow, now: this.now }));
  }

  discharge(filter: PatientFilter): string {
    return told(this.send({ type: "discharged", filter }));
  }

  ward(flow = "f"): string | undefined {
    return this.state.patients.get(flow)?.status;
  }
}

export function told(effects: readonly Act[]): string {
  return effects.map((one) => `${one.type} ${one.flow}`).join(", ");
}

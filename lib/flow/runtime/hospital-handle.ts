// The hospital of a host, from outside.

import type { CallRules } from "../../host/index.js";
import { only } from "../../process/known-options.js";
import { count, oneOf, text } from "../../process/options.js";
import type { CallOptions } from "../../process/request.js";
import type { UnknownFlows } from "../hospital/events.js";
import type { PatientFilter } from "../hospital/hospital-machine.js";
import type { PatientInfo } from "../hospital/patients.js";
import { SYMPTOM_KINDS } from "../hospital/symptom.js";
import { type HospitalAsk, once } from "./messages.js";

type Asker = (ask: HospitalAsk, options?: CallOptions, rules?: CallRules) => Promise<unknown>;

const PATIENTS = 1_000;

/** Flows in the hospital, in the order of their starts. */
export interface Patients extends Array<PatientInfo> {
  /** There are others that the filter means, beyond the limit. */
  readonly more: boolean;
}

/**
 * The flow hospital: which flows are in it, and how they leave it. All of it works while flows run, and on the flows of all hosts that
 * share the store.
 *
 * @example
 * async function tryAgain(flows: FlowHost): Promise<void> {
 *   for (const { id, record } of await flows.hospital.patients()) console.log(id, record?.symptom.message);
 *   await flows.hospital.discharge({ kind: "divergence" });
 * }
 */
export class FlowHospital {
  readonly #ask: Asker;

  /** @internal */
  constructor(ask: Asker) {
    this.#ask = ask;
  }

  /**
   * The flows in the hospital, those that started first before others. `more` of the result says that there are others beyond the limit.
   *
   * @param filter - only flows that have all of these; default all
   * @param limit - most flows, 1 or more; default 1,000
   * @throws OptionError, CallTimeoutError, StoreError
   */
  async patients(
    filter: PatientFilter = {},
    given: CallOptions & { readonly limit?: number } = {},
  ): Promise<Patients> {
    only("", given, ["limit", "timeoutMs", "signal", "withdraw"]);
    const { limit = PATIENTS, ...options } = given;
    const ask: HospitalAsk = {
      type: "patients",
      filter: checkFilter(filter),
      // One more than is given, to know whether there is one.
      limit: count("limit", limit, 1) + 1,
    };
    const found = (await this.#ask(ask, options)) as PatientInfo[];
    const more = found.length > limit;
    return Object.defineProperty(found.slice(0, limit), "more", { value: more }) as Patients;
  }

  /**
   * Lets flows run again from their last checkpoints, at once: one by its id, or all that a filter means; `{}` means all. Gives their
   * ids. A flow that is not in the hospital is left alone.
   *
   * @throws OptionError, CallTimeoutError, StoreError
   */
  async discharge(which: string | PatientFilter, options?: CallOptions): Promise<string[]> {
    const filter = typeof which === "string" ? { flow: text("which", which) } : checkFilter(which);
    const id = filter.flow ?? "of the filter";
    return (await this.#ask({ type: "discharge", filter }, options, once("discharge", id))) as string[];
  }

  /**
   * Stops a flow where it is and keeps it until it is discharged. A step that runs is aborted, and runs again after that.
   * Fulfilled when the request is durable. A flow that has ended is left alone.
   *
   * @param reason - for the person who looks at it later
   * @throws FlowNotFoundError, CallTimeoutError, StoreError
   */
  async observe(id: string, reason: string, options?: CallOptions): Promise<void> {
    const ask: HospitalAsk = { type: "observe", id: text("id", id), reason: text("reason", reason) };
    await this.#ask(ask, options, once("observation", id));
  }

  /**
   * The flows in the store that this host cannot run, because it does not have their definitions, by name and version.
   *
   * @throws CallTimeoutError, StoreError
   */
  async unknown(options?: CallOptions): Promise<UnknownFlows[]> {
    return (await this.#ask({ type: "unknown" }, options)) as UnknownFlows[];
  }
}

const FILTER = ["flow", "definition", "code", "kind"] as const;

function checkFilter(filter: PatientFilter): PatientFilter {
  only("filter", filter, FILTER);
  for (const name of ["flow", "definition", "code"] as const)
    if (filter[name] !== undefined) text(`filter.${name}`, filter[name]);
  if (filter.kind !== undefined) oneOf("filter.kind", filter.kind, SYMPTOM_KINDS);
  return filter;
}

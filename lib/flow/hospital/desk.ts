// The hospital of one flow host: turns what happens to flows into events of its machine, and carries out what the machine decides.
// Flows that wait or are observed are in the store and have no holder, so any host may discharge them.

import type { Background } from "../../host/background/background.js";
import { isHostOver } from "../../host/index.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import { hash } from "../../process/stable-hash.js";
import { type Claim, ConflictError, type Store, type Write } from "../../store/index.js";
import type { FlowDefinition } from "../definition/define.js";
import { asFound, END_TOPIC, type FlowRow, flows } from "../journal/tables.js";
import { roomTopics } from "../queues/queues.js";
import { eventOf, type HospitalReport, tell } from "./events.js";
import {
  type Admitted,
  type DischargedBy,
  decide,
  type HospitalEffect,
  type HospitalEvent,
  type HospitalState,
  initial,
  isFinal,
  type PatientFilter,
} from "./hospital-machine.js";
import type { HospitalSettings } from "./options.js";
import { decideFor, dischargeSet, patientRows } from "./patients.js";
import { type HospitalRecord, parseRecord, type Suspension } from "./record.js";
import { type SymptomKind, symptomOf } from "./symptom.js";

/** What the hospital uses of its host. */
export interface DeskPort {
  readonly kernel: Kernel;
  readonly pid: Pid;
  readonly store: Store;
  readonly claim: Claim;
  readonly background: Background;
  /** Milliseconds since 1970 by the store's clock. */
  now(): number;
  /** Runs a flow again. */
  rerun(row: FlowRow): void;
  /** Makes the failure of a flow durable, for all who wait for it. @throws ConflictError when the flow is another's by now */
  fail(row: FlowRow, error: unknown): Promise<void>;
  /** A flow wants to run at that time. */
  alarmAt(at: number): void;
}

/** A flow that failed. */
export interface Failure {
  /** As it is in the store now. */
  readonly row: FlowRow;
  readonly definition: FlowDefinition<never> | undefined;
  /** Of this run: grows with every run of this host. */
  readonly run: number;
  readonly suspension: Suspension;
  readonly error: unknown;
  /** What the host knows about the error. */
  readonly kind?: SymptomKind | undefined;
  /** The wish that its stay in the hospital fulfils. Others that came meanwhile stay in its row. */
  readonly wish?: string;
  /** The decision about the flow is durable. */
  stored?(): void;
}

/** The start of a wish to put a flow under observation; the reason follows. */
export const OBSERVE = "observe ";

function isOver(error: unknown): boolean {
  return error instanceof ConflictError || isHostOver(error);
}

/** Names the code of a definition: other code is a reason to try again. */
export function codeOf({ version, body }: FlowDefinition<never>): string {
  return `${version}/${hash(String(body)).toString(36)}`;
}

export class HospitalDesk {
  readonly #settings: HospitalSettings;
  readonly #port: DeskPort;
  #state: HospitalState;

  constructor(settings: HospitalSettings, port: DeskPort) {
    this.#settings = settings;
    this.#port = port;
    this.#state = initial(settings.config);
  }

  /** Whether an error that the code of a flow did not catch is the hospital's; else the flow fails at once. */
  takes(failure: Failure): boolean {
    return !isFinal(this.#state, this.#admission(failure, 0));
  }

  /** A flow has failed, or cannot run at all. */
  admit(failure: Failure): void {
    this.#send(failure, this.#admission(failure, this.#port.kernel.env.random()));
  }

  #admission({ row, definition, run, suspension, error, kind }: Failure, random: number): Admitted {
    return {
      type: "admitted",
      flow: row.id,
      definition: row.name,
      ...(definition === undefined ? {} : { code: codeOf(definition) }),
      run,
      symptom: symptomOf(error, kind),
      suspension,
      onError: definition?.options.onError ?? this.#settings.onError,
      now: this.#port.now(),
      random,
    };
  }

  /** Puts a flow under observation, by a wish. Its run, if there is one, has been ended. */
  observe(failure: Omit<Failure, "error">, reason: string): void {
    const { row, definition, run, suspension } = failure;
    this.#send(
      { ...failure, error: undefined, wish: OBSERVE + reason },
      {
        type: "observed",
        flow: row.id,
        definition: row.name,
        ...(definition === undefined ? {} : { code: codeOf(definition) }),
        run,
        reason,
        suspension,
        now: this.#port.now(),
      },
    );
  }

  /** A flow that has a record runs again: the counts of its record go on. */
  remember(row: FlowRow): void {
    const record = parseRecord(row.hospital ?? undefined);
    if (record === undefined || this.#state.patients.has(row.id)) return;
    const found: HospitalEvent = {
      type: "restored",
      flow: row.id,
      isIn: false,
      record,
      now: this.#port.now(),
    };
    [this.#state] = decide(this.#state, found);
  }

  /** A flow of this host is on its way into the hospital, or to its end: whether it is there yet, the store says later. */
  isAdmitting(flow: string): boolean {
    const ward = this.#state.patients.get(flow)?.ward;
    return ward !== undefined && ward !== "out";
  }

  /** The flow is not this host's any more. */
  left(flow: string): void {
    [this.#state] = decide(this.#state, { type: "left", flow });
  }

  /**
   * Whether a flow in the hospital without a holder may run. Returns the record with which it may run now; a number: it may not run
   * before that time; undefined: it may not run before a person acts.
   */
  dueOf(row: FlowRow): HospitalRecord | number | undefined {
    const now = this.#port.now();
    const event: HospitalEvent = { type: "due", flow: row.id, now };
    const effects = decideFor({ ...this.#settings.config, atStart: "keep" }, row, now, event);
    for (const effect of effects) {
      if (effect.type === "wait") return effect.dueAt;
      if (effect.type !== "discharge") continue;
      this.#tell(effect);
      return effect.record;
    }
    return undefined;
  }

  /** Lets the flows go that a filter means. Gives their ids. */
  async discharge(filter: PatientFilter, by: DischargedBy = "hand"): Promise<string[]> {
    const ids: string[] = [];
    for await (const row of patientRows(this.#port.store, filter)) {
      if (!(await this.#letGo(row))) continue;
      ids.push(row.id);
      const record = parseRecord(row.hospital ?? undefined);
      if (record !== undefined) this.#tell({ type: "discharge", flow: row.id, by, record });
    }
    return ids;
  }

  /** False: another was faster. */
  async #letGo(row: FlowRow): Promise<boolean> {
    const { store, claim } = this.#port;
    const config = { ...this.#settings.config, atStart: "keep" as const };
    try {
      await store.commit({ ...dischargeSet(config, row, this.#port.now()), claim });
      return true;
    } catch (error) {
      if (error instanceof ConflictError) return false;
      throw error;
    }
  }

  /** The host starts: discharges the observed flows whose code has changed, or all of them if the rule says so. */
  async open(find: (name: string, version: number) => FlowDefinition<never> | undefined): Promise<void> {
    for await (const row of patientRows(this.#port.store, {})) {
      const definition = find(row.name, row.version);
      if (definition === undefined) continue;
      const [effect] = decideFor(this.#settings.config, row, this.#port.now(), undefined, codeOf(definition));
      // A flow that waits runs again when it is due, as any flow does.
      if (effect?.type !== "discharge" || effect.by === "timer") continue;
      if (await this.#letGo(row)) this.#tell(effect);
    }
  }

  #send(failure: Failure, event: HospitalEvent): void {
    const [state, effects] = decide(this.#state, event);
    this.#state = state;
    for (const effect of effects) {
      this.#tell(effect);
      this.#carryOut(failure, effect);
    }
  }

  #tell(effect: HospitalEffect): void {
    const event: HospitalReport | undefined = eventOf(effect);
    if (event !== undefined) tell(this.#port.kernel, this.#port.pid, event);
  }

  #carryOut(failure: Failure, effect: HospitalEffect): void {
    const { row, error, wish } = failure;
    switch (effect.type) {
      case "discharge":
        failure.stored?.();
        this.#port.rerun(row);
        return;
      case "wait":
        this.#persist(failure, () => this.#keep(row, effect.record, effect.dueAt, wish));
        return;
      case "observe":
        this.#persist(failure, () => this.#keep(row, effect.record, null, wish));
        return;
      case "fail":
        this.#persist(failure, () => this.#port.fail(row, error));
        return;
      case "cancel":
      case "notify":
        return;
      default:
        effect satisfies never;
    }
  }

  /** Writes until it is durable: no host would take care of a flow whose end or stay is not stored. */
  #persist({ row, stored }: Failure, write: () => Promise<void>): void {
    const left = (): void => this.left(row.id);
    const writing = async (): Promise<void> => {
      await write();
      stored?.();
    };
    // Another host has it, it was changed from outside, or the host has ended.
    this.#port.background
      .until(`hospital ${row.number}`, writing, (error) => !isOver(error))
      .then(left, left);
  }

  async #keep(row: FlowRow, record: HospitalRecord, due: number | null, wish?: string): Promise<void> {
    const { store, claim } = this.#port;
    const of = { table: flows, key: [row.number] } as const;
    const hospital = JSON.stringify(record);
    const set = {
      status: "hospitalized",
      slot: null,
      holder: null,
      due,
      hospital,
      updated: this.#port.now(),
    };
    const onWish = (is: string, then: Partial<FlowRow>): Write => ({
      ...{ type: "when", ...of, is: { wish: is } },
      writes: [{ type: "update", ...of, set: then }],
    });
    const { results } = await store.commit({
      claim,
      expect: [{ ...of, is: asFound(row) }],
      writes: [
        { type: "update", ...of, set },
        // A kill came while the flow was on its way here: the flow is due now.
        onWish("kill", { due: 0 }),
        ...(wish === undefined ? [] : [onWish(wish, { wish: null })]),
      ],
      // A flow that stands still notifies the waits for its end.
      notify: [...roomTopics(row), ...(due === null ? [END_TOPIC + row.id] : [])],
    });
    if (results[1] === 1) this.#port.alarmAt(this.#port.now());
    else if (due !== null) this.#port.alarmAt(due);
  }
}

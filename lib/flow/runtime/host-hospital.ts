// The hospital of a flow host: turns what happens to flows into events of its machine, and carries out what the machine decides. Flows
// that wait or are observed are in the store and have no holder, so any host may discharge them.

import { isHostOver } from "../../host/index.js";
import { type ExitReason, formatReason } from "../../process/reason.js";
import { hash } from "../../process/stable-hash.js";
import { ConflictError, type Write } from "../../store/index.js";
import type { FlowDefinition } from "../definition/define.js";
import { CrashLoopError } from "../hospital/errors.js";
import { eventOf, tell, type UnknownFlows } from "../hospital/events.js";
import {
  type Admitted,
  begin,
  countCrashes,
  type DischargedBy,
  decide,
  type HospitalEffect,
  type HospitalEvent,
  type HospitalState,
  initial,
  isFinal,
  type PatientFilter,
} from "../hospital/hospital-machine.js";
import { decideFor, dischargeSet, type PatientInfo, patientOf, patientRows } from "../hospital/patients.js";
import { type HospitalRecord, parseRecord, type Suspension } from "../hospital/record.js";
import { type SymptomKind, symptomOf } from "../hospital/symptom.js";
import { countUnknown } from "../hospital/unknown.js";
import { decided, rowGets, rowIs } from "../journal/changes.js";
import type { Stored } from "../journal/entry.js";
import { asFound, END_TOPIC, type FlowRow, flows, REQUEST_TOPIC } from "../journal/tables.js";
import { freeSlotTopics } from "../queues/queues.js";
import { bareEnd, noteOf } from "./checkpoint.js";
import type { HostState } from "./host-state.js";
import type { HospitalAsk } from "./messages.js";
import { rowOf } from "./reading.js";
import type { Loaded } from "./runs.js";

type Definition = Pick<FlowDefinition<never>, "name" | "version">;

/** A flow that failed. */
interface Failure {
  /** As it is in the store now. */
  readonly row: FlowRow;
  /** Of this run: grows with every run of this host. */
  readonly run: number;
  readonly suspension: Suspension;
  readonly error: unknown;
  /** The kind of the error, if the host knows it. */
  readonly kind?: SymptomKind | undefined;
  /** The request that its stay in the hospital fulfils. Others that came meanwhile stay in its row. */
  readonly request?: string;
  /** The decision about the flow is durable. */
  stored?(): void;
}

/** The start of a request to put a flow under observation; the reason follows. */
export const OBSERVE = "observe ";

function isOver(error: unknown): boolean {
  return error instanceof ConflictError || isHostOver(error);
}

const NOWHERE: Suspension = { name: "start", position: 0 };

/** A flow as the evidence of crashes names it. */
export function subjectOf(flow: string): string {
  return `flow:${flow}`;
}

/** Names the code of a definition: other code is a reason to try again. */
function codeOf({ version, body }: FlowDefinition<never>): string {
  return `${version}/${hash(String(body)).toString(36)}`;
}

export class HostHospital {
  readonly #host: HostState;
  #state: HospitalState;
  #isOpen = false;
  readonly #unknown = new Set<string>();

  constructor(host: HostState) {
    this.#host = host;
    this.#state = initial(host.settings.hospital.config);
  }

  /** What the start of the host decides about flows in the hospital is done. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The host starts: discharges flows by rule, and reports the flows that it cannot run. @throws StoreError */
  async open(definitions: readonly Definition[]): Promise<void> {
    await this.#dischargeByRule();
    const { store, kernel, ctx } = this.#host;
    const unknown = await countUnknown(store, definitions);
    for (const one of unknown) this.#unknown.add(`${one.name}/${one.version}`);
    this.#isOpen = true;
    if (unknown.length > 0) tell(kernel, ctx.self, { type: "unknown", flows: unknown });
  }

  /** Discharges the observed flows whose code has changed, or all of them if the rule says so. */
  async #dischargeByRule(): Promise<void> {
    for await (const row of patientRows(this.#host.store, {})) {
      const code = this.#codeOf(row);
      if (code === undefined) continue;
      const [effect] = decideFor(this.#host.settings.hospital.config, row, this.#host.now(), undefined, code);
      // A flow that waits runs again when it is due, as any flow does.
      if (effect?.type !== "discharge" || effect.by === "timer") continue;
      if (await this.#letGo(row)) this.#tell(effect);
    }
  }

  /** Reports a flow whose definition the host does not have, once for each definition. */
  unknown({ name, version }: FlowRow): void {
    const key = `${name}/${version}`;
    // At the start all of them are counted.
    if (!this.#isOpen || this.#unknown.has(key)) return;
    this.#unknown.add(key);
    const met: UnknownFlows = { name, version, count: 1 };
    tell(this.#host.kernel, this.#host.ctx.self, { type: "unknown", flows: [met] });
  }

  /** The number of a run that begins. */
  begin(row: FlowRow): number {
    if (row.hospital !== null) this.#remember(row);
    return begin(this.#state);
  }

  /** Whether an error that the code of a flow did not catch is the hospital's; else the flow fails at once. */
  isForHospital(
    row: FlowRow,
    error: unknown,
    suspension: Suspension,
    kind: SymptomKind | undefined,
  ): boolean {
    const failure = { row, run: this.#state.runs + 1, suspension, error, kind };
    return !isFinal(this.#state, this.#admission(failure, 0));
  }

  /** The code of a flow's definition, if the host has it. */
  #codeOf({ name, version }: FlowRow): string | undefined {
    const definition = this.#host.definition(name, version);
    return definition && codeOf(definition);
  }

  /** The process of a flow has ended, and not because the flow has ended or left memory. */
  failed({ row, process, run }: Loaded, reason: ExitReason): void {
    if (process.hasLostHost) return;
    const isCrash = reason.type === "crash";
    // Without a crash the process was killed: the flow's code is not the cause.
    const error = isCrash ? reason.error : new Error(`the flow's process was ended: ${formatReason(reason)}`);
    this.#admit({
      row,
      run,
      suspension: process.suspension,
      error,
      kind: isCrash ? process.kindOf(error) : "engine",
    });
  }

  /** Puts a flow that ran here under observation, by request. Its process has been ended. */
  observeRun({ row, process, run }: Loaded, reason: string): void {
    this.#observe({ row, run, suspension: process.suspension }, reason);
  }

  /** A flow that no process runs cannot run. */
  quarantine(row: FlowRow, error: unknown, more: Pick<Failure, "kind" | "stored"> = {}): void {
    const suspension = { ...NOWHERE, position: row.taken_at };
    this.#admit({ row, run: begin(this.#state), suspension, error, ...more });
  }

  /** Puts a flow that does not run under observation, if its row requests that. Returns whether there is. */
  keepsByControl(row: FlowRow): boolean {
    if (!row.wish?.startsWith(OBSERVE)) return false;
    const suspension = { ...NOWHERE, position: row.taken_at };
    this.#observe({ row, run: begin(this.#state), suspension }, row.wish.slice(OBSERVE.length));
    return true;
  }

  /** A flow has failed, or cannot run at all. */
  #admit(failure: Failure): void {
    this.#send(failure, this.#admission(failure, this.#host.kernel.env.random()));
  }

  #admission({ row, run, suspension, error, kind }: Failure, random: number): Admitted {
    const definition = this.#host.definition(row.name, row.version);
    return {
      type: "admitted",
      flow: row.id,
      definition: row.name,
      ...(definition && { code: codeOf(definition) }),
      run,
      symptom: symptomOf(error, kind),
      suspension,
      onError: definition?.options.onError ?? this.#host.settings.hospital.onError,
      now: this.#host.now(),
      random,
    };
  }

  /** Puts a flow under observation, by request. Its run, if there is one, has been ended. */
  #observe(failure: Omit<Failure, "error">, reason: string): void {
    const { row, run, suspension } = failure;
    const code = this.#codeOf(row);
    this.#send(
      { ...failure, error: undefined, request: OBSERVE + reason },
      {
        type: "observed",
        flow: row.id,
        definition: row.name,
        ...(code === undefined ? {} : { code }),
        run,
        reason,
        suspension,
        now: this.#host.now(),
      },
    );
  }

  /** A flow that has a record runs again: the counts of its record go on. */
  #remember(row: FlowRow): void {
    const record = parseRecord(row.hospital ?? undefined);
    if (record === undefined || this.#state.patients.has(row.id)) return;
    const found: HospitalEvent = {
      type: "restored",
      flow: row.id,
      isIn: false,
      record,
      now: this.#host.now(),
    };
    [this.#state] = decide(this.#state, found);
  }

  /** A flow of this host is on its way into the hospital, or to its end: whether it is there yet, the store says later. */
  isAdmitting(flow: string): boolean {
    const status = this.#state.patients.get(flow)?.status;
    return status !== undefined && status !== "out";
  }

  // ── crashes ──────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * How many crashes of the program count against a flow that does not run, if the flow may run in spite of them. Undefined: it waits,
   * or it is in the hospital.
   */
  crashesOf(row: FlowRow, length: number): number | undefined {
    const { evidence } = this.#host;
    const subject = subjectOf(row.id);
    // Only a flow that a program left behind may have ended that program.
    const { mark, mayRun } =
      row.holder === null ? { mark: evidence.markOf(subject), mayRun: true } : evidence.find(subject);
    const before = row.taken_at === length ? row.crashes : 0;
    if (mark === undefined) return mayRun ? before : undefined;
    const { maxCrashes } = this.#host.settings.hospital;
    const crashes = countCrashes(before, mark, maxCrashes);
    if (crashes < maxCrashes) return mayRun ? crashes : undefined;
    if (row.hospital !== null) this.#remember(row);
    this.quarantine({ ...row, crashes }, new CrashLoopError(row.id, crashes, mark), {
      stored: () => evidence.taken(subject),
    });
    return undefined;
  }

  // ── patients ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** A hospitalized flow wants to be looked at. Gives its row if it may run now. */
  async patient(row: FlowRow): Promise<FlowRow | undefined> {
    if (row.wish === "kill") {
      await this.#end(row, "killed", null);
      return undefined;
    }
    if (row.due === null) return undefined;
    const due = this.#dueOf(row);
    if (due !== undefined && typeof due !== "number") return { ...row, hospital: JSON.stringify(due) };
    // Mail for the flow changed the time at which it is looked at.
    if (row.due !== (due ?? null)) await this.#setDue(row, due ?? null);
    else if (due !== undefined) this.#host.acquisition.alarmAt(due);
    return undefined;
  }

  /**
   * Whether a flow in the hospital without a holder may run. Returns the record with which it may run now; a number: it may not run
   * before that time; undefined: it may not run before a person acts.
   */
  #dueOf(row: FlowRow): HospitalRecord | number | undefined {
    const now = this.#host.now();
    const event: HospitalEvent = { type: "due", flow: row.id, now };
    const effects = decideFor({ ...this.#host.settings.hospital.config, atStart: "keep" }, row, now, event);
    for (const effect of effects) {
      if (effect.type === "wait") return effect.dueAt;
      if (effect.type !== "discharge") continue;
      this.#tell(effect);
      return effect.record;
    }
    return undefined;
  }

  async #setDue(row: FlowRow, due: number | null): Promise<void> {
    await this.#host.store.commit({
      claim: this.#host.claim,
      expect: [rowIs(row, { status: row.status, due: row.due, mail: row.mail })],
      writes: [rowGets(row, { due })],
    });
    if (due !== null) this.#host.acquisition.alarmAt(due);
  }

  /** Answers what the host is asked about its hospital. */
  async answer(ask: HospitalAsk, definitions: readonly Definition[]): Promise<unknown> {
    switch (ask.type) {
      case "patients": {
        const patients: PatientInfo[] = [];
        for await (const row of patientRows(this.#host.store, ask.filter)) {
          if (patients.push(patientOf(row)) >= ask.limit) break;
        }
        return patients;
      }
      case "discharge":
        return this.discharge(ask.filter);
      case "observe":
        return this.#requestObservation(ask.id, ask.reason);
      case "unknown":
        return countUnknown(this.#host.store, definitions);
      default:
        return ask satisfies never;
    }
  }

  /** Lets the flows go that a filter means. Gives their ids. */
  async discharge(filter: PatientFilter, by: DischargedBy = "hand"): Promise<string[]> {
    const ids: string[] = [];
    for await (const row of patientRows(this.#host.store, filter)) {
      if (!(await this.#letGo(row))) continue;
      ids.push(row.id);
      const record = parseRecord(row.hospital ?? undefined);
      if (record !== undefined) this.#tell({ type: "discharge", flow: row.id, by, record });
    }
    return ids;
  }

  /** False: another was faster. */
  async #letGo(row: FlowRow): Promise<boolean> {
    const { store, claim } = this.#host;
    const config = { ...this.#host.settings.hospital.config, atStart: "keep" as const };
    try {
      await store.commit({ ...dischargeSet(config, row, this.#host.now()), claim });
      return true;
    } catch (error) {
      if (error instanceof ConflictError) return false;
      throw error;
    }
  }

  /** Writes the request. The host that holds the flow, or takes it, carries the request out. */
  async #requestObservation(id: string, reason: string): Promise<void> {
    await decided(async () => {
      const row = await rowOf(this.#host.store, id);
      if (row.finished !== null || row.status === "hospitalized") return;
      const set = { wish: OBSERVE + reason, due: 0, updated: this.#host.now() };
      await this.#host.store.commit({
        claim: this.#host.claim,
        expect: [rowIs(row, asFound(row))],
        writes: [rowGets(row, set)],
        notify: [REQUEST_TOPIC + row.number],
      });
    });
  }

  // ── what the machine decides ─────────────────────────────────────────────────────────────────────────────────

  #send(failure: Failure, event: HospitalEvent): void {
    const [state, effects] = decide(this.#state, event);
    this.#state = state;
    for (const effect of effects) {
      this.#tell(effect);
      this.#carryOut(failure, effect);
    }
  }

  #tell(effect: HospitalEffect): void {
    tell(this.#host.kernel, this.#host.ctx.self, eventOf(effect));
  }

  #carryOut(failure: Failure, effect: HospitalEffect): void {
    const { row, error, request } = failure;
    switch (effect.type) {
      case "discharge":
        failure.stored?.();
        this.#host.acquisition.runAgain(row);
        return;
      case "wait":
        this.#persist(failure, () => this.#keep(row, effect.record, effect.dueAt, request));
        return;
      case "observe":
        this.#persist(failure, () => this.#keep(row, effect.record, null, request));
        return;
      case "fail":
        this.#persist(failure, () => this.#fail(row, error));
        return;
      case "staff-failed":
        return;
      default:
        effect satisfies never;
    }
  }

  /** Writes until it is durable: no host would take care of a flow whose end or stay is not stored. */
  #persist({ row, stored }: Failure, write: () => Promise<void>): void {
    const left = (): void => {
      [this.#state] = decide(this.#state, { type: "left", flow: row.id });
    };
    const writing = async (): Promise<void> => {
      await write();
      stored?.();
    };
    // Another host has it, it was changed from outside, or the host has ended.
    this.#host.background
      .until(`hospital ${row.number}`, writing, (error) => !isOver(error))
      .then(left, left);
  }

  async #keep(row: FlowRow, record: HospitalRecord, due: number | null, request?: string): Promise<void> {
    const { store, claim } = this.#host;
    const hospital = JSON.stringify(record);
    const set = {
      status: "hospitalized",
      slot: null,
      holder: null,
      due,
      hospital,
      updated: this.#host.now(),
    };
    const onRequest = (is: string, then: Partial<FlowRow>): Write => ({
      type: "when",
      table: flows,
      key: [row.number],
      is: { wish: is },
      writes: [rowGets(row, then)],
    });
    const { results } = await store.commit({
      claim,
      expect: [rowIs(row, asFound(row))],
      writes: [
        rowGets(row, set),
        // A kill came while the flow was on its way here: the flow is due now.
        onRequest("kill", { due: 0 }),
        ...(request === undefined ? [] : [onRequest(request, { wish: null })]),
      ],
      // A flow that stands still notifies the waits for its end.
      notify: [...freeSlotTopics(row), ...(due === null ? [END_TOPIC + row.id] : [])],
    });
    if (results[1] === 1) this.#host.acquisition.alarmAt(this.#host.now());
    else if (due !== null) this.#host.acquisition.alarmAt(due);
  }

  // ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────

  async #fail(row: FlowRow, error: unknown): Promise<void> {
    await this.#end(row, "failed", await this.#host.payloads.encodeThrown(error));
  }

  /** Ends a flow whose code does not run. */
  async #end(row: FlowRow, status: "failed" | "killed", value: Stored): Promise<void> {
    const { payloads, blobs } = this.#host;
    const what = `the end of flow ${row.id}`;
    const note = row.parent === null ? {} : { note: await noteOf(payloads, status, value, what) };
    const set = bareEnd(row, blobs, this.#host.now(), { status, value, ...note });
    const expect = [...(set.expect ?? []), rowIs(row, asFound(row))];
    await this.#host.store.commit({ ...set, expect, claim: this.#host.claim });
  }
}

// The hospital's place in a host: which flows come in, which may run, and how a flow fails for good.

import type { Background } from "../../host/background/background.js";
import type { Evidence } from "../../host/index.js";
import type { Values } from "../../host/payload/values.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import { type ExitReason, formatReason } from "../../process/reason.js";
import { type Claim, ConflictError, type Store } from "../../store/index.js";
import type { FlowDefinition } from "../definition/define.js";
import { type DeskPort, type Failure, HospitalDesk, OBSERVE } from "../hospital/desk.js";
import { CrashLoopError } from "../hospital/errors.js";
import { tell, type UnknownFlows } from "../hospital/events.js";
import type { HospitalSettings } from "../hospital/options.js";
import { type PatientInfo, patientOf, patientRows } from "../hospital/patients.js";
import type { Suspension } from "../hospital/record.js";
import type { SymptomKind } from "../hospital/symptom.js";
import { countUnknown } from "../hospital/unknown.js";
import type { BlobWriter } from "../journal/blobs.js";
import type { Stored } from "../journal/entry.js";
import { asFound, type FlowRow, flows, WISH_TOPIC } from "../journal/tables.js";
import type { Call } from "./call.js";
import { endSet } from "./checkpoint.js";
import { FlowNotFoundError } from "./errors.js";
import type { ChildEnd } from "./flow-code.js";
import type { FlowProcess } from "./flow-process.js";
import type { HospitalAsk } from "./hospital-handle.js";

type Definition = Pick<FlowDefinition<never>, "name" | "version">;

/** What the ward uses of its host. */
export interface WardHost {
  readonly kernel: Kernel;
  readonly pid: Pid;
  readonly store: Store;
  readonly claim: Claim;
  readonly payloads: Values;
  readonly blobs: BlobWriter;
  readonly background: Background;
  readonly evidence: Evidence;
  now(): number;
  alarmAt(at: number): void;
  definition(name: string, version: number): FlowDefinition<never> | undefined;
  /** Runs a flow that this host holds from its last checkpoint, or takes one that no host holds. */
  rerun(row: FlowRow): void;
}

/** A run of a flow by this host. */
export interface Run {
  readonly row: FlowRow;
  readonly process: FlowProcess;
  readonly run: number;
}

const NOWHERE: Suspension = { name: "start", position: 0 };
const NO_CALLS: ReadonlyMap<string, Call> = new Map();

/** A flow as the evidence of crashes names it. */
export function subjectOf(flow: string): string {
  return `flow:${flow}`;
}

export class Ward implements DeskPort {
  readonly desk: HospitalDesk;
  readonly #host: WardHost;
  readonly #maxCrashes: number;
  #runs = 0;
  #isOpen = false;
  readonly #unknown = new Set<string>();

  constructor(settings: HospitalSettings, host: WardHost) {
    this.#host = host;
    this.desk = new HospitalDesk(settings, this);
    this.#maxCrashes = settings.maxCrashes;
  }

  get kernel(): Kernel {
    return this.#host.kernel;
  }
  get pid(): Pid {
    return this.#host.pid;
  }
  get store(): Store {
    return this.#host.store;
  }
  get claim(): Claim {
    return this.#host.claim;
  }
  now(): number {
    return this.#host.now();
  }
  get background(): Background {
    return this.#host.background;
  }
  alarmAt(at: number): void {
    this.#host.alarmAt(at);
  }
  rerun(row: FlowRow): void {
    this.#host.rerun(row);
  }

  /** The host starts: discharges flows by rule, and reports the flows that it cannot run. @throws StoreError */
  async open(definitions: readonly Definition[]): Promise<void> {
    await this.desk.open((name, version) => this.#host.definition(name, version));
    const unknown = await countUnknown(this.store, definitions);
    for (const one of unknown) this.#unknown.add(`${one.name}/${one.version}`);
    this.#isOpen = true;
    if (unknown.length > 0) tell(this.kernel, this.pid, { type: "unknown", flows: unknown });
  }

  /** Reports a flow whose definition the host does not have, once for each definition. */
  unknown({ name, version }: FlowRow): void {
    const key = `${name}/${version}`;
    // At the start all of them are counted.
    if (!this.#isOpen || this.#unknown.has(key)) return;
    this.#unknown.add(key);
    const met: UnknownFlows = { name, version, count: 1 };
    tell(this.kernel, this.pid, { type: "unknown", flows: [met] });
  }

  /** The number of a run that begins. */
  begin(row: FlowRow): number {
    if (row.hospital !== null) this.desk.remember(row);
    return ++this.#runs;
  }

  isForHospital(
    row: FlowRow,
    error: unknown,
    suspension: Suspension,
    kind: SymptomKind | undefined,
  ): boolean {
    const definition = this.#definitionOf(row);
    return this.desk.takes({ row, definition, run: this.#runs + 1, suspension, error, kind });
  }

  #definitionOf({ name, version }: FlowRow): FlowDefinition<never> | undefined {
    return this.#host.definition(name, version);
  }

  /** The process of a flow has ended, and not because the flow has ended or left memory. */
  failed({ row, process, run }: Run, reason: ExitReason): void {
    if (process.hasLostHost) return;
    const isCrash = reason.type === "crash";
    // Without a crash the process was killed: the flow's code is not the cause.
    const error = isCrash ? reason.error : new Error(`the flow's process was ended: ${formatReason(reason)}`);
    this.desk.admit({
      row,
      definition: this.#definitionOf(row),
      run,
      suspension: process.suspension,
      error,
      kind: isCrash ? process.kindOf(error) : "engine",
    });
  }

  /** Puts a flow that ran here under observation, by a wish. Its process has been ended. */
  observeRun({ row, process, run }: Run, reason: string): void {
    this.desk.observe(
      { row, definition: this.#definitionOf(row), run, suspension: process.suspension },
      reason,
    );
  }

  /** A flow that no process runs cannot run. */
  quarantine(row: FlowRow, error: unknown, more: Pick<Failure, "kind" | "stored"> = {}): void {
    const suspension = { ...NOWHERE, position: row.taken_at };
    const definition = this.#definitionOf(row);
    this.desk.admit({ row, definition, run: ++this.#runs, suspension, error, ...more });
  }

  /** Puts a flow that does not run under observation, if there is a wish for that. Returns whether there is. */
  keepsByWish(row: FlowRow): boolean {
    if (!row.wish?.startsWith(OBSERVE)) return false;
    const suspension = { ...NOWHERE, position: row.taken_at };
    const definition = this.#definitionOf(row);
    this.desk.observe({ row, definition, run: ++this.#runs, suspension }, row.wish.slice(OBSERVE.length));
    return true;
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
    const crashes = before + (mark.kind === "search" ? this.#maxCrashes : (mark.ends ?? 1));
    if (crashes < this.#maxCrashes) return mayRun ? crashes : undefined;
    if (row.hospital !== null) this.desk.remember(row);
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
    const due = this.desk.dueOf(row);
    if (due !== undefined && typeof due !== "number") return { ...row, hospital: JSON.stringify(due) };
    // Mail for the flow changed the time at which it is looked at.
    if (row.due !== (due ?? null)) await this.#setDue(row, due ?? null);
    else if (due !== undefined) this.alarmAt(due);
    return undefined;
  }

  async #setDue(row: FlowRow, due: number | null): Promise<void> {
    await this.store.commit({
      claim: this.claim,
      expect: [{ table: flows, key: [row.number], is: { status: row.status, due: row.due, mail: row.mail } }],
      writes: [{ type: "update", table: flows, key: [row.number], set: { due } }],
    });
    if (due !== null) this.alarmAt(due);
  }

  /** Answers what the host is asked about its hospital. */
  async answer(ask: HospitalAsk, definitions: readonly Definition[]): Promise<unknown> {
    switch (ask.type) {
      case "patients": {
        const patients: PatientInfo[] = [];
        for await (const row of patientRows(this.store, ask.filter)) {
          if (patients.push(patientOf(row)) >= ask.limit) break;
        }
        return patients;
      }
      case "discharge":
        return this.desk.discharge(ask.filter);
      case "observe":
        return this.#wishObserve(ask.id, ask.reason);
      case "unknown":
        return countUnknown(this.store, definitions);
      default:
        return ask satisfies never;
    }
  }

  /** Writes the wish. The host that holds the flow, or takes it, carries the wish out. */
  async #wishObserve(id: string, reason: string): Promise<void> {
    for (;;) {
      const [row] = await this.store.scan(flows, { index: "id", prefix: [id], limit: 1 });
      if (row === undefined) throw new FlowNotFoundError(id);
      if (row.finished !== null || row.status === "hospitalized") return;
      const is = asFound(row);
      const set = { wish: OBSERVE + reason, updated: this.now(), ...(row.holder === null ? { due: 0 } : {}) };
      try {
        await this.store.commit({
          claim: this.claim,
          expect: [{ table: flows, key: [row.number], is }],
          writes: [{ type: "update", table: flows, key: [row.number], set }],
          notify: [WISH_TOPIC + row.number],
        });
        return;
      } catch (error) {
        if (!(error instanceof ConflictError)) throw error;
      }
    }
  }

  // ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────

  async fail(row: FlowRow, error: unknown): Promise<void> {
    await this.#end(row, "failed", await this.#host.payloads.encodeThrown(error));
  }

  /** Ends a flow whose code does not run. */
  async #end(row: FlowRow, status: "failed" | "killed", value: Stored): Promise<void> {
    const checkpoint = {
      ...{ row, blobs: this.#host.blobs, at: this.now(), seq: 0, items: [], asks: [], calls: NO_CALLS },
      ...{ progress: undefined, owes: true },
    };
    const note = row.parent === null ? {} : { note: await this.#noteOf(row, status, value) };
    const set = endSet(checkpoint, { status, value, ...note });
    const expect = [...(set.expect ?? []), { table: flows, key: [row.number], is: asFound(row) }];
    await this.store.commit({ ...set, expect, claim: this.claim });
  }

  /** What the parent gets. */
  async #noteOf(row: FlowRow, status: ChildEnd["status"], value: Stored): Promise<Stored> {
    const { payloads } = this.#host;
    const end: ChildEnd = { status, value: await payloads.decode(value) };
    return payloads.encode(end, `the end of flow ${row.id}`, "result");
  }
}

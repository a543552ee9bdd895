// How a host takes flows from the store: those that are due, those of hosts that are gone, those that it was notified of. One attempt at a
// time for each flow, and no more flows than there are places.

import { isCurable } from "../../host/background/background.js";
import { goneTokens, tokensIn } from "../../host/claims/claims.js";
import { isHostOver } from "../../host/index.js";
import { ConflictError } from "../../store/index.js";
import { kindOf } from "../hospital/symptom.js";
import { resolved } from "../journal/blobs.js";
import { rowGets, rowIs } from "../journal/changes.js";
import { type FlowRow, flows, HOST_CLAIMS, isEnded, isHeld, taken } from "../journal/tables.js";
import { needsSlot } from "../queues/queues.js";
import { MORE_TOPIC } from "../queues/tables.js";
import { Capacity, type Evictable } from "./capacity.js";
import { subjectOf } from "./host-hospital.js";
import type { HostState } from "./host-state.js";
import { findFlow, historyOf, unreadOf } from "./reading.js";

/** The next act after an attempt to take a flow. `retake`: the host was notified of it since. `rerun`: this host got to hold it meanwhile. */
type Next = "nothing" | "retake" | "rerun";

/** A place in the order in which flows are due. */
interface DuePlace {
  readonly due: number;
  readonly number: number;
}

export class Acquisition {
  readonly #host: HostState;
  /** Flows that are being taken, and what is to be done after that. */
  readonly #acquiring = new Map<number, Next>();
  readonly #capacity: Capacity<Evictable>;
  /** Tokens of hosts that are gone. No later host gets one of them. */
  readonly #gone = new Set<number>();
  #alarm: { readonly cancel: () => void; readonly at: number } | undefined;
  /** `again`: there was a reason to look since the look began. */
  #looking: "no" | "once" | "again" = "no";

  constructor(host: HostState) {
    this.#capacity = new Capacity(host.limits.mostLoaded);
    this.#host = host;
  }

  /** Flows are on their way into memory. */
  get isBusy(): boolean {
    return this.#acquiring.size > 0;
  }

  // ── places ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** Places that are free. */
  get room(): number {
    return this.#capacity.room;
  }

  /** Whether a flow that starts gets a place. */
  startsHere(): boolean {
    return this.#capacity.start();
  }

  /** A flow has left its place. `vacated` follows. */
  left(): void {
    this.#capacity.exit();
  }

  /** A flow only waits, or works again. */
  idle(flow: Evictable, isIdle: boolean): void {
    this.#capacity.idle(flow, isIdle);
  }

  /** Takes a flow that was started, and whose number is not known, in the background. */
  takeBorn(id: string): void {
    this.#host.background.do(`born ${id}`, () => this.#takeBorn(id));
  }

  async #takeBorn(id: string): Promise<void> {
    const row = await findFlow(this.#host.store, id);
    if (row !== undefined) await this.#takeOrRun(row);
  }

  async takeNumber(number: number): Promise<void> {
    if (this.#acquiring.has(number)) return this.#retake(number);
    const [row] = await this.#host.store.get(flows, [[number]]);
    if (row !== undefined) await this.take(row);
    this.#notComing(number);
  }

  /** A place may be free: lets those in that wait for one. */
  vacated(): void {
    if (this.#host.isStopping) return;
    for (let next = this.#capacity.next(); next !== undefined; next = this.#capacity.next())
      this.#letIn(next);
    if (this.#capacity.takesMore()) this.pollSoon();
  }

  #letIn(number: number): void {
    this.#host.background.do(`take ${number}`, () => this.#enter(number));
  }

  async #enter(number: number): Promise<void> {
    try {
      const [row] = await this.#host.store.get(flows, [[number]]);
      if (row !== undefined) await this.#takeOrRun(row);
    } finally {
      this.#notComing(number);
      if (this.#capacity.decline(number)) this.vacated();
    }
  }

  /** Runs a flow that this host holds already, and takes any other. */
  #takeOrRun(row: FlowRow): Promise<void> {
    return row.holder === this.#host.claim.token ? this.#rerun(row) : this.take(row);
  }

  /** A flow that was to be taken: if it was not, queries do not wait for it any more. */
  #notComing(number: number): void {
    if (!this.#host.loaded.has(number) && !this.#acquiring.has(number) && !this.#capacity.awaits(number))
      this.#host.requests.caughtUp(number);
  }

  /** Polls in the background. */
  pollSoon(): void {
    this.#host.background.do("poll", () => this.poll());
  }

  /** Takes a flow in the background. */
  takeSoon(number: number): void {
    this.#host.background.do(`take ${number}`, () => this.takeNumber(number));
  }

  /** Looks for flows of hosts that are gone, and for flows that are due. */
  async poll(): Promise<void> {
    await this.#host.syncClock();
    const { store, claim, evidence } = this.#host;
    const others = (await tokensIn(store, flows)).filter((token) => token !== claim.token);
    // The program of a claim that has lapsed ended without notice, perhaps in code that runs here next.
    for (const token of await goneTokens(store, HOST_CLAIMS, others, () => evidence.alarm()))
      await this.#adopt(token);
    await this.look();
  }

  /** Takes the flows of a host that is gone. */
  async #adopt(token: number): Promise<void> {
    this.#gone.add(token);
    const { takeAtOnce: limit } = this.#host.limits;
    const behind = (after: number): Promise<FlowRow[]> =>
      this.#host.store.scan(flows, { index: "holder", prefix: [token], after, limit });
    for (let rows = await behind(0); rows.length > 0; ) {
      // The next flows are read while these are taken.
      const next = behind((rows.at(-1) as FlowRow).number);
      await Promise.all([next, ...rows.map((row) => this.take(row))]);
      if (this.#capacity.isFull) return this.#capacity.wantsMore();
      rows = await next;
    }
  }

  /** Takes flows that are due, and sets the alarm for the next. */
  async look(): Promise<void> {
    if (this.#host.isStopping) return;
    if (this.#looking !== "no") {
      this.#looking = "again";
      return;
    }
    try {
      do {
        this.#looking = "once";
        await this.#takeAllDue();
      } while (this.#isLookWanted());
    } finally {
      this.#looking = "no";
    }
  }

  #isLookWanted(): boolean {
    return this.#looking === "again";
  }

  async #takeAllDue(): Promise<void> {
    const limit = this.#host.limits.takeAtOnce;
    for (let place: DuePlace | undefined; ; ) {
      const rows = await this.#dueBehind(place, limit);
      const now = this.#host.now();
      const due = rows.filter((row) => (row.due as number) <= now);
      await Promise.all(due.map((row) => this.#takeDue(row)));
      const next = rows[due.length];
      if (next !== undefined) this.alarmAt(next.due as number);
      if (due.length < limit) return;
      if (this.#capacity.isFull) return this.#capacity.wantsMore();
      const { due: at, number } = due.at(-1) as FlowRow;
      place = { due: at as number, number };
    }
  }

  /** A page of the flows that are due behind a place. Many are due at the same time: those that were sent mail or started, at 0. */
  async #dueBehind(place: DuePlace | undefined, limit: number): Promise<FlowRow[]> {
    const { store } = this.#host;
    if (place === undefined) return store.scan(flows, { index: "due", after: -1, limit });
    const same = { index: "due", prefix: [place.due], after: place.number, limit };
    const rows = await store.scan(flows, same);
    const rest = limit - rows.length;
    if (rest === 0) return rows;
    return [...rows, ...(await store.scan(flows, { index: "due", after: place.due, limit: rest }))];
  }

  async #takeDue(row: FlowRow): Promise<void> {
    if (isTakeable(row, this.#host.claim.token) || isEnded(row)) return this.take(row);
    // A notification for a flow that waits for people: such a flow is due at no time.
    if (row.holder === null)
      await this.#host.store
        .commit({
          claim: this.#host.claim,
          expect: [rowIs(row, { status: row.status, due: row.due })],
          writes: [rowGets(row, { due: null })],
        })
        .catch((error: unknown) => {
          if (!(error instanceof ConflictError)) throw error;
        });
  }

  /** Looks for flows that are due at this time at the latest. */
  alarmAt(at: number): void {
    if (this.#alarm !== undefined) {
      if (this.#alarm.at <= at) return;
      this.#alarm.cancel();
    }
    const fire = (): void => {
      this.#alarm = undefined;
      this.#host.background.do("look", () => this.look());
    };
    this.#alarm = { cancel: this.#host.timer(Math.max(1, at - this.#host.now()), fire), at };
  }

  /**
   * Takes a flow that no host holds, and runs it. A notification of a flow that another host holds is for that host: the flow is taken from it
   * only when that host is gone.
   */
  async take(row: FlowRow): Promise<void> {
    const { number, holder } = row;
    if (holder !== null && !this.#gone.has(holder)) return;
    if (this.#host.isStopping) return;
    const loaded = this.#host.loaded.get(number);
    // The store has it back, and its process is about to end: it is taken again then.
    if (loaded !== undefined) loaded.isWanted = true;
    else if (this.#acquiring.has(number)) this.#retake(number);
    else if (isEnded(row) && row.due === 0)
      await this.#alone(row, () => this.#host.outgoing.notifyPeers(row));
    else if (isTakeable(row, this.#host.claim.token)) await this.#alone(row, () => this.#tryRow(row));
  }

  /** The host was notified of a flow while it takes the flow. */
  #retake(number: number): void {
    if (this.#acquiring.get(number) === "nothing") this.#acquiring.set(number, "retake");
  }

  /** One at a time for each flow. A flow that cannot be taken keeps no other from it. */
  async #alone(row: FlowRow, act: () => Promise<void>): Promise<void> {
    const { number } = row;
    this.#acquiring.set(number, "nothing");
    try {
      await act();
    } catch (error) {
      this.#notTaken(row, error);
    } finally {
      const next = this.#acquiring.get(number);
      this.#acquiring.delete(number);
      const loaded = this.#host.loaded.get(number);
      this.#host.mayStop();
      if (next === "nothing") this.#notComing(number);
      else if (loaded !== undefined) this.#host.notifications.reread(loaded);
      else if (next === "rerun") this.rerun(row);
      else this.takeSoon(number);
    }
  }

  #notTaken(row: FlowRow, error: unknown): void {
    if (isHostOver(error)) return;
    // Another host, or an operator, was faster.
    if (error instanceof ConflictError) this.#retake(row.number);
    else if (isCurable(error)) this.#again(row, error);
    else {
      this.#host.queues.left(row);
      this.#host.hospital.quarantine(row, error, { kind: kindOf(error) === "code" ? "engine" : undefined });
    }
  }

  /** The store failed while a flow was taken. Its answer may be all that was lost: then this host holds the flow, and has to run it. */
  #again({ number }: FlowRow, error: Error): void {
    this.#host.background.again(`take ${number}`, error, () => this.#enter(number));
  }

  async #tryRow(found: FlowRow): Promise<void> {
    let row = found;
    if (row.status === "hospitalized") {
      const patient = await this.#host.hospital.patient(row);
      if (patient === undefined) return;
      row = patient;
    } else if (this.#host.hospital.keepsByControl(row)) return;
    if (this.#host.definition(row.name, row.version) === undefined) this.#host.hospital.unknown(row);
    else if (needsSlot(row)) await this.#queueUp(row);
    // If the list of waiting flows is full, a later look for flows that are due, or held by hosts that are gone, finds the flow again.
    else
      await this.#withinCapacity(row.number, row.due === null && row.holder === null, () =>
        this.#takeRow(row),
      );
  }

  /** Runs a flow if the capacity allows it. @param run - whether it ran */
  async #withinCapacity(number: number, isKept: boolean, run: () => Promise<boolean>): Promise<void> {
    if (!this.#capacity.enter(number, isKept)) return;
    let ran = false;
    try {
      ran = await run();
    } finally {
      if (!ran) {
        this.#capacity.exit();
        this.vacated();
      }
    }
  }

  async #takeRow(row: FlowRow): Promise<boolean> {
    const { number } = row;
    // A flow that was sent nothing so far has no mail. The commit expects that this is still so when the flow is taken.
    const unread = row.mail === 0 ? [] : unreadOf(this.#host.store, number, 0);
    const [history, read] = await Promise.all([historyOf(this.#host.store, row), unread]);
    let messages = read;
    // Sessions that are open by now were opened before the flow began anew.
    if (row.generation > 0 && history.length === 0) {
      const left = await this.#host.outgoing.leaveSessions(row);
      messages = read.filter(({ position }) => !left.has(position));
    }
    const crashes = this.#host.hospital.crashesOf(row, history.length);
    if (crashes === undefined) return false;
    const set = {
      status: "running",
      holder: this.#host.claim.token,
      epoch: taken(row, this.#host.claim.token),
      due: null,
      crashes,
      taken_at: history.length,
      hospital: row.hospital,
      updated: this.#host.now(),
      ...(row.waiting !== null && { waiting: null }),
      // To name the column of a unique index is to read and write the row as a whole.
      ...(row.debounce !== null && { debounce: null }),
    };
    const [input = row.input] = await resolved(this.#host.store, [row.input]);
    await this.#host.store.commit({
      claim: this.#host.claim,
      expect: [rowIs(row, { holder: row.holder, epoch: row.epoch, status: row.status, mail: row.mail })],
      writes: [rowGets(row, set)],
    });
    if (crashes > 0) this.#host.evidence.taken(subjectOf(row.id));
    this.#host.runs.begin({ ...row, ...set, input }, history, messages);
    return true;
  }

  /** A flow whose time has come, and which has no slot of its queue, waits for one. */
  async #queueUp(row: FlowRow): Promise<void> {
    const { number, queue, status, slot, due } = row;
    try {
      await this.#host.store.commit({
        claim: this.#host.claim,
        expect: [rowIs(row, { holder: null, status, slot, due })],
        writes: [rowGets(row, { waiting: queue, due: null })],
        notify: [MORE_TOPIC + queue],
      });
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      this.#retake(number);
    }
  }

  /** Runs flows that have got a slot, and are held by this host. */
  runAdmitted(numbers: readonly number[]): void {
    this.#host.queues.admitted(numbers);
    this.#host.background.do(`admitted ${numbers[0]}`, () => this.#runAll(numbers));
  }

  async #runAll(numbers: readonly number[]): Promise<void> {
    const rows = await this.#host.store.get(
      flows,
      numbers.map((number) => [number]),
    );
    await Promise.all(rows.map((row) => row && this.#hold(row, () => this.#runHeld(row))));
  }

  /** Runs a flow that this host holds from its last checkpoint, or takes one that no host holds. */
  runAgain(row: FlowRow): void {
    if (row.holder === this.#host.claim.token) this.rerun(row);
    else this.takeSoon(row.number);
  }

  /** Runs a flow that this host holds from its last checkpoint. */
  rerun(row: FlowRow): void {
    this.#host.background.do(`rerun ${row.number}`, () => this.#rerun(row));
  }

  #rerun(known: FlowRow): Promise<void> {
    return this.#hold(known, async () => {
      const [row] = await this.#host.store.get(flows, [[known.number]]);
      if (row !== undefined) await this.#runHeld(row);
    });
  }

  async #hold(row: FlowRow, act: () => Promise<void>): Promise<void> {
    const { number, id } = row;
    if (this.#host.isStopping || this.#host.loaded.has(number) || this.#host.hospital.isAdmitting(id)) return;
    if (this.#acquiring.has(number)) this.#acquiring.set(number, "rerun");
    else await this.#alone(row, act);
  }

  async #runHeld(row: FlowRow): Promise<void> {
    if (row.holder !== this.#host.claim.token || !isHeld(row) || this.#host.hospital.keepsByControl(row))
      return;
    await this.#withinCapacity(row.number, true, async () => {
      const [input = row.input] = await resolved(this.#host.store, [row.input]);
      const read = await Promise.all([
        historyOf(this.#host.store, row),
        unreadOf(this.#host.store, row.number, 0),
      ]);
      if (this.#host.isStopping) return false;
      this.#host.runs.begin({ ...row, input }, ...read);
      return true;
    });
  }
}

function isTakeable({ status, holder }: FlowRow, token: number): boolean {
  if (holder === token) return false;
  if (status === "hospitalized") return holder === null;
  return status === "pending" || status === "waiting" || (status === "running" && holder !== null);
}

// A flow host: the process that holds flows. It takes them from the store, runs each in a process of its own, and gives them back.
// It is the supervisor of their processes; the hospital is its restart strategy.

import type { Background } from "../../host/background/background.js";
import { takeClaim } from "../../host/claims/claims.js";
import { HostLife } from "../../host/host-life.js";
import { type Evidence, hostEvidence, STANDING_SCHEMA, type Subject } from "../../host/index.js";
import type { Values } from "../../host/payload/values.js";
import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Signal } from "../../process/entries.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import { crash, type ExitReason } from "../../process/reason.js";
import { reportLate } from "../../process/report-failure.js";
import type { ReplyTo } from "../../process/request.js";
import { spawnIn } from "../../process/spawn-in.js";
import { type Claim, type ClaimInfo, FencedError, type Store, StoreClosedError } from "../../store/index.js";
import { storeContext } from "../../store/open-store.js";
import type { AnyFlow, FlowDefinition } from "../definition/define.js";
import type { Suspension } from "../hospital/record.js";
import type { SymptomKind } from "../hospital/symptom.js";
import { BlobWriter } from "../journal/blobs.js";
import type { Ask, Entry, Stored } from "../journal/entry.js";
import { type FlowRow, HOST_CLAIMS, isEnded, LEFT_TOPIC } from "../journal/tables.js";
import type { Letter } from "../machine/state.js";
import { declareQueues } from "../queues/declared.js";
import { checkTiming } from "../queues/options.js";
import type { QueuePort } from "../queues/queue-keeper.js";
import { Queues } from "../queues/queues.js";
import { cronLoader } from "../schedules/cron.js";
import { HostSchedules, type HostSchedulesPort } from "../schedules/host-schedules.js";
import { SESSION_SCHEMA } from "../sessions/tables.js";
import type { Extra } from "./call.js";
import { replayTo, verifyingReplay } from "./dry-replay.js";
import { FlowHostTakenError } from "./errors.js";
import { FlowProcess } from "./flow-process.js";
import { PARKED } from "./flow-rest.js";
import { type HospitalHost, HostHospital, subjectOf } from "./host-hospital.js";
import type { Loaded } from "./loaded.js";
import type { HostMessage } from "./messages.js";
import { News, type NewsHost } from "./news.js";
import type { HostSettings } from "./options.js";
import { inputOf, Orders, type OrdersHost } from "./orders.js";
import { type ParkingHost, park } from "./parking.js";
import type { FlowLimits, FlowPort, Interceptor, NewChild, RecordedFlow } from "./port.js";
import { findFlow } from "./reading.js";
import { Requests, type RequestsHost } from "./requests.js";
import type { Guest } from "./room.js";
import { OPERATED_SCHEMAS } from "./schemas.js";
import type { ServedHost } from "./services.js";
import { Starting, type StartingHost } from "./starting.js";
import { Taking, type TakingHost } from "./taking.js";

/** What the parts of a host use of it. */
type Parts = FlowPort &
  HospitalHost &
  OrdersHost &
  TakingHost &
  StartingHost &
  RequestsHost &
  NewsHost &
  ParkingHost;

/** The symptoms of a store that was out of order as a whole. */
const OUTAGE_KINDS: readonly SymptomKind[] = ["connection", "exhausted"];

export class HostProcess implements Callbacks<HostMessage>, Parts {
  readonly #settings: HostSettings;
  #ctx!: Context<HostMessage>;
  kernel!: Kernel;
  store!: Store;
  claim!: Claim;
  evidence!: Evidence;
  blobs!: BlobWriter;
  readonly hospital: HostHospital;
  #offsetMs = 0;
  readonly loaded: Map<number, Loaded> = new Map();
  readonly byId: Map<string, Loaded> = new Map();
  readonly #byPid = new Map<Pid, Loaded>();
  readonly orders: Orders;
  readonly taking: Taking;
  readonly starting: Starting;
  readonly #requests: Requests;
  readonly #news: News;
  #asks = 0;
  #draining: { drained(): void }[] = [];
  #life!: HostLife<HostMessage>;
  #unwatch: (() => void) | undefined;
  queues!: Queues;
  schedules!: HostSchedules;

  constructor(settings: HostSettings) {
    this.#settings = settings;
    this.hospital = new HostHospital(settings.hospital, this);
    this.orders = new Orders(settings, this);
    this.taking = new Taking(settings.limits.mostLoaded, this);
    this.starting = new Starting(this);
    this.#requests = new Requests(settings, this);
    this.#news = new News(this);
  }

  get background(): Background {
    return this.#life.background;
  }
  get pid(): Pid {
    return this.#ctx.self;
  }

  get payloads(): Values {
    return this.#settings.payloads;
  }
  get limits(): FlowLimits {
    return this.#settings.limits;
  }
  get interceptors(): readonly Interceptor[] {
    return this.#settings.interceptors;
  }
  get readBack(): FlowPort["readBack"] {
    if (!this.#settings.verify) return undefined;
    const { kernel, payloads, limits } = this;
    return (definition, row, history, time) =>
      verifyingReplay({ kernel, definition, row, history, payloads, limits }, time);
  }

  replayTo(flow: RecordedFlow, ask: Ask, signal: AbortSignal): Promise<Error | undefined> {
    const { kernel, payloads, limits } = this;
    return replayTo({ kernel, payloads, limits, ...flow }, ask, signal);
  }

  // ── the process ──────────────────────────────────────────────────────────────────────────────────────────────

  async init(ctx: Context<HostMessage>): Promise<void> {
    this.#ctx = ctx;
    ctx.trapExit(true);
    const { process } = ctx.self;
    this.kernel = process?.kernel as Kernel;
    this.#life = new HostLife(
      ctx,
      () => this.#letGo(),
      () => this.#recovered(),
    );
    const { hostId = this.kernel.env.id(), store } = this.#settings;
    this.store = await this.#life.whenSpace(() =>
      store.open([...OPERATED_SCHEMAS, SESSION_SCHEMA, STANDING_SCHEMA], storeContext(this.kernel)),
    );
    if (!ctx.alive) return this.#letGo();
    const name = HOST_CLAIMS + hostId;
    const taken = (holder: ClaimInfo | undefined): Error =>
      new FlowHostTakenError(hostId, this.store.label, holder);
    try {
      this.claim = await this.#life.whenSpace(() => takeClaim(this.store, name, taken));
    } catch (error) {
      await this.store.close();
      throw error;
    }
    const { claim } = this;
    if (!ctx.alive) return this.#letGo();
    this.evidence = this.#openEvidence();
    await this.#life.whenSpace(() => this.evidence.share(this.store, claim));
    this.blobs = new BlobWriter(claim.token, this.payloads.limits.apartBytes);
    await this.syncClock();
    const tell = (message: HostMessage): void => process?.deliver(message, undefined);
    claim.lost.addEventListener("abort", () => tell({ type: "lost" }));
    this.#unwatch = this.store.watch("", {
      notified: (topic) => tell({ type: "noted", topic }),
      again: () => tell({ type: "noted", topic: undefined }),
    });
    await this.#life.whenSpace(() => declareQueues(this.store, claim, this.#settings.queues));
    this.queues = new Queues(this.#settings.queues, this.#queuePort());
    this.schedules = new HostSchedules(this.#schedulePort());
    ctx.signal.addEventListener("abort", () => this.#rest());
    await this.#life.whenSpace(() => this.schedules.declare(this.#settings.schedules));
    this.#life.started();
    tell({ type: "poll" });
    this.queues.look();
    this.background.do("hospital", () => this.hospital.open(this.#settings.definitions.all));
    await this.#serve();
    if (ctx.alive) this.#settings.hosts.add(this.kernel, ctx.self);
  }

  #openEvidence(): Evidence {
    const { evidence, store, hostId } = this.#settings;
    const { shared } = this.store;
    const who = hostId === undefined ? "flows" : `flows-${hostId}`;
    return hostEvidence(
      this.kernel,
      { evidence, store, shared, counted: shared, who, token: this.claim.token },
      () => this.taking.pollSoon(),
    );
  }

  async #serve(): Promise<void> {
    try {
      for (const service of this.#settings.services) await this.#life.serve(service(this.#served()));
    } catch (error) {
      await this.terminate();
      throw error;
    }
  }

  #served(): ServedHost {
    const { kernel, store, payloads, background } = this;
    const start = async (name: string, input: unknown, id: string): Promise<string> => {
      const definition = this.orders.known(name, undefined);
      const stored = await inputOf(payloads, definition, input, id);
      const timing = checkTiming({}, definition.options.queue, this.#settings.queues);
      const { version } = definition;
      const flow = { id, name, version, input: stored, timing, trace: this.orders.traceOf(name, id) };
      return (await this.starting.start(flow)).id;
    };
    return { kernel, store, payloads, background, start };
  }

  /** The store works again: flows that it failed need not wait for their time. */
  #recovered(): void {
    for (const kind of OUTAGE_KINDS)
      this.background.do(`recovery ${kind}`, async () => {
        if (!this.isStopping) await this.hospital.discharge({ kind }, "recovery");
      });
  }

  /** Queues and schedules start nothing more. */
  #rest(): void {
    (this.queues as Queues | undefined)?.stop();
    (this.schedules as HostSchedules | undefined)?.keeper.stop();
  }

  /** Timers that end with the host. */
  readonly timer = (ms: number, fn: () => void): (() => void) => {
    const ctx = this.#ctx;
    if (!ctx.alive) return () => undefined;
    const timer = ctx.runAfter(ms, fn);
    return () => void (ctx.alive && ctx.cancel(timer));
  };

  #schedulePort(): HostSchedulesPort {
    const { store, claim } = this;
    return {
      ...{ store, claim, after: this.timer },
      flows: [...new Set(this.#settings.definitions.all.map(({ name }) => name))],
      cron: cronLoader(),
      starting: (id, flow, input) =>
        this.orders.startOf(id, this.orders.known(flow, undefined), input as Stored),
      cancelling: (id) => this.orders.wishFor(id, "cancel"),
      isRunning: async (id) => {
        const row = await findFlow(this.store, id);
        return row !== undefined && !isEnded(row);
      },
      input: async ({ flow, input }) =>
        inputOf(this.payloads, this.orders.known(flow.name, undefined), input, flow.name),
      id: () => this.kernel.env.id(),
      // The schedule is looked at again in a while; the host goes on.
      failed: (_name, error) => reportLate(this.kernel, this.#ctx.self, error),
      retryMs: (error) => this.background.failed("schedules", error),
      worked: () => this.background.worked("schedules"),
    };
  }

  #queuePort(): QueuePort {
    const { store, claim, kernel } = this;
    return {
      ...{ store, claim, random: () => kernel.env.random(), after: this.timer },
      accepts: (row) => this.definition(row.name, row.version) !== undefined,
      failed: (queue, error) => void this.background.failed(`queue ${queue}`, error),
      worked: (queue) => this.background.worked(`queue ${queue}`),
      until: (queue, work) => this.background.until(`admission ${queue}`, work),
      run: (numbers) => this.taking.runAdmitted(numbers),
    };
  }

  handle(_ctx: Context<HostMessage>, message: HostMessage): unknown {
    switch (message.type) {
      case "noted":
        return this.#news.noted(message.topic);
      case "poll":
        if (this.store.shared) this.#ctx.sendAfter(this.#ctx.self, message, this.limits.pollMs);
        return this.taking.pollSoon();
      case "lost":
        throw new FencedError(this.claim.name, this.claim.token);
      default:
        return void this.#requests.answer(message).then(undefined, (error: Error) => {
          if (this.#ctx.alive) this.#ctx.refuse(message.replyTo as ReplyTo<never>, error);
        });
    }
  }

  signal(_ctx: Context<HostMessage>, signal: Signal): void {
    if (signal.type !== "exit") return;
    const loaded = this.#byPid.get(signal.from);
    if (loaded === undefined) return;
    this.#byPid.delete(signal.from);
    loaded.process.abandon(() => {
      if (this.#ctx.alive) this.#left(loaded, signal.reason);
    });
  }

  /** The process of a flow has ended, and nothing of it is on the way to the store. */
  #left(loaded: Loaded, reason: ExitReason): void {
    this.loaded.delete(loaded.row.number);
    this.byId.delete(loaded.row.id);
    this.taking.idle(loaded.process, false);
    this.taking.left();
    this.queues.left(loaded.row);
    this.#requests.left(loaded);
    this.caughtUp(loaded.row.number);
    if (loaded.observing !== undefined) this.hospital.observeRun(loaded, loaded.observing);
    else if (reason.type !== "normal" && reason !== PARKED) {
      this.hospital.failed(loaded, reason);
      // It may have been killed when its end was already on the way to the store: then it has mail to answer, and no run does that.
      this.taking.takeSoon(loaded.row.number);
    } else if (loaded.reading !== "no" || (reason !== PARKED && loaded.process.owes))
      this.taking.takeSoon(loaded.row.number);
    this.taking.vacated();
    this.mayStop();
  }

  /** Lets running steps end, gives the flows back to the store, then stops. */
  parentExit(ctx: Context<HostMessage>, reason: ExitReason): void {
    this.#life.stop(reason);
    this.#rest();
    for (const { pid } of this.loaded.values())
      pid.process?.deliver({ type: "wish", wish: "stop" }, undefined);
    ctx.runAfter(this.limits.drainMs, () => this.kernel.stop(ctx.self.process as never, reason, undefined));
    this.mayStop();
  }

  mayStop(): void {
    if (this.loaded.size === 0 && !this.taking.isBusy) this.#life.mayStop();
  }

  async terminate(): Promise<void> {
    this.#life.ended();
    this.#rest();
    for (const { pid } of this.loaded.values())
      pid.process && this.kernel.stop(pid.process, KILLED_BY_HOST, undefined);
    await this.#letGo();
  }

  /** Gives back the claim and the store. The next host of the flows need not wait, and the store refuses late writes of this host. */
  async #letGo(): Promise<void> {
    this.#unwatch?.();
    this.#rest();
    (this.evidence as Evidence | undefined)?.close();
    try {
      const claim = this.claim as Claim | undefined;
      if (claim?.lost.aborted === false) {
        await claim.release();
        // Steps outlived the drain: other hosts go on with their flows at once.
        if (this.loaded.size > 0) await this.store.commit({ writes: [], notify: [LEFT_TOPIC] });
      }
    } catch {
      // The claim was lost before, so there is none to release. Without the notice, other hosts find the flows when they poll.
    }
    await (this.store as Store | undefined)?.close();
  }

  get isStopping(): boolean {
    return this.#life.isStopping;
  }

  // ── what flows use ───────────────────────────────────────────────────────────────────────────────────────────

  now(): number {
    return Math.floor(this.kernel.env.now() + this.#offsetMs);
  }

  /** The store's clock goes on by the monotonic clock of this host, so jumps of the wall clock move nothing. */
  async syncClock(): Promise<void> {
    this.#offsetMs = (await this.store.clock()) - this.kernel.env.now();
  }

  drain(flow: { drained(): void }): void {
    this.#draining.push(flow);
    if (this.#draining.length > 1) return;
    const { scheduler } = this.kernel;
    const flush = (): void => {
      const all = this.#draining;
      this.#draining = [];
      for (const one of all) one.drained();
    };
    if (scheduler.drained === undefined) flush();
    else scheduler.drained(flush);
  }

  definition(name: string, version: number | undefined): FlowDefinition<never> | undefined {
    return this.#settings.definitions.find(name, version);
  }

  begin(id: string): Subject {
    return this.evidence.begin(subjectOf(id));
  }

  isForHospital(row: FlowRow, error: unknown, at: Suspension, kind: SymptomKind | undefined): boolean {
    return this.hospital.isForHospital(row, error, at, kind);
  }

  after(ms: number, fn: () => void): void {
    if (this.#ctx.alive) this.#ctx.runAfter(ms, fn);
  }

  alarmAt(at: number): void {
    if (this.#ctx.alive) this.taking.alarmAt(at);
  }

  rerun(row: FlowRow): void {
    if (row.holder === this.claim.token) this.taking.rerun(row);
    else this.taking.takeSoon(row.number);
  }

  caughtUp(number: number): void {
    this.#requests.caughtUp(number);
  }

  idle(flow: Guest, isIdle: boolean): void {
    this.taking.idle(flow, isIdle);
  }

  childOf(parent: FlowRow, flow: AnyFlow, input: unknown, as: NewChild): Promise<Extra> {
    return this.#read(() => this.orders.childOf(parent, flow, input, as));
  }

  cancelChildren(number: number, isSpared: (key: string) => boolean): Promise<void> {
    return this.#read(() => this.orders.cancelChildren(number, isSpared));
  }

  answererOf(from: FlowRow, flow: AnyFlow, id: string): Promise<Extra> {
    return this.orders.answererOf(from, flow, id);
  }

  mailTo(from: FlowRow, id: string, topic: string, value: unknown, key: string): Promise<Extra> {
    return this.#read(() => this.orders.mailTo(from, id, topic, value, key));
  }

  wishFor(id: string, wish: "cancel" | "kill" | "pause"): Promise<Extra> {
    return this.#read(() => this.orders.wishFor(id, wish));
  }

  /** Reads the store for an ask about another flow. While the read fails, the flow waits. */
  #read<T>(ask: () => Promise<T>): Promise<T> {
    return this.background.until(`ask ${++this.#asks}`, ask);
  }

  park(number: number, lastLetter: number, row: Parameters<FlowPort["park"]>[2]): Promise<Letter[]> {
    return park(this, number, lastLetter, row);
  }

  // ── what its parts use ───────────────────────────────────────────────────────────────────────────────────────

  reply<R>(to: ReplyTo<R>, answer: R): void {
    this.#ctx.reply(to, answer);
  }

  reread(loaded: Loaded): void {
    this.#news.reread(loaded);
  }

  ended(id: string): void {
    this.#requests.ended(id);
  }

  checkEnds(): void {
    this.#requests.checkAll();
  }

  /** Ends the process of a flow, and keeps the flow. */
  observe(loaded: Loaded, reason: string): void {
    loaded.observing = reason;
    if (loaded.pid.process !== undefined) this.kernel.stop(loaded.pid.process, KILLED_BY_HOST, undefined);
  }

  run(row: FlowRow, history: readonly Entry[], letters: readonly Letter[]): void {
    const definition = this.orders.known(row.name, row.version);
    const process = new FlowProcess(this, row, definition, history, letters);
    const run = this.hospital.begin(row);
    this.queues.taken(row);
    const pid = spawnIn(this.kernel, row.trace, `flow ${row.name}`, () =>
      this.#ctx.spawnLink(process, { label: `flow ${row.id}` }),
    );
    const loaded: Loaded = { row, process, pid, run, observing: undefined, reading: "no" };
    this.loaded.set(row.number, loaded);
    this.#byPid.set(pid, loaded);
    this.byId.set(row.id, loaded);
  }
}

const KILLED_BY_HOST = crash(new StoreClosedError("of the host that stops"));

// A flow host: the process that holds flows. It takes them from the store, runs each in a process of its own, and gives them back.
// It is the supervisor of their processes; the hospital is its restart strategy.

import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Signal } from "../../process/entries.js";
import type { Kernel } from "../../process/kernel.js";
import type { TimerRef } from "../../process/owned-timer.js";
import type { Pid } from "../../process/pid.js";
import { processName } from "../../process/process-name.js";
import { crash, type ExitReason, SHUTDOWN } from "../../process/reason.js";
import { reportLate } from "../../process/report-failure.js";
import type { ReplyTo } from "../../process/request.js";
import {
  type Claim,
  ConflictError,
  FencedError,
  type Store,
  StoreClosedError,
  StoreError,
  type Write,
  type WriteSet,
} from "../../store/index.js";
import { storeContext } from "../../store/open-store.js";
import type { AnyFlow, FlowDefinition } from "../definition/define.js";
import { OBSERVE } from "../hospital/desk.js";
import { JournalDamagedError } from "../hospital/errors.js";
import type { Suspension } from "../hospital/record.js";
import { kindOf, type SymptomKind } from "../hospital/symptom.js";
import { decodeEntry, type Entry, type Stored } from "../journal/entry.js";
import {
  BORN_TOPIC,
  END_TOPIC,
  type FlowRow,
  flows,
  HOST_CLAIMS,
  journal,
  MAIL_TOPIC,
  mail,
  READY_TOPIC,
  WISH_TOPIC,
} from "../journal/tables.js";
import type { Letter } from "../machine/state.js";
import { BlobWriter, releaseAll, resolved } from "../payload/blobs.js";
import { checked } from "../payload/checked.js";
import { declareQueues } from "../queues/declared.js";
import { checkTiming, type Debounce } from "../queues/options.js";
import type { QueuePort } from "../queues/queue-keeper.js";
import { needsSlot, Queues, roomTopics } from "../queues/queues.js";
import { MORE_TOPIC } from "../queues/tables.js";
import { loadCron } from "../schedules/cron.js";
import { HostSchedules, type HostSchedulesPort } from "../schedules/host-schedules.js";
import { SCHEDULE_TOPIC } from "../schedules/tables.js";
import { farewells } from "../sessions/farewell.js";
import { SESSION_SCHEMA } from "../sessions/tables.js";
import type { Extra } from "./call.js";
import { letter } from "./checkpoint.js";
import { dryReplay } from "./dry-replay.js";
import {
  FlowHostTakenError,
  FlowIdTakenError,
  FlowNotFoundError,
  FlowQueryError,
  UnknownFlowError,
} from "./errors.js";
import { FlowProcess, PARKED } from "./flow-process.js";
import type { FlowEnd, HostMessage, HostRequest, Started } from "./messages.js";
import type { HostSettings } from "./options.js";
import type { FlowLimits, FlowPort, Interceptor, NewFlow, Payloads } from "./port.js";
import { type Guest, Room } from "./room.js";
import { OPERATED_SCHEMAS } from "./schemas.js";
import { type ServedHost, whyNotStarted } from "./services.js";
import { Waiters } from "./waiters.js";
import { Ward, type WardHost } from "./ward.js";

/** A flow in memory. */
interface Loaded {
  readonly row: FlowRow;
  readonly process: FlowProcess;
  readonly pid: Pid;
  /** Grows with every run of this host. */
  readonly run: number;
  /** Why its process is being ended, to keep the flow in the hospital. */
  observing: string | undefined;
  /** Its mail is being read; `again`: there was news since. */
  reading: "no" | "once" | "again";
}

const ENDED: readonly string[] = ["completed", "failed", "cancelled", "killed"];
/** The rank of a flow without priority. */
const LOWEST_RANK = 9;
/** A store that failed is asked again after this time. */
const STORE_AGAIN_MS = 1_000;

export class HostProcess implements Callbacks<HostMessage>, FlowPort, WardHost {
  readonly #settings: HostSettings;
  #ctx!: Context<HostMessage>;
  kernel!: Kernel;
  store!: Store;
  claim!: Claim;
  blobs!: BlobWriter;
  readonly #ward: Ward;
  #offsetMs = 0;
  readonly #loaded = new Map<number, Loaded>();
  readonly #byPid = new Map<Pid, Loaded>();
  readonly #byId = new Map<string, Loaded>();
  /** Flows that are being taken; true: there was news since. */
  readonly #taking = new Map<number, boolean>();
  readonly #waiters = new Waiters<ReplyTo<FlowEnd>>();
  readonly #room: Room<Guest>;
  /** Queries that wait for a flow to be in memory, by its number. */
  readonly #replaying = new Map<number, (() => void)[]>();
  /** Tokens of hosts that are gone. No later host gets one of them. */
  readonly #gone = new Set<number>();
  #draining: { drained(): void }[] = [];
  #alarm: { readonly ref: TimerRef; readonly at: number } | undefined;
  /** `again`: there was a reason to look since the look began. */
  #looking: "no" | "once" | "again" = "no";
  #stopping: ExitReason | undefined;
  readonly #services: Pid<never>[] = [];
  #unwatch: (() => void) | undefined;
  #queues!: Queues;
  #schedules!: HostSchedules;

  constructor(settings: HostSettings) {
    this.#settings = settings;
    this.#room = new Room(settings.limits.mostLoaded);
    this.#ward = new Ward(settings.hospital, this);
  }

  get pid(): Pid {
    return this.#ctx.self;
  }

  get payloads(): Payloads {
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
    return (definition, row, history) => dryReplay({ kernel, definition, row, history, payloads, limits });
  }

  // ── the process ──────────────────────────────────────────────────────────────────────────────────────────────

  async init(ctx: Context<HostMessage>): Promise<void> {
    this.#ctx = ctx;
    ctx.trapExit(true);
    const { process } = ctx.self;
    this.kernel = process?.kernel as Kernel;
    // A process that is killed does not terminate. Its program goes on, and would hold the claim for ever.
    this.kernel.links.watch(
      ctx.self,
      () => void this.#letGo(),
      () => undefined,
    );
    const { hostId = this.kernel.env.id(), store } = this.#settings;
    this.store = await store.open([...OPERATED_SCHEMAS, SESSION_SCHEMA], storeContext(this.kernel));
    if (!ctx.alive) return this.#letGo();
    const name = HOST_CLAIMS + hostId;
    const claim = await this.store.claim(name, { owner: processName() });
    if (claim === undefined) {
      const holder = (await this.store.claims(name)).find((one) => one.name === name && one.held);
      const taken = new FlowHostTakenError(hostId, this.store.label, holder);
      await this.store.close();
      throw taken;
    }
    this.claim = claim;
    if (!ctx.alive) return this.#letGo();
    this.blobs = new BlobWriter(claim.token, this.payloads.limits.apartBytes);
    await this.#syncClock();
    const tell = (message: HostMessage): void => process?.deliver(message, undefined);
    claim.lost.addEventListener("abort", () => tell({ type: "lost" }));
    this.#unwatch = this.store.watch("", {
      notified: (topic) => tell({ type: "noted", topic }),
      again: () => tell({ type: "noted", topic: undefined }),
    });
    await declareQueues(this.store, claim, this.#settings.queues);
    this.#queues = new Queues(this.#settings.queues, this.#queuePort());
    this.#schedules = new HostSchedules(this.#schedulePort());
    ctx.signal.addEventListener("abort", () => this.#rest());
    await this.#schedules.declare(this.#settings.schedules);
    tell({ type: "poll" });
    void this.#ward.open(this.#settings.definitions.all);
    await this.#serve(ctx);
  }

  async #serve(ctx: Context<HostMessage>): Promise<void> {
    try {
      for (const service of this.#settings.services)
        this.#services.push((await ctx.start(service(this.#served()))).pid);
    } catch (error) {
      await this.terminate();
      throw whyNotStarted(error);
    }
  }

  #served(): ServedHost {
    const { kernel, store, payloads } = this;
    const start = async (name: string, input: unknown, id: string): Promise<string> => {
      const definition = this.#known(name, undefined);
      const stored = await inputOf(payloads, definition, input, id);
      const timing = checkTiming({}, definition.options.queue, this.#settings.queues);
      return (await this.#start({ id, name, version: definition.version, input: stored, timing })).id;
    };
    return { kernel, store, payloads, start };
  }

  /** Queues and schedules start nothing more. */
  #rest(): void {
    (this.#queues as Queues | undefined)?.stop();
    (this.#schedules as HostSchedules | undefined)?.keeper.stop();
  }

  /** Timers that end with the host. */
  readonly #after = (ms: number, fn: () => void): (() => void) => {
    const ctx = this.#ctx;
    if (!ctx.alive) return () => undefined;
    const timer = ctx.runAfter(ms, fn);
    return () => void (ctx.alive && ctx.cancel(timer));
  };

  #schedulePort(): HostSchedulesPort {
    const { store, claim } = this;
    return {
      ...{ store, claim, after: this.#after },
      flows: [...new Set(this.#settings.definitions.all.map(({ name }) => name))],
      cron: () => loadCron(),
      starting: (id, flow, input) => this.#startOf(id, this.#known(flow, undefined), input as Stored),
      cancelling: (id) => this.wishFor(id, "cancel"),
      isRunning: async (id) => {
        const row = await this.#find(id);
        return row !== undefined && !ENDED.includes(row.status);
      },
      input: ({ flow, input }) => inputOf(this.payloads, this.#known(flow.name, undefined), input, flow.name),
      id: () => this.kernel.env.id(),
      // The schedule is looked at again in a while; the host goes on.
      failed: (_name, error) => reportLate(this.kernel, this.#ctx.self, error),
    };
  }

  #queuePort(): QueuePort {
    const { store, claim, kernel } = this;
    return {
      ...{ store, claim, random: () => kernel.env.random(), after: this.#after },
      accepts: (row) => this.definition(row.name, row.version) !== undefined,
      run: (numbers) => void this.#runAdmitted(numbers),
    };
  }

  handle(_ctx: Context<HostMessage>, message: HostMessage): unknown {
    switch (message.type) {
      case "noted":
        return this.#noted(message.topic);
      case "look":
        this.#alarm = undefined;
        return void this.#look();
      case "poll":
        if (this.store.shared) this.#ctx.sendAfter(this.#ctx.self, message, this.limits.pollMs);
        return void this.#poll();
      case "lost":
        throw new FencedError(this.claim.name, this.claim.token);
      default:
        return void this.#answer(message).then(undefined, (error: Error) => {
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
    this.#loaded.delete(loaded.row.number);
    this.#byId.delete(loaded.row.id);
    this.#room.idle(loaded.process, false);
    this.#room.exit();
    this.#queues.left(loaded.row);
    if (this.#waiters.has(loaded.row.id)) this.#tellEnd(loaded);
    this.caughtUp(loaded.row.number);
    this.#ward.calm(loaded.row.id);
    if (loaded.observing !== undefined) this.#ward.observeRun(loaded, loaded.observing);
    else if (reason.type !== "normal" && reason !== PARKED) this.#ward.failed(loaded, reason);
    else if (loaded.reading !== "no" || (reason !== PARKED && loaded.process.owes))
      void this.#takeNumber(loaded.row.number);
    this.#vacated();
    this.#mayStop();
  }

  /** Lets running steps end, gives the flows back to the store, then stops. */
  parentExit(ctx: Context<HostMessage>, reason: ExitReason): void {
    this.#stopping = reason;
    for (const service of this.#services) this.kernel.links.exit(ctx.self, service, SHUTDOWN, "exit");
    this.#rest();
    for (const { pid } of this.#loaded.values())
      pid.process?.deliver({ type: "wish", wish: "stop" }, undefined);
    ctx.runAfter(this.limits.drainMs, () => this.kernel.stop(ctx.self.process as never, reason, undefined));
    this.#mayStop();
  }

  #mayStop(): void {
    if (this.#stopping !== undefined && this.#loaded.size === 0 && this.#taking.size === 0)
      this.kernel.stop(this.#ctx.self.process as never, this.#stopping, undefined);
  }

  async terminate(): Promise<void> {
    this.#rest();
    for (const { pid } of this.#loaded.values())
      pid.process && this.kernel.stop(pid.process, KILLED_BY_HOST, undefined);
    await this.#letGo();
  }

  /** Gives back the claim and the store. Whoever takes the flows next need not wait, and what this host writes late is refused. */
  async #letGo(): Promise<void> {
    this.#unwatch?.();
    this.#rest();
    try {
      await (this.claim as Claim | undefined)?.release();
    } catch {
      // The claim was lost before: it is what release asks for.
    }
    await (this.store as Store | undefined)?.close();
  }

  // ── what flows use ───────────────────────────────────────────────────────────────────────────────────────────

  now(): number {
    return Math.floor(this.kernel.env.now() + this.#offsetMs);
  }

  /** The store's clock goes on by the monotonic clock of this host, so jumps of the wall clock move nothing. */
  async #syncClock(): Promise<void> {
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

  isForHospital(row: FlowRow, error: unknown, at: Suspension, kind: SymptomKind | undefined): boolean {
    return this.#ward.isForHospital(row, error, at, kind);
  }

  after(ms: number, fn: () => void): void {
    if (this.#ctx.alive) this.#ctx.runAfter(ms, fn);
  }

  alarmAt(at: number): void {
    if (this.#ctx.alive) this.#alarmAt(at);
  }

  rerun(row: FlowRow): void {
    if (row.holder === this.claim.token) void this.#rerun(row);
    else void this.#takeNumber(row.number);
  }

  takeNumber(number: number): void {
    void this.#takeNumber(number);
  }

  look(): void {
    void this.#poll();
  }

  caughtUp(number: number): void {
    const waiting = this.#replaying.get(number) ?? [];
    this.#replaying.delete(number);
    for (const go of waiting) go();
  }

  /** The answer of a flow's code to a query. A flow that has left memory is woken for it. */
  async #answerOf(id: string, query: string): Promise<(argument: unknown) => unknown> {
    const { number, status } = await this.#rowOf(id);
    if (!ENDED.includes(status) && this.#loaded.get(number)?.process.isCaughtUp !== true) {
      const caughtUp = new Promise<void>((go) => {
        this.#replaying.set(number, [...(this.#replaying.get(number) ?? []), go]);
      });
      void this.#takeNumber(number);
      await caughtUp;
    }
    const answers = this.#loaded.get(number)?.process.answers;
    const answer = answers?.get(query);
    if (answer === undefined) throw new FlowQueryError(id, query, status, answers && [...answers.keys()]);
    return answer;
  }

  async childOf(parent: FlowRow, flow: AnyFlow, input: unknown, id: string, key: string): Promise<Extra> {
    const definition = this.#known(flow.name, flow.version);
    // Of a flow that somebody else started, the parent would never hear the end.
    const known = await this.#find(id);
    if (known !== undefined && (known.parent !== parent.number || known.parent_key !== key))
      throw new FlowIdTakenError(id, known.name, flow.name);
    const stored = await inputOf(this.payloads, definition, input, id);
    return this.#startOf(id, definition, stored, { parent: parent.number, parentKey: key });
  }

  /** What is written to start a flow that any host may take, unless there is one with this id. */
  #startOf(
    id: string,
    { name, version, options }: FlowDefinition<never>,
    input: Stored,
    more: Pick<NewFlow, "parent" | "parentKey"> = {},
  ): Extra {
    const timing = checkTiming({}, options.queue, this.#settings.queues);
    const row = this.newRow({ id, name, version, input, timing, ...more });
    const writes: Write[] = [];
    const kept = this.blobs.split(input, `input/${id}`, writes);
    return {
      writes: [
        {
          type: "offer",
          table: flows,
          row: { ...row, input: kept, ...(row.waiting === null && { due: 0 }) },
        },
        ...writes,
      ],
      notify: [row.waiting === null ? BORN_TOPIC + id : MORE_TOPIC + row.waiting],
    };
  }

  #known(name: string, version: number | undefined): FlowDefinition<never> {
    const definition = this.definition(name, version);
    if (definition === undefined) throw new UnknownFlowError(name, version, this.#settings.definitions.names);
    return definition;
  }

  async answererOf(flow: AnyFlow, id: string): Promise<Extra> {
    const definition = this.#known(flow.name, flow.version);
    return this.#startOf(id, definition, await inputOf(this.payloads, definition, undefined, id));
  }

  /** A flow has ended that others wait for: tells them, once. */
  async #tellPeers(row: FlowRow): Promise<void> {
    const [outcome = null] = await resolved(this.store, [row.outcome]);
    const { letters, writes } = await farewells(this.store, { ...row, outcome }, (stored) =>
      this.payloads.decode(stored),
    );
    const parts: Extra[] = [];
    for (const { to, topic, id, message } of letters)
      if ((await this.#find(to)) !== undefined) parts.push(await this.#mail(to, topic, message, id, row.id));
    await this.#apply({
      expect: [{ table: flows, key: [row.number], is: { due: 0, mail: row.mail } }],
      writes: [
        { type: "update", table: flows, key: [row.number], set: { due: null } },
        ...writes,
        ...parts.flatMap((part) => part.writes),
      ],
      notify: parts.flatMap(({ notify }) => notify ?? []),
    });
  }

  async mailTo(from: FlowRow, id: string, topic: string, value: unknown, key: string): Promise<Extra> {
    return this.#mail(id, topic, value, `${from.number}/${from.generation}/${key}`, from.id);
  }

  async #mail(
    id: string,
    topic: string,
    value: unknown,
    messageId: string,
    sender: string | null,
  ): Promise<Extra> {
    const row = await this.#rowOf(id);
    const name = topic.startsWith(MESSAGE) ? topic.slice(MESSAGE.length) : undefined;
    const schemas = this.definition(row.name, row.version)?.options.messages;
    const schema = name !== undefined && schemas && Object.hasOwn(schemas, name) ? schemas[name] : undefined;
    const good = await checked(schema, value, { type: "message", flow: row.name, topic: name ?? topic });
    const stored = await this.payloads.encode(good, `message "${topic}" to flow ${id}`, "message");
    const writes: Write[] = [];
    const kept = this.blobs.split(stored, `flow/${row.number}`, writes);
    return {
      writes: [...writes, ...letter(row.number, messageId, topic, kept, sender, this.now())],
      notify: [MAIL_TOPIC + row.number],
    };
  }

  async wishFor(id: string, wish: "cancel" | "kill" | "pause" | "resume"): Promise<Extra> {
    const row = await this.#rowOf(id);
    if (ENDED.includes(row.status)) return { writes: [] };
    const set =
      wish === "resume"
        ? { wish: null, status: row.status === "paused" ? "waiting" : row.status, due: 0 }
        : { wish, due: 0 };
    return {
      writes: [{ type: "update", table: flows, key: [row.number], set: { ...set, updated: this.now() } }],
      expect: [{ table: flows, key: [row.number], is: { status: row.status } }],
      notify: [WISH_TOPIC + row.number],
    };
  }

  async #find(id: string): Promise<FlowRow | undefined> {
    const [row] = await this.store.scan(flows, { index: "id", prefix: [id], limit: 1 });
    return row;
  }

  async #rowOf(id: string): Promise<FlowRow> {
    const row = await this.#find(id);
    if (row === undefined) throw new FlowNotFoundError(id);
    return row;
  }

  async park(
    number: number,
    lastLetter: number,
    { status, due }: { readonly status: string; readonly due: number | null },
  ): Promise<Letter[]> {
    for (;;) {
      const [row] = await this.store.get(flows, [[number]]);
      const letters = await this.#lettersOf(number, lastLetter);
      if (letters.length > 0) return letters;
      const wished = row !== undefined && row.wish !== null && row.wish !== "pause";
      const at = wished ? 0 : due;
      // Whoever waits for people gives the slot back; whoever waits for time or mail, if the queue says so.
      const leaves = status === "paused" || (at !== 0 && this.#queues.releases(row?.slot ?? null));
      try {
        await this.store.commit({
          claim: this.claim,
          expect: [{ table: flows, key: [number], is: { mail: row?.mail ?? 0, wish: row?.wish ?? null } }],
          writes: [
            {
              type: "update",
              table: flows,
              key: [number],
              set: {
                status,
                due: at,
                holder: null,
                updated: this.now(),
                ...(status === "paused" && { wish: null }),
                ...(leaves && { slot: null }),
              },
            },
          ],
          notify: leaves && row !== undefined ? roomTopics(row) : [],
        });
      } catch (error) {
        if (error instanceof ConflictError) continue;
        throw error;
      }
      if (at !== null) this.#alarmAt(at);
      return [];
    }
  }

  async #lettersOf(number: number, after: number): Promise<Letter[]> {
    const rows = await this.store.scan(mail, { index: "unread", prefix: [number], after, limit: 10_000 });
    const values = await resolved(
      this.store,
      rows.map(({ value }) => value),
    );
    return rows.map(({ position, topic }, i) => ({ position, topic, value: values[i] ?? null }));
  }

  // ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────

  async #answer(request: HostRequest): Promise<void> {
    const ctx = this.#ctx;
    switch (request.type) {
      case "start":
        return ctx.reply(request.replyTo, await this.#start(request.flow));
      case "find":
        return ctx.reply(request.replyTo, await this.#find(request.id));
      case "result":
        return this.#awaitEnd(request.id, request.replyTo);
      case "send": {
        const { id, topic, value, messageId = this.kernel.env.id() } = request;
        await this.#apply(await this.#mail(id, `message/${topic}`, value, `outside/${messageId}`, null));
        return ctx.reply(request.replyTo, undefined);
      }
      case "wish":
        await this.#retried(async () => this.#apply(await this.wishFor(request.id, request.wish)));
        return ctx.reply(request.replyTo, undefined);
      case "hospital":
        return ctx.reply(
          request.replyTo,
          await this.#ward.answer(request.ask, this.#settings.definitions.all),
        );
      case "query": {
        const answer = await this.#answerOf(request.id, request.name);
        return ctx.reply(request.replyTo, answer(request.argument));
      }
      case "schedules":
        return ctx.reply(request.replyTo, await this.#schedules.answer(request.ask));
      default:
        request satisfies never;
    }
  }

  async #apply({ writes, expect = [], notify = [] }: Extra): Promise<void> {
    await this.store.commit({ claim: this.claim, writes, expect, notify });
  }

  /** Decides again when another writer was faster. */
  async #retried(act: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await act();
      } catch (error) {
        if (!(error instanceof ConflictError)) throw error;
      }
    }
  }

  async #start(flow: NewFlow): Promise<Started> {
    this.#known(flow.name, flow.version);
    if (flow.timing?.debounce !== undefined) return this.#startOnce(flow, flow.timing.debounce);
    const row = this.newRow(flow);
    const writes: Write[] = [];
    const input = this.blobs.split(row.input, `input/${row.id}`, writes);
    const isReady = row.waiting === null && row.due === null;
    const atOnce = isReady && this.#room.start();
    const begun = isReady ? { ...row, due: 0 } : row;
    const held = atOnce ? { ...row, status: "running", holder: this.claim.token } : begun;
    let number = 0;
    try {
      const { results } = await this.store.commit({
        claim: this.claim,
        writes: [{ type: "offer", table: flows, row: { ...held, input } }, ...writes],
        notify: topicsOfStart(row, isReady && !atOnce && this.store.shared),
      });
      number = results[0] as number;
      if (number > 0 && atOnce) this.#run({ ...held, number }, [], []);
    } finally {
      if (atOnce && number <= 0) this.#room.exit();
      if (isReady) this.#vacated();
    }
    if (number <= 0) return this.#attached(await this.#rowOf(row.id), row.name);
    if (row.due !== null) this.#alarmAt(row.due);
    return { id: row.id, attached: false };
  }

  /** Starts a flow unless one waits for others like it: then that one gets the input, and more time. */
  async #startOnce(flow: NewFlow, { key, waitMs, atMostMs }: Debounce): Promise<Started> {
    const debounce = `${flow.name}/${key}`;
    for (;;) {
      const [found] = await this.store.scan(flows, { index: "debounce", prefix: [debounce], limit: 1 });
      const due = Math.min(this.now() + waitMs, (found?.created ?? this.now()) + atMostMs);
      const fresh = { ...this.newRow(flow), waiting: null, due, debounce };
      const writes: Write[] = [];
      // The input that it had, and that is not read any more.
      if (found !== undefined) writes.push(releaseAll(`input/${found.id}`));
      const input = this.blobs.split(fresh.input, `input/${found?.id ?? flow.id}`, writes);
      // One that waits in its queue already keeps its place there.
      const time = found !== undefined && found.waiting === null ? { due } : {};
      const set = { input, updated: this.now(), ...time };
      const change: WriteSet =
        found === undefined
          ? { writes: [{ type: "insert", table: flows, row: { ...fresh, input } }, ...writes] }
          : {
              expect: [{ table: flows, key: [found.number], is: { debounce, waiting: found.waiting } }],
              writes: [...writes, { type: "update", table: flows, key: [found.number], set }],
            };
      try {
        await this.store.commit({ claim: this.claim, ...change });
        this.#alarmAt(due);
        return { id: found?.id ?? flow.id, attached: found !== undefined };
      } catch (error) {
        if (!(error instanceof ConflictError)) throw error;
        const same = await this.#find(flow.id);
        if (same !== undefined && same.debounce !== debounce) return this.#attached(same, flow.name);
      }
    }
  }

  #attached(row: FlowRow, name: string): Started {
    if (row.name !== name) throw new FlowIdTakenError(row.id, row.name, name);
    return { id: row.id, attached: true };
  }

  newRow(flow: NewFlow): Omit<FlowRow, "number"> {
    const now = this.now();
    const { queue, lane = "", rank = LOWEST_RANK, delayMs = 0 } = flow.timing ?? {};
    return {
      id: flow.id,
      name: flow.name,
      version: flow.version,
      status: "pending",
      input: flow.input,
      outcome: null,
      seed: flow.id,
      generation: 0,
      holder: null,
      due: delayMs === 0 ? null : now + delayMs,
      mail: 0,
      crashes: 0,
      taken_at: 0,
      parent: flow.parent ?? null,
      parent_key: flow.parentKey ?? null,
      wish: null,
      queue: queue ?? null,
      queue_key: lane,
      rank,
      waiting: delayMs === 0 ? (queue ?? null) : null,
      slot: null,
      debounce: null,
      hospital: null,
      progress: null,
      trace: null,
      created: now,
      updated: now,
      finished: null,
    };
  }

  async #awaitEnd(id: string, replyTo: ReplyTo<FlowEnd>): Promise<void> {
    // Waits first: the end may come while the row is read.
    this.#waiters.add(id, replyTo);
    // Of a flow that runs here they are told when it leaves memory.
    if (this.#byId.has(id)) return;
    await this.#rowOf(id).then(
      (row) => this.#tellWaiters(row),
      (error: unknown) => {
        this.#waiters.remove(id, replyTo);
        throw error;
      },
    );
  }

  /** A flow that others wait for has left memory: it has ended, or its row says what became of it. */
  #tellEnd({ row: { id }, process: { ending } }: Loaded): void {
    if (ending === undefined) void this.#checkEnd(id);
    else
      for (const one of this.#waiters.take(id))
        this.#ctx.reply(one, { status: ending.status, outcome: ending.value });
  }

  async #tellWaiters(found: FlowRow): Promise<void> {
    if (!ENDED.includes(found.status)) return;
    const [outcome = null] = await resolved(this.store, [found.outcome]);
    const row = { ...found, outcome };
    for (const one of this.#waiters.take(row.id)) this.#ctx.reply(one, row);
  }

  // ── news ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #noted(topic: string | undefined): void {
    if (topic === undefined) {
      for (const loaded of this.#loaded.values()) void this.#readMail(loaded);
      for (const id of this.#waiters.ids()) void this.#checkEnd(id);
      this.#queues.look();
      this.#schedules.keeper.look();
      void this.#poll();
      return;
    }
    if (this.#queues.noted(topic)) return;
    if (topic === SCHEDULE_TOPIC) {
      this.#schedules.keeper.look();
      return;
    }
    if (topic.startsWith(MAIL_TOPIC)) {
      const number = Number(topic.slice(MAIL_TOPIC.length));
      const loaded = this.#loaded.get(number);
      if (loaded === undefined) void this.#takeNumber(number);
      else void this.#readMail(loaded);
    } else if (topic.startsWith(WISH_TOPIC)) void this.#wished(Number(topic.slice(WISH_TOPIC.length)));
    else if (topic.startsWith(READY_TOPIC)) void this.#takeNumber(Number(topic.slice(READY_TOPIC.length)));
    else if (topic.startsWith(BORN_TOPIC)) void this.#takeBorn(topic.slice(BORN_TOPIC.length));
    else if (topic.startsWith(END_TOPIC)) {
      const id = topic.slice(END_TOPIC.length);
      if (this.#waiters.has(id) && !this.#byId.has(id)) void this.#checkEnd(id);
    }
  }

  async #checkEnd(id: string): Promise<void> {
    const row = await this.#find(id);
    if (row !== undefined) await this.#tellWaiters(row);
  }

  async #readMail(loaded: Loaded): Promise<void> {
    if (loaded.reading !== "no") {
      loaded.reading = "again";
      return;
    }
    do {
      loaded.reading = "once";
      const letters = await this.#lettersOf(loaded.row.number, 0);
      if (letters.length > 0) loaded.pid.process?.deliver({ type: "mail", letters }, undefined);
    } while ((loaded.reading as Loaded["reading"]) === "again");
    loaded.reading = "no";
  }

  async #wished(number: number): Promise<void> {
    const [row] = await this.store.get(flows, [[number]]);
    if (row === undefined || ENDED.includes(row.status)) return;
    const loaded = this.#loaded.get(number);
    if (loaded === undefined) return this.#take(row);
    if (row.wish?.startsWith(OBSERVE)) this.#observe(loaded, row.wish.slice(OBSERVE.length));
    else if (row.wish === "cancel" || row.wish === "kill" || row.wish === "pause")
      loaded.pid.process?.deliver({ type: "wish", wish: row.wish }, undefined);
  }

  /** Ends the process of a flow, and keeps the flow. */
  #observe(loaded: Loaded, reason: string): void {
    loaded.observing = reason;
    if (loaded.pid.process !== undefined) this.kernel.stop(loaded.pid.process, KILLED_BY_HOST, undefined);
  }

  async #takeBorn(id: string): Promise<void> {
    const row = await this.#find(id);
    if (row !== undefined) await this.#take(row);
  }

  async #takeNumber(number: number): Promise<void> {
    if (this.#taking.has(number)) {
      this.#taking.set(number, true);
      return;
    }
    const [row] = await this.store.get(flows, [[number]]);
    if (row !== undefined) await this.#take(row);
    this.#notComing(number);
  }

  // ── room ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A flow only waits, or works again. */
  idle(flow: Guest, isIdle: boolean): void {
    this.#room.idle(flow, isIdle);
  }

  /** A place may be free: lets those in that wait for one. */
  #vacated(): void {
    if (this.#stopping !== undefined || !this.#ctx.alive) return;
    for (let next = this.#room.next(); next !== undefined; next = this.#room.next()) void this.#letIn(next);
    if (this.#room.takesMore()) void this.#poll();
  }

  async #letIn(number: number): Promise<void> {
    try {
      const [row] = await this.store.get(flows, [[number]]);
      if (row?.holder === this.claim.token) await this.#rerun(row);
      else if (row !== undefined) await this.#take(row);
    } finally {
      this.#notComing(number);
      if (this.#room.decline(number)) this.#vacated();
    }
  }

  /** A flow that was to be taken: if it was not, queries do not wait for it any more. */
  #notComing(number: number): void {
    if (!this.#loaded.has(number) && !this.#taking.has(number) && !this.#room.awaits(number))
      this.caughtUp(number);
  }

  // ── taking ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** Looks for flows of hosts that are gone, and for flows that are due. */
  async #poll(): Promise<void> {
    await this.#syncClock();
    for (let after = 0; ; ) {
      const [first] = await this.store.scan(flows, { index: "holder", after, limit: 1 });
      const token = first?.holder;
      if (token === undefined || token === null) break;
      after = token;
      if (token !== this.claim.token && (await this.#isGone(token))) await this.#adopt(token);
    }
    await this.#look();
  }

  /**
   * Whether the host of a token can write no more. The claims are read after the token was seen, so it is not one that was made
   * since; a claim that lapsed is revoked, so its host cannot renew it late.
   */
  async #isGone(token: number): Promise<boolean> {
    const claim = (await this.store.claims(HOST_CLAIMS)).find((one) => one.token === token);
    if (claim?.held === true) return false;
    // False: it was not held any more. Either way its owner can write no more.
    if (claim !== undefined) await this.store.revoke(claim.name, token);
    return true;
  }

  /** Takes the flows of a host that is gone. */
  async #adopt(token: number): Promise<void> {
    this.#gone.add(token);
    const { takeAtOnce: limit } = this.limits;
    const behind = (after: number): Promise<FlowRow[]> =>
      this.store.scan(flows, { index: "holder", prefix: [token], after, limit });
    for (let rows = await behind(0); rows.length > 0; ) {
      // The next flows are read while these are taken.
      const next = behind((rows.at(-1) as FlowRow).number);
      await Promise.all([next, ...rows.map((row) => this.#take(row))]);
      if (this.#room.isFull) return this.#room.wantsMore();
      rows = await next;
    }
  }

  /** Takes flows that are due, and sets the alarm for the next. */
  async #look(): Promise<void> {
    if (this.#stopping !== undefined) return;
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
    const limit = this.limits.takeAtOnce;
    for (let after = -1; ; ) {
      const rows = await this.store.scan(flows, { index: "due", after, limit });
      const now = this.now();
      const due = rows.filter((row) => (row.due as number) <= now);
      await Promise.all(due.map((row) => this.#takeDue(row)));
      const next = rows[due.length];
      if (next !== undefined) this.#alarmAt(next.due as number);
      if (due.length < limit || this.#room.isFull) return;
      after = await this.#behind(due, after);
    }
  }

  /** Where a look goes on behind a page of due rows. Rows that were taken are due no more, so the page is read again without them. */
  async #behind(page: readonly FlowRow[], after: number): Promise<number> {
    const rows = await this.store.get(
      flows,
      page.map(({ number }) => [number]),
    );
    const isSame = rows.every((row, i) => row?.due === page[i]?.due);
    return isSame ? ((page.at(-1) as FlowRow).due as number) : after;
  }

  async #takeDue(row: FlowRow): Promise<void> {
    if (isTakeable(row, this.claim.token) || ENDED.includes(row.status)) return this.#take(row);
    // News for a flow that waits for people: nobody looks for it by time.
    if (row.holder === null)
      await this.store
        .commit({
          claim: this.claim,
          expect: [{ table: flows, key: [row.number], is: { status: row.status, due: row.due } }],
          writes: [{ type: "update", table: flows, key: [row.number], set: { due: null } }],
        })
        .catch((error: unknown) => {
          if (!(error instanceof ConflictError)) throw error;
        });
  }

  #alarmAt(at: number): void {
    if (this.#alarm !== undefined) {
      if (this.#alarm.at <= at) return;
      this.#ctx.cancel(this.#alarm.ref);
    }
    const ref = this.#ctx.sendAfter(this.#ctx.self, { type: "look" }, Math.max(1, at - this.now()));
    this.#alarm = { ref, at };
  }

  /**
   * Takes a flow that nobody holds, and runs it. News of a flow that another host holds is for that host: it is taken from it only
   * when that host is gone.
   */
  async #take(row: FlowRow): Promise<void> {
    const { number, holder } = row;
    if (holder !== null && !this.#gone.has(holder)) return;
    if (this.#stopping !== undefined || this.#loaded.has(number)) return;
    if (this.#taking.has(number)) {
      this.#taking.set(number, true);
      return;
    }
    if (ENDED.includes(row.status) && row.due === 0) await this.#alone(row, () => this.#tellPeers(row));
    else if (isTakeable(row, this.claim.token)) await this.#alone(row, () => this.#tryRow(row));
  }

  /** One at a time for each flow. A flow that cannot be taken keeps no other from it. */
  async #alone(row: FlowRow, act: () => Promise<void>): Promise<void> {
    const { number } = row;
    this.#taking.set(number, false);
    try {
      await act();
    } catch (error) {
      this.#notTaken(row, error);
    } finally {
      const again = this.#taking.get(number);
      this.#taking.delete(number);
      const loaded = this.#loaded.get(number);
      if (loaded === undefined) this.#ward.calm(row.id);
      this.#mayStop();
      if (again !== true) this.#notComing(number);
      else void (loaded === undefined ? this.#takeNumber(number) : this.#readMail(loaded));
    }
  }

  #notTaken(row: FlowRow, error: unknown): void {
    if (error instanceof FencedError || error instanceof StoreClosedError) return;
    // Another host, or an operator, was faster.
    if (error instanceof ConflictError) this.#taking.set(row.number, true);
    else if (error instanceof StoreError) this.after(STORE_AGAIN_MS, () => void this.#poll());
    else {
      this.#queues.left(row);
      this.#ward.quarantine(row, error, kindOf(error) === "code" ? "engine" : undefined);
    }
  }

  async #tryRow(found: FlowRow): Promise<void> {
    let row = found;
    if (row.status === "hospitalized") {
      const patient = await this.#ward.patient(row);
      if (patient === undefined) return;
      row = patient;
    } else if (this.#ward.keepsByWish(row)) return;
    if (this.definition(row.name, row.version) === undefined) this.#ward.unknown(row);
    else if (needsSlot(row)) await this.#queueUp(row);
    // A look at what is due or held by hosts that are gone finds the flow again, if the list of those that wait is full.
    else await this.#inRoom(row.number, row.due === null && row.holder === null, () => this.#takeRow(row));
  }

  /** Runs a flow if there is room for it. @param run - whether it ran */
  async #inRoom(number: number, isKept: boolean, run: () => Promise<boolean>): Promise<void> {
    if (!this.#room.enter(number, isKept)) return;
    let ran = false;
    try {
      ran = await run();
    } finally {
      if (!ran) {
        this.#room.exit();
        this.#vacated();
      }
    }
  }

  async #takeRow(row: FlowRow): Promise<boolean> {
    const { number } = row;
    // A flow that was sent nothing so far has no mail: that it is so when it is taken, the commit expects.
    const unread = row.mail === 0 ? [] : this.#lettersOf(number, 0);
    const [history, letters] = await Promise.all([this.#historyOf(row), unread]);
    const crashes = row.holder !== null && row.taken_at === history.length ? row.crashes + 1 : 0;
    if (!this.#ward.mayRun(row, crashes)) return false;
    const set = {
      status: "running",
      holder: this.claim.token,
      due: null,
      crashes,
      taken_at: history.length,
      hospital: row.hospital,
      updated: this.now(),
      ...(row.waiting !== null && { waiting: null }),
      // To name the column of a unique index is to read and write the row as a whole.
      ...(row.debounce !== null && { debounce: null }),
    };
    const [input = row.input] = await resolved(this.store, [row.input]);
    await this.store.commit({
      claim: this.claim,
      expect: [
        { table: flows, key: [number], is: { holder: row.holder, status: row.status, mail: row.mail } },
      ],
      writes: [{ type: "update", table: flows, key: [number], set }],
    });
    this.#run({ ...row, ...set, input }, history, letters);
    return true;
  }

  /** A flow whose time has come, and which has no slot of its queue, waits for one. */
  async #queueUp({ number, queue, status, slot, due }: FlowRow): Promise<void> {
    try {
      await this.store.commit({
        claim: this.claim,
        expect: [{ table: flows, key: [number], is: { holder: null, status, slot, due } }],
        writes: [{ type: "update", table: flows, key: [number], set: { waiting: queue, due: null } }],
        notify: [MORE_TOPIC + queue],
      });
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      this.#taking.set(number, true);
    }
  }

  /** Runs flows that have got a slot, and are held by this host. */
  async #runAdmitted(numbers: readonly number[]): Promise<void> {
    this.#queues.admitted(numbers);
    const rows = await this.store.get(
      flows,
      numbers.map((number) => [number]),
    );
    await Promise.all(rows.map((row) => row && this.#alone(row, () => this.#runHeld(row))));
  }

  /** Runs a flow that this host holds from its last checkpoint. */
  async #rerun(known: FlowRow): Promise<void> {
    const { number } = known;
    if (this.#stopping !== undefined || this.#loaded.has(number) || this.#taking.has(number)) return;
    await this.#alone(known, async () => {
      const [row] = await this.store.get(flows, [[number]]);
      if (row !== undefined) await this.#runHeld(row);
    });
  }

  async #runHeld(row: FlowRow): Promise<void> {
    if (row.holder !== this.claim.token || row.status !== "running" || this.#ward.keepsByWish(row)) return;
    await this.#inRoom(row.number, true, async () => {
      const [input = row.input] = await resolved(this.store, [row.input]);
      const read = await Promise.all([this.#historyOf(row), this.#lettersOf(row.number, 0)]);
      if (this.#stopping !== undefined) return false;
      this.#run({ ...row, input }, ...read);
      return true;
    });
  }

  /** @throws JournalDamagedError */
  async #historyOf({ number, id }: FlowRow): Promise<Entry[]> {
    const history: Entry[] = [];
    for (;;) {
      const rows = await this.store.scan(journal, {
        index: "flow",
        prefix: [number],
        from: history.length,
        limit: 10_000,
      });
      const values = await resolved(
        this.store,
        rows.map(({ value }) => value),
      );
      for (const [i, { seq, head }] of rows.entries()) {
        if (seq !== history.length) throw new JournalDamagedError(id, history.length, "is missing");
        try {
          history.push(decodeEntry(head, values[i] ?? null));
        } catch (error) {
          throw new JournalDamagedError(id, seq, "cannot be read", { cause: error });
        }
      }
      if (rows.length < 10_000) return history;
    }
  }

  #run(row: FlowRow, history: readonly Entry[], letters: readonly Letter[]): void {
    const definition = this.#known(row.name, row.version);
    const process = new FlowProcess(this, row, definition, history, letters);
    const run = this.#ward.begin(row);
    this.#queues.taken(row);
    const pid = this.#ctx.spawnLink(process, { label: `flow ${row.id}` });
    const loaded: Loaded = { row, process, pid, run, observing: undefined, reading: "no" };
    this.#loaded.set(row.number, loaded);
    this.#byPid.set(pid, loaded);
    this.#byId.set(row.id, loaded);
  }
}

/** Topics of messages that users send; sessions and children have others. */
const MESSAGE = "message/";

/** Topics of the commit that starts a flow. `isLeft`: another host may take it. */
function topicsOfStart({ id, waiting }: Omit<FlowRow, "number">, isLeft: boolean): string[] {
  if (waiting !== null) return [MORE_TOPIC + waiting];
  return isLeft ? [BORN_TOPIC + id] : [];
}

const KILLED_BY_HOST = crash(new StoreClosedError("of the host that stops"));

function isTakeable({ status, holder }: FlowRow, token: number): boolean {
  if (holder === token) return false;
  if (status === "hospitalized") return holder === null;
  return status === "pending" || status === "waiting" || (status === "running" && holder !== null);
}

/** Checks and encodes an input. */
export async function inputOf(
  payloads: Payloads,
  { name, options }: FlowDefinition<never>,
  input: unknown,
  id: string,
): Promise<Stored> {
  const good = await checked(options.input, input, { type: "input", flow: name });
  return payloads.encode(good, `flow ${name} "${id}"`, "input");
}

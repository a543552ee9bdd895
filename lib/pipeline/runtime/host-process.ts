// The process of a pipeline host. It takes executions from its catalogue, runs each in a process of its own, starts a process again that
// has crashed, and answers callers that wait for an end. A store that fails ends no execution: a failed operation is retried until it succeeds.

import { isCurable } from "../../host/background/background.js";
import { Waiters } from "../../host/handles/waiters.js";
import { HostLife, type Service } from "../../host/host-life.js";
import { type HostSignals, SignalLooks } from "../../host/signals.js";
import { labelOf } from "../../host/versions.js";
import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Signal } from "../../process/entries.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import { type ExitReason, formatReason, KILL, SHUTDOWN } from "../../process/reason.js";
import type { ReplyTo } from "../../process/request.js";
import { FencedError } from "../../store/index.js";
import { Queue } from "../../supervisor/queue.js";
import { countRestart, type RestartLimits } from "../../supervisor/restart-rule.js";
import { ExecutionGoneError } from "../ledger/errors.js";
import type { Ended, Publication } from "../ledger/ledger.js";
import type { GivenUp, GiveUpRequest, Moved, MoveRequest } from "../operations/change-options.js";
import {
  ExecutionIdTakenError,
  ExecutionLostError,
  ExecutionNotFoundError,
  NoLineageError,
  UnknownPipelineError,
} from "../operations/errors.js";
import type { ExecutionFigures } from "../operations/figures.js";
import type { ReplayStarted } from "../operations/operations.js";
import type { ReplayRequest } from "../operations/replay-options.js";
import { type PipelineRetention, retain } from "../operations/retention.js";
import type { CatalogueNotice, ExecutionRecord, OpenTables } from "./catalogue.js";
import { BEGIN_AGAIN, Execution, type ExecutionMessage } from "./execution.js";
import type { PipelineHostSettings } from "./options.js";
import type { PipelinePlan } from "./plan.js";
import { Poll } from "./poll.js";
import type { PipelineProgress } from "./progress.js";
import { StoreCatalogue } from "./store-catalogue.js";
import { tellStranded } from "./stranded.js";
import { decide as decideStranded, initial as noneStranded, type StrandedState } from "./stranded-machine.js";
import { VolatileCatalogue } from "./volatile-catalogue.js";

/** A request to a host about an execution. */
type About<Type extends string, Answer, More = unknown> = {
  readonly type: Type;
  /** The execution. */
  readonly id: string;
  readonly replyTo: ReplyTo<Answer>;
} & More;

interface NewExecution {
  readonly pipeline: string;
  readonly version: number;
  readonly input: unknown;
  readonly messages: readonly Publication[];
  readonly trace: string | undefined;
  /** The call that starts it: the id of the execution if it was made for this start. */
  readonly request: string;
}

interface NewReplay {
  /** The id of the new execution. */
  readonly to: string;
  readonly request: ReplayRequest;
}

/** A request to a host. */
export type HostRequest =
  | { readonly type: "tables"; readonly replyTo: ReplyTo<OpenTables | undefined> }
  | { readonly type: "signals"; readonly replyTo: ReplyTo<HostSignals> }
  | About<"start", { readonly attached: boolean }, NewExecution>
  | About<"replay", ReplayStarted, NewReplay>
  | About<"give up", GivenUp, { readonly request: GiveUpRequest }>
  | About<"move", Moved, { readonly request: MoveRequest }>
  /** Answered when the execution has ended. */
  | About<"completed", ExecutionRecord>
  | About<"status", ExecutionRecord>
  | About<"progress", PipelineProgress>
  | About<"routes", RoutesHere>
  | About<"pause" | "resume" | "cancel", boolean>;

/** What a host knows of the routes of an execution. */
export interface RoutesHere {
  /** Undefined: it does not run here. */
  readonly figures: ExecutionFigures | undefined;
}

/** The messages of a host's process. */
export type HostMessage =
  | HostRequest
  | CatalogueNotice
  /** Metrics ask for the signals of the host. */
  | { readonly type: "signals wanted" };

type HostCatalogue = VolatileCatalogue | StoreCatalogue;

interface Loaded {
  readonly record: ExecutionRecord;
  readonly plan: PipelinePlan;
  execution: Execution | undefined;
  pid: Pid<ExecutionMessage> | undefined;
  /** How it has ended, when its ledger has said so. */
  ended: Ended | undefined;
  /** It goes on since: a dead letter was put back. */
  isReopened: boolean;
  /** Callers that wait for its end to be durable. Undefined: its process is gone, and nothing was written. */
  awaiting: ((as: Ended | undefined) => void)[];
  isPaused: boolean;
  restarts: Queue<number>;
  attempts: number;
  startedMs: number;
}

/** How often the process of an execution is started again before the execution fails. */
const RESTARTS: RestartLimits = { intensity: 5, periodMs: 60_000, backoff: { minMs: 100, maxMs: 10_000 } };
/** How often a host looks for executions that no host can run, in milliseconds. */
const STRANDED_MS = 5_000;
/** How much longer executions have than their workers, to write what these have done. */
const WRITE_MS = 1_000;

export class PipelineHostProcess implements Callbacks<HostMessage> {
  readonly #settings: PipelineHostSettings;
  #ctx!: Context<HostMessage>;
  #kernel!: Kernel;
  #catalogue: HostCatalogue | undefined;
  #life!: HostLife<HostMessage>;
  readonly #loaded = new Map<string, Loaded>();
  readonly #byPid = new Map<Pid, Loaded>();
  readonly #waiters = new Waiters<ReplyTo<ExecutionRecord>>();
  /** Numbers of executions that were taken up, and are in the list of those that have not ended. */
  readonly #lookedAt = new Set<number>();
  /** Versions of executions in flight that no host can run, and when they are looked for next. */
  #stranded: StrandedState = noneStranded;
  #strandedLookMs = 0;
  /** Absent before the host has started, and where executions are in memory alone. */
  #poll: Poll<HostMessage> | undefined;
  /** The signals on the pages of metrics. Absent as the poll is. */
  #signals: SignalLooks | undefined;
  readonly #service: HostService | undefined;

  constructor(settings: PipelineHostSettings, service?: HostService) {
    this.#settings = settings;
    this.#service = service;
  }

  async init(ctx: Context<HostMessage>): Promise<void> {
    this.#ctx = ctx;
    ctx.trapExit(true);
    const { process } = ctx.self;
    const kernel = process?.kernel as Kernel;
    this.#kernel = kernel;
    this.#life = new HostLife(ctx, () => this.#letGo());
    const tell = (notice: HostMessage): void => process?.deliver(notice, undefined);
    const catalogue = await this.#life.whenSpace(() => openCatalogue(kernel, tell, this.#settings));
    this.#catalogue = catalogue;
    if (!ctx.alive) return this.#letGo();
    const { stored } = catalogue;
    if (stored !== undefined) await this.#life.whenSpace(() => this.#takeUp(stored));
    this.#life.started();
    if (stored !== undefined) {
      this.#poll = new Poll(ctx, this.#life, stored, () => this.#lookIn(stored));
      if (stored.shared) this.#poll.start();
      if (this.#settings.retention !== undefined) this.#retain(this.#settings.retention, stored);
      this.#signals = new SignalLooks({
        ...{ kernel, kind: "pipelines", host: this.#settings.name ?? "pipeline host" },
        read: () => this.#readSignals(stored),
        ask: () => tell({ type: "signals wanted" }),
      });
    }
    const service = this.#service?.({ kernel, self: ctx.self as never, alive: ctx.signal });
    if (service !== undefined)
      await this.#life.serve(service).catch(async (error: unknown) => {
        await this.#letGo();
        throw error;
      });
    if (ctx.alive) this.#settings.hosts.add(kernel, ctx.self);
  }

  /** Sums up executions whose time is over, at intervals. */
  #retain(retention: PipelineRetention, stored: StoreCatalogue): void {
    const { signal } = this.#ctx;
    this.#life.background.do("retention", async () => {
      if (this.#ctx.alive) await retain(stored.tables.store, retention, signal);
    });
    this.#ctx.runAfter(retention.everyMs, () => this.#retain(retention, stored));
  }

  /** Takes up executions that were interrupted or that others have started, and announces ends whose announcement was lost. */
  async #takeUp(stored: StoreCatalogue): Promise<void> {
    const unhosted: ExecutionRecord[] = [];
    for (const record of await stored.unfinished(
      (id) => this.#loaded.get(id)?.ended === undefined && this.#loaded.has(id),
    )) {
      this.#load(record);
      if (stored.shared && this.#planFor(record) === undefined) unhosted.push(record);
      else this.#lookAt(record, stored);
    }
    await this.#lookAtUnhosted(unhosted, stored);
    for (const record of await stored.unannounced()) await this.#announce(record.id);
  }

  /** Reports an execution that cannot end with the definition that this host has. Looked at once in the life of a host. */
  #lookAt(record: ExecutionRecord, stored: StoreCatalogue): void {
    if (this.#lookedAt.has(record.number)) return;
    this.#lookedAt.add(record.number);
    const none = this.#settings.plans.has(record.pipeline) ? "no version" : "no pipeline";
    this.#strand(record, this.#planFor(record) ?? none, stored);
  }

  #strand(
    record: ExecutionRecord,
    plan: PipelinePlan | "no pipeline" | "no version",
    stored: StoreCatalogue,
  ): void {
    const { id: execution, pipeline } = record;
    this.#life.background.do(`stranded ${execution}`, async () => {
      const missing = await stored.strand(record, plan);
      if (missing !== undefined && this.#ctx.alive)
        tellStranded(this.#kernel, this.#ctx.self, { execution, pipeline, missing });
    });
  }

  /** Reports executions that neither this host nor another one can run. */
  async #lookAtUnhosted(unhosted: readonly ExecutionRecord[], stored: StoreCatalogue): Promise<void> {
    const now = this.#ctx.now();
    if (unhosted.length === 0 || now < this.#strandedLookMs) return;
    this.#strandedLookMs = now + STRANDED_MS;
    const wanted = unhosted.map(({ pipeline, version = 1 }) => ({ pipeline, version }));
    const offered = await stored.offered();
    const [state, effects] = decideStranded(this.#stranded, { type: "looked", wanted, offered, now });
    this.#stranded = state;
    for (const { pipeline, version, lacks } of effects)
      for (const record of unhosted)
        if (record.pipeline === pipeline && (record.version ?? 1) === version)
          this.#strand(record, lacks, stored);
  }

  /** What it says to an autoscaler. */
  async #readSignals(stored: StoreCatalogue): Promise<HostSignals> {
    const paused = new Set<number>();
    for (const { execution, record } of this.#loaded.values())
      if (execution?.isPaused === true) paused.add(record.number);
    const found = await stored.signals((number) => paused.has(number));
    return this.#life.isStopping ? { ...found, room: 0 } : found;
  }

  async #lookIn(stored: StoreCatalogue): Promise<void> {
    await this.#takeUp(stored);
    // Ends of executions that do not run here.
    for (const id of this.#waiters.ids()) if (!this.#loaded.has(id)) await this.#announce(id);
  }

  handle(_ctx: Context<HostMessage>, message: HostMessage): void {
    switch (message.type) {
      case "lost":
        throw message.error;
      case "look":
        this.#poll?.look();
        return;
      case "signals wanted":
        return void this.#signals?.wanted();
      default:
        this.#answer(message, this.#catalogue as HostCatalogue).catch((error: Error) => {
          if (this.#ctx.alive) this.#ctx.refuse(message.replyTo as ReplyTo<never>, error);
        });
    }
  }

  async #answer(message: HostRequest, catalogue: HostCatalogue): Promise<void> {
    if (message.type === "tables") return this.#reply(message.replyTo, catalogue.stored?.tables);
    if (message.type === "signals")
      return this.#reply(message.replyTo, await this.#readSignals(storedOf(catalogue)));
    if (message.type === "start") {
      const attached = await this.#start(message, catalogue);
      return this.#reply(message.replyTo, { attached });
    }
    if (message.type === "completed") return this.#wait(message, catalogue);
    const record = await found(catalogue, message.id);
    switch (message.type) {
      case "status":
        return this.#reply(message.replyTo, record);
      case "progress":
        return this.#reply(message.replyTo, this.#progressOf(record));
      case "routes":
        return this.#reply(message.replyTo, this.#routesOf(record));
      case "pause":
      case "resume":
        return this.#reply(message.replyTo, await this.#pause(record, message.type, catalogue));
      case "cancel":
        return this.#reply(message.replyTo, await this.#cancel(record, catalogue));
      case "give up": {
        const givenUp = await storedOf(catalogue).giveUp(record, message.request);
        // If the execution does not run here, nothing else announces that it has completed.
        await this.#announce(record.id);
        return this.#reply(message.replyTo, givenUp);
      }
      case "move": {
        const plan = this.#planFor(record) ?? this.#planOf(record.pipeline, record.version ?? 1);
        return this.#reply(message.replyTo, await storedOf(catalogue).move(record, plan, message.request));
      }
      case "replay":
        return this.#reply(message.replyTo, await this.#replay(record, message, catalogue));
      default:
        message satisfies never;
    }
  }

  #reply<R>(to: ReplyTo<R>, value: R): void {
    if (this.#ctx.alive) this.#ctx.reply(to, value);
  }

  async #wait(
    { id, replyTo }: Extract<HostRequest, { type: "completed" }>,
    catalogue: HostCatalogue,
  ): Promise<void> {
    // Listed before the end is looked at: an end in between is not missed.
    this.#waiters.add(id, replyTo);
    try {
      if ((await found(catalogue, id)).ended !== undefined) this.#tellEnd(id);
    } catch (error) {
      this.#waiters.remove(id, replyTo);
      throw error;
    }
  }

  // ── executions ───────────────────────────────────────────────────────────────────────────────────────────────

  async #start(
    { id, pipeline, version, input, messages, trace, request }: Extract<HostRequest, { type: "start" }>,
    catalogue: HostCatalogue,
  ): Promise<boolean> {
    const plan = this.#planOf(pipeline, version);
    const { record, isNew } = await catalogue.create({ id, plan, input, messages, trace, request });
    if (record.pipeline !== pipeline) throw new ExecutionIdTakenError(id, record.pipeline, pipeline);
    if (record.ended === undefined) this.#load(record);
    return !isNew;
  }

  /** @throws UnknownPipelineError */
  #planOf(pipeline: string, version?: number): PipelinePlan {
    const { plans } = this.#settings;
    const plan = plans.get(pipeline, version);
    if (plan === undefined) throw new UnknownPipelineError(labelOf(pipeline, version), plans.labels);
    return plan;
  }

  /** The plan that the execution runs by on this host. */
  #planFor({ pipeline, version = 1 }: ExecutionRecord): PipelinePlan | undefined {
    return this.#settings.plans.running(pipeline, version);
  }

  async #replay(
    record: ExecutionRecord,
    { to, request }: Extract<HostRequest, { type: "replay" }>,
    catalogue: HostCatalogue,
  ): Promise<ReplayStarted> {
    const plan = this.#planOf(record.pipeline);
    const begun = await storedOf(catalogue).replay(record, plan, to, request);
    if (begun.record.ended === undefined) this.#load(begun.record);
    return { id: to, messages: begun.messages };
  }

  /** Runs an execution, unless it runs here already or this host does not have its pipeline. */
  #load(record: ExecutionRecord): void {
    const plan = this.#planFor(record);
    const there = this.#loaded.get(record.id);
    // Its process is about to go, and it goes on: taken up behind that.
    if (there?.ended !== undefined) there.isReopened = true;
    if (plan === undefined || there !== undefined || this.#life.isStopping) return;
    const isPaused = record.status === "paused";
    const loaded: Loaded = {
      record,
      plan,
      isPaused,
      execution: undefined,
      pid: undefined,
      ended: undefined,
      awaiting: [],
      isReopened: false,
      restarts: Queue.of<number>(),
      attempts: 0,
      startedMs: 0,
    };
    this.#loaded.set(record.id, loaded);
    this.#run(loaded);
  }

  #run(loaded: Loaded): void {
    if (this.#life.isStopping) return;
    const { record, plan } = loaded;
    const kernel = this.#kernel;
    const execution = new Execution(
      {
        kernel,
        catalogue: this.#catalogue as HostCatalogue,
        record,
        plan,
        drainMs: this.#settings.drainMs,
        opened: () => this.#life.background.worked(outageOf(record)),
        ended: (as, error) => this.#ended(loaded, as, error),
      },
      loaded.isPaused,
    );
    loaded.execution = execution;
    loaded.startedMs = kernel.env.now();
    loaded.pid = this.#ctx.spawnLink<ExecutionMessage>(execution, { label: `execution ${record.id}` });
    kernel.taps?.internal(loaded.pid, `execution ${record.pipeline}`);
    this.#byPid.set(loaded.pid, loaded);
  }

  /** The ledger of an execution has ended it. Called in the turn of its process. */
  #ended(loaded: Loaded, as: Ended, error: unknown): void {
    if (loaded.ended !== undefined) return;
    loaded.ended = as;
    this.#lookedAt.delete(loaded.record.number);
    for (const tell of loaded.awaiting.splice(0)) tell(as);
    this.#catalogue?.ended(loaded.record, as, error);
    this.#tellEnd(loaded.record.id);
  }

  /** Announces an end, as soon as the store lets it. */
  #tellEnd(id: string): void {
    this.#life.background.do(`end of ${id}`, () => this.#announce(id));
  }

  /** Notifies callers that wait for the end, and notes that the end was announced. */
  async #announce(id: string): Promise<void> {
    const catalogue = this.#catalogue;
    const record = await catalogue?.find(id);
    if (catalogue === undefined || record === undefined || !this.#ctx.alive) return;
    // A dead letter was put back after the end, and before this host announced the end.
    if (record.ended === undefined) return this.#load(record);
    for (const waiter of this.#waiters.take(id)) this.#reply(waiter, record);
    await catalogue.stored?.announced(record);
  }

  signal(ctx: Context<HostMessage>, signal: Signal): void {
    if (signal.type !== "exit" || this.#life.serviceEnded(signal.from, signal.reason)) return;
    const loaded = this.#byPid.get(signal.from);
    if (loaded === undefined) return;
    this.#byPid.delete(signal.from);
    loaded.pid = undefined;
    for (const tell of loaded.awaiting.splice(0)) tell(undefined);
    if (loaded.ended !== undefined || this.#life.isStopping) {
      this.#loaded.delete(loaded.record.id);
      if (loaded.isReopened) this.#poll?.look();
      this.#mayStop();
      return;
    }
    this.#again(ctx, loaded, signal.reason);
  }

  /** The process of an execution has crashed or was killed. */
  #again(ctx: Context<HostMessage>, loaded: Loaded, reason: ExitReason): void {
    const catalogue = this.#catalogue as HostCatalogue;
    const { record } = loaded;
    if (reason === BEGIN_AGAIN) {
      this.#run(loaded);
      return;
    }
    const why: unknown = reason.type === "crash" ? reason.error : new Error(formatReason(reason));
    if (isCurable(why)) {
      // Not its own fault: it is tried for as long as it takes.
      ctx.runAfter(this.#life.background.failed(outageOf(record), why), () => this.#run(loaded));
      return;
    }
    // The claim of the host is lost, and the host ends, too; or the execution was removed.
    if (why instanceof FencedError || why instanceof ExecutionGoneError) {
      this.#loaded.delete(record.id);
      return;
    }
    const at = ctx.now();
    const history = { attempts: loaded.attempts, ranForMs: at - loaded.startedMs };
    const decision = countRestart(RESTARTS, loaded.restarts, history, at, ctx.random());
    loaded.restarts = decision.restarts;
    loaded.attempts = decision.attempts;
    const isStored = catalogue.stored !== undefined;
    if (isStored && decision.intensityLeft >= 0) {
      ctx.runAfter(decision.delayMs, () => this.#run(loaded));
      return;
    }
    const error = isStored ? why : new ExecutionLostError(record.id, formatReason(reason));
    this.#loaded.delete(record.id);
    this.#life.background.do(`failure of ${record.id}`, async () => {
      await catalogue.end(record, "failed", error);
      this.#tellEnd(record.id);
    });
  }

  #progressOf(record: ExecutionRecord): PipelineProgress {
    const { inputs, done, dead, pending } = record;
    const counts = { inputs, done, dead, pending };
    const running = this.#loaded.get(record.id)?.execution;
    return running?.progress(counts) ?? { ...counts, rate: 0, estimateMs: undefined, routes: [] };
  }

  #routesOf(record: ExecutionRecord): RoutesHere {
    return { figures: this.#loaded.get(record.id)?.execution?.figures() };
  }

  async #pause(
    record: ExecutionRecord,
    type: "pause" | "resume",
    catalogue: HostCatalogue,
  ): Promise<boolean> {
    if (!(await catalogue.pause(record, type === "pause"))) return false;
    const loaded = this.#loaded.get(record.id);
    if (loaded !== undefined) {
      loaded.isPaused = type === "pause";
      loaded.pid?.process?.deliver({ type }, undefined);
    }
    return true;
  }

  /** Answered when the end is durable: a caller that has the answer may lose its machine. */
  async #cancel(record: ExecutionRecord, catalogue: HostCatalogue): Promise<boolean> {
    if (record.ended !== undefined) return false;
    const loaded = this.#loaded.get(record.id);
    const running = loaded?.pid?.process;
    if (running !== undefined && loaded?.ended === undefined) {
      const ended = new Promise<Ended | undefined>((tell) => loaded?.awaiting.push(tell));
      const end: ExecutionMessage = { type: "end", as: "cancelled", error: undefined };
      running.deliver(end, undefined);
      const as = await ended;
      if (as !== undefined) return as === "cancelled";
    }
    const isEnded = await catalogue.end(record, "cancelled", undefined);
    await this.#announce(record.id);
    return isEnded;
  }

  // ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** Executions end what they have at hand, and stay in the store. */
  parentExit(ctx: Context<HostMessage>, reason: ExitReason): void {
    this.#life.stop(reason);
    for (const pid of this.#byPid.keys()) ctx.exit(pid, SHUTDOWN);
    ctx.runAfter(this.#settings.drainMs + WRITE_MS, () => {
      for (const pid of this.#byPid.keys()) ctx.exit(pid, KILL);
    });
    this.#mayStop();
  }

  #mayStop(): void {
    if (this.#byPid.size === 0) this.#life.mayStop();
  }

  async terminate(): Promise<void> {
    this.#life.ended();
    await this.#letGo();
  }

  async #letGo(): Promise<void> {
    this.#signals?.close();
    const catalogue = this.#catalogue;
    this.#catalogue = undefined;
    await catalogue?.close();
  }
}

/** The name of an execution in reports of an outage of the store. */
const outageOf = ({ id }: ExecutionRecord): string => `execution ${id}`;

/** Opens the executions of a host. @throws PipelineHostTakenError, StoreError */
async function openCatalogue(
  kernel: Kernel,
  tell: (notice: CatalogueNotice) => void,
  settings: PipelineHostSettings,
): Promise<HostCatalogue> {
  return settings.store === undefined
    ? new VolatileCatalogue(kernel)
    : StoreCatalogue.open(kernel, tell, settings);
}

/** @throws NoLineageError */
function storedOf({ stored }: HostCatalogue): StoreCatalogue {
  if (stored === undefined) throw new NoLineageError();
  return stored;
}

/** @throws ExecutionNotFoundError */
async function found(catalogue: HostCatalogue, id: string): Promise<ExecutionRecord> {
  const record = await catalogue.find(id);
  if (record === undefined) throw new ExecutionNotFoundError(id);
  return record;
}

/** A host, as its service sees it. */
export interface ServedHost {
  readonly kernel: Kernel;
  /** The process of the host. */
  readonly self: Pid<never>;
  /** Aborts when the host ends. */
  readonly alive: AbortSignal;
}

/** Makes a child of a host, when the host has its store. Undefined: the service needs no process. */
export type HostService = (host: ServedHost) => Service | undefined;

// The process of an execution on one host. It opens the ledger and is the supervisor of everything that works on the execution: one
// processor for each route, and one process for each source. It passes the notifications of the ledger on to them.
//
// A child that is killed is replaced, and goes on where it was. A child that crashes takes the execution with it: its host starts the
// execution again from the ledger. Children that fail too often end it.

import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Signal } from "../../process/entries.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import { type ExitReason, formatReason, KILL, NORMAL, SHUTDOWN, shutdown } from "../../process/reason.js";
import { spawnIn } from "../../process/spawn-in.js";
import { Queue } from "../../supervisor/queue.js";
import { countRestart, type RestartLimits } from "../../supervisor/restart-rule.js";
import type {
  Ended,
  LedgerCounts,
  LedgerListener,
  Message,
  Publication,
  SourcePlace,
  Step,
} from "../ledger/ledger.js";
import type { ExecutionFigures } from "../operations/figures.js";
import type { Catalogue, ExecutionRecord } from "./catalogue.js";
import { ExecutionScope } from "./execution-scope.js";
import type { PipelinePlan } from "./plan.js";
import { Processor } from "./processor.js";
import { type PipelineProgress, RateMeter } from "./progress.js";
import { RouteMeter } from "./route-meter.js";
import { SourceReader } from "./source-reader.js";

/** The parts of its host that an execution uses. */
export interface ExecutionPort {
  readonly kernel: Kernel;
  readonly catalogue: Catalogue;
  readonly record: ExecutionRecord;
  readonly plan: PipelinePlan;
  /** How long workers have to end what they have at hand when the host stops. */
  readonly drainMs: number;
  /** Its ledger is open. */
  opened(): void;
  /** Its ledger has ended it. Called before its process exits. */
  ended(as: Ended, error: unknown): void;
}

/** The messages that an execution gets. */
export type ExecutionMessage =
  | { readonly type: "ended"; readonly as: Ended }
  | { readonly type: "lost"; readonly error: Error }
  | { readonly type: "pause" }
  | { readonly type: "resume" }
  | { readonly type: "source"; readonly name: string; readonly place: SourcePlace }
  /** People have changed what its processes work on. */
  | { readonly type: "changed"; readonly closed: readonly string[]; readonly isAnyGone: boolean }
  | { readonly type: "end"; readonly as: "failed" | "cancelled"; readonly error: unknown };

/** How often children may be replaced before the execution gives up. */
const RESTARTS: RestartLimits = { intensity: 10, periodMs: 10_000, backoff: { minMs: 50, maxMs: 5_000 } };

/** How fast sources are is measured without the messages that they give. */
const NO_CHILDREN: readonly Publication[] = [];
/** Its host is to start its process again, at once. */
export const BEGIN_AGAIN: ExitReason = shutdown("people have changed what it works on");

interface ExecutionChild {
  readonly behaviour: Processor | SourceReader;
  pid: Pid<never> | undefined;
  attempts: number;
  startedMs: number;
}

export class Execution implements Callbacks<ExecutionMessage>, LedgerListener {
  readonly #port: ExecutionPort;
  #ctx: Context<ExecutionMessage> | undefined;
  /** Present when its ledger is open. */
  #scope: ExecutionScope | undefined;
  readonly #children: ExecutionChild[] = [];
  readonly #byPid = new Map<Pid, ExecutionChild>();
  /** Processors by the queue that they take from, upstream first. */
  readonly #processors = new Map<string, Processor>();
  readonly #sources = new Map<string, SourceReader>();
  readonly #meter = new RateMeter();
  /** What its sources have given here. */
  readonly #given = new Map<string, RouteMeter>();
  #restarts: Queue<number> = Queue.of();
  #isPaused: boolean;
  #stopping: ExitReason | undefined;
  /** Why the execution failed, as far as it is known here. */
  #error: unknown;

  constructor(port: ExecutionPort, isPaused: boolean) {
    this.#port = port;
    this.#isPaused = isPaused;
  }

  /** Its routes ask for nothing. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** How far it is, and how fast it goes; undefined before its ledger is open. */
  progress(counts: LedgerCounts): PipelineProgress | undefined {
    if (this.#scope === undefined) return undefined;
    const now = this.#port.kernel.env.now();
    this.#meter.note(now, counts.done);
    const routes = [...this.#processors.values()].map(({ progress }) => progress);
    return this.#meter.progress(now, counts, routes);
  }

  /** What a look at its routes finds; undefined before its ledger is open. */
  figures(): ExecutionFigures | undefined {
    if (this.#scope === undefined) return undefined;
    const now = this.#port.kernel.env.now();
    const given = [...this.#given].map(([name, meter]) => ({ name, perS: meter.look(now).perS }));
    return { routes: [...this.#processors.values()].map((one) => one.figures()), sources: given };
  }

  // ── the process ──────────────────────────────────────────────────────────────────────────────────────────────

  async init(ctx: Context<ExecutionMessage>): Promise<void> {
    ctx.trapExit(true);
    this.#ctx = ctx;
    const { kernel, catalogue, record, plan } = this.#port;
    const { ledger, sources } = await catalogue.open(record, plan, this);
    this.#port.opened();
    this.#scope = new ExecutionScope(kernel, catalogue, record, ledger, plan);
    // A process that is killed does not terminate: its ledger is closed all the same.
    kernel.links.watch(
      ctx.self,
      () => void ledger.close(),
      () => undefined,
    );
    if (!ctx.alive) return;
    this.#meter.note(kernel.env.now(), ledger.counts().done);
    this.#makeProcessors(this.#scope);
    for (const [name, place] of sources) this.#addSource(this.#scope, name, place);
    if (this.#isPaused) this.#tellAll({ type: "pause" });
    for (const child of this.#children) this.#start(child);
  }

  #addSource(scope: ExecutionScope, name: string, place: SourcePlace): ExecutionChild | undefined {
    const feed = this.#port.plan.sources.find(({ source }) => source.name === name);
    if (feed === undefined || this.#sources.has(name)) return undefined;
    const behaviour = new SourceReader(feed, scope, place);
    this.#sources.set(name, behaviour);
    this.#given.set(name, new RouteMeter());
    return this.#add(behaviour);
  }

  #makeProcessors(scope: ExecutionScope): void {
    for (const route of this.#port.plan.routes) {
      const processor = new Processor(route, scope);
      scope.add(processor);
      this.#processors.set(route.queue, processor);
      this.#add(processor);
    }
  }

  #add(behaviour: ExecutionChild["behaviour"]): ExecutionChild {
    const child: ExecutionChild = { behaviour, pid: undefined, attempts: 0, startedMs: 0 };
    this.#children.push(child);
    return child;
  }

  #start(child: ExecutionChild): void {
    const ctx = this.#ctx;
    if (ctx === undefined || !ctx.alive || this.#stopping !== undefined) return;
    const { behaviour } = child;
    const label =
      behaviour instanceof Processor
        ? `route ${behaviour.plan.name}`
        : `source ${behaviour.plan.source.name}`;
    child.startedMs = ctx.now();
    const { kernel, record } = this.#port;
    child.pid = spawnIn(kernel, record.trace, label, () =>
      ctx.spawnLink<never>(behaviour as Callbacks<never>, { label }),
    );
    this.#byPid.set(child.pid, child);
  }

  handle(_ctx: Context<ExecutionMessage>, message: ExecutionMessage): unknown {
    switch (message.type) {
      case "ended":
        this.#port.ended(message.as, this.#error);
        this.#tellAll({ type: "abort" });
        return this.#stop(NORMAL);
      case "lost":
        throw message.error;
      case "pause":
      case "resume":
        this.#isPaused = message.type === "pause";
        this.#tellAll(message);
        // Batches that were left alone meanwhile.
        return this.#scope?.noteHeld();
      case "source": {
        const child = this.#addSource(this.#scope as ExecutionScope, message.name, message.place);
        if (child === undefined) return;
        if (this.#isPaused) (child.behaviour as SourceReader).tell({ type: "pause" });
        return this.#start(child);
      }
      case "changed":
        return this.#changed(message.closed, message.isAnyGone);
      case "end":
        this.#error = message.error;
        return this.#scope?.ledger.submit(message);
      default:
        return message satisfies never;
    }
  }

  /** Messages that people took away are not worked on any more: all processes end their work at hand, then begin again from the ledger. */
  #changed(closed: readonly string[], isAnyGone: boolean): void {
    const isRead = closed.some((name) => this.#sources.get(name)?.closed === false);
    if (isRead || isAnyGone) this.#stop(BEGIN_AGAIN);
    // Messages in batches may be the only pending ones.
    else this.#scope?.noteHeld();
  }

  #tellAll(notice: { readonly type: "pause" | "resume" | "abort" }): void {
    const { type } = notice;
    for (const processor of this.#processors.values()) processor.tell({ type });
    if (type !== "abort") for (const source of this.#sources.values()) source.tell({ type });
  }

  // ── children ─────────────────────────────────────────────────────────────────────────────────────────────────

  signal(ctx: Context<ExecutionMessage>, signal: Signal): void {
    if (signal.type !== "exit") return;
    const child = this.#byPid.get(signal.from);
    if (child === undefined) return;
    this.#byPid.delete(signal.from);
    child.pid = undefined;
    if (this.#stopping !== undefined) {
      this.#mayExit();
      return;
    }
    const { behaviour } = child;
    const { reason } = signal;
    if (behaviour instanceof SourceReader && behaviour.closed) return;
    const isOwnFault = reason.type === "crash" && !(behaviour instanceof Processor && !behaviour.begun);
    if (isOwnFault) this.#port.kernel.stop(ctx.self.process as never, reason, undefined);
    else this.#again(ctx, child, reason);
  }

  /** Replaces a child that was killed, or whose adapters did not open. */
  #again(ctx: Context<ExecutionMessage>, child: ExecutionChild, reason: ExitReason): void {
    const at = ctx.now();
    const history = { attempts: child.attempts, ranForMs: at - child.startedMs };
    const decision = countRestart(RESTARTS, this.#restarts, history, at, ctx.random());
    const { restarts, intensityLeft, attempts, delayMs } = decision;
    this.#restarts = restarts;
    child.attempts = attempts;
    if (intensityLeft < 0) {
      const error =
        reason.type === "crash" ? reason.error : new Error(`killed too often: ${formatReason(reason)}`);
      this.handle(ctx, { type: "end", as: "failed", error });
      return;
    }
    ctx.runAfter(reason.type === "crash" ? delayMs : 0, () => this.#start(child));
  }

  parentExit(_ctx: Context<ExecutionMessage>, reason: ExitReason): void {
    this.#stop(reason);
  }

  /** Workers end what they have at hand, at most for a while. */
  #stop(reason: ExitReason): void {
    if (this.#stopping !== undefined) return;
    this.#stopping = reason;
    const ctx = this.#ctx as Context<ExecutionMessage>;
    for (const { pid } of this.#children) if (pid !== undefined) ctx.exit(pid, SHUTDOWN);
    ctx.runAfter(this.#port.drainMs, () => {
      for (const { pid } of this.#children) if (pid !== undefined) ctx.exit(pid, KILL);
    });
    this.#mayExit();
  }

  #mayExit(): void {
    const process = this.#ctx?.self.process;
    if (this.#byPid.size === 0 && process !== undefined)
      this.#port.kernel.stop(process, this.#stopping ?? NORMAL, undefined);
  }

  async terminate(): Promise<void> {
    for (const processor of this.#processors.values()) await processor.dispose();
    await this.#scope?.ledger.close();
  }

  // ── the ledger's listener ────────────────────────────────────────────────────────────────────────────────────

  committed(steps: readonly Step[]): void {
    const published = new Map<string, number>();
    for (let i = 0; i < steps.length; i++) this.#over(steps[i] as Step, published);
    this.#tellPublished(published);
    const { env } = this.#port.kernel;
    this.#meter.note(env.now(), this.#scope?.ledger.counts().done ?? 0);
  }

  refused(step: Step): void {
    const published = new Map<string, number>();
    this.#over(step, published);
    this.#tellPublished(published);
  }

  /** A step is not on its way any more. */
  #over(step: Step, published: Map<string, number>): void {
    switch (step.type) {
      case "settle":
        if (step.children.length > 0) add(published, step.message.queue, step.children.length);
        return;
      case "emit": {
        const queue = step.messages[0]?.queue;
        if (queue !== undefined && step.children.length > 0) add(published, queue, step.children.length);
        return;
      }
      case "source":
        this.#given.get(step.source)?.settled(step.messages.length, undefined, NO_CHILDREN);
        this.#sources.get(step.source)?.tell({ type: "published", children: step.messages.length });
        return;
      case "end":
        this.#error ??= step.error;
        return;
      default:
    }
  }

  #tellPublished(published: ReadonlyMap<string, number>): void {
    for (const [queue, children] of published)
      this.#processors.get(queue)?.tell({ type: "published", children });
  }

  arrived(queue: string, messages: readonly Message[]): void {
    this.#processors.get(queue)?.tell({ type: "arrived", messages });
  }

  drained(queue: string): void {
    for (const processor of this.#processors.values())
      if (processor.plan.watched.includes(queue)) processor.tell({ type: "drained", queue });
    for (const source of this.#sources.values())
      if (source.plan.queue === queue) source.tell({ type: "drained" });
  }

  /** Upstream first: the results of the first batches belong into the batches behind them. */
  onlyHeld(): void {
    if (this.#isPaused) return;
    const first = [...this.#processors.values()].find(({ held }) => held > 0);
    first?.tell({ type: "flush" });
  }

  source(name: string, place: SourcePlace): void {
    this.#tell({ type: "source", name, place });
  }

  changed(closed: readonly string[], isAnyGone: boolean): void {
    this.#tell({ type: "changed", closed, isAnyGone });
  }

  paused(isPaused: boolean): void {
    this.#tell({ type: isPaused ? "pause" : "resume" });
  }

  ended(as: Ended): void {
    this.#tell({ type: "ended", as });
  }

  lost(error: Error): void {
    this.#tell({ type: "lost", error });
  }

  #tell(message: ExecutionMessage): void {
    this.#ctx?.self.process?.deliver(message, undefined);
  }
}

function add(counts: Map<string, number>, name: string, more: number): void {
  counts.set(name, (counts.get(name) ?? 0) + more);
}

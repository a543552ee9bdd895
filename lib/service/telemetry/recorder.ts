// The taps of one system. The library calls them; they emit events to subscribers, and update the meters. No object is made for an
// event without subscribers.

import type { Conversation } from "../../dispatch/conversation.js";
import { ConversationProcess } from "../../dispatch/conversation-process.js";
import { OwnEnvelope } from "../../dispatch/envelope.js";
import type { FlowEndOutcome, FlowStepOutcome, TappedStep } from "../../flow/runtime/taps.js";
import type { SessionEndTap } from "../../node/session/session-events.js";
import type { Callbacks, StartOutcome } from "../../process/behaviour.js";
import { contextOf, isEntry, plain } from "../../process/entries.js";
import type { Kernel } from "../../process/kernel.js";
import { callOutside, outside } from "../../process/origin.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { type DeadLetterReason, type ExitReason, isOrderly } from "../../process/reason.js";
import { pathOf } from "../../process/report.js";
import { Request } from "../../process/request.js";
import { showThrown } from "../../process/show.js";
import type { Carrier, Taps, WorkTap } from "../../process/taps.js";
import { traceText, type WireTrace } from "../../process/wire-trace.js";
import type { Restarting } from "../../supervisor/protocol.js";
import { bothTracings } from "./both-tracings.js";
import { KERNEL_METRICS } from "./catalogue.js";
import { Causes, crashId } from "./causes.js";
import { CHANNELS, type EventChannel } from "./channels.js";
import { DispatchSpan } from "./dispatch-span.js";
import type { JobTrace, ReceivedHeaders, RequestTap } from "./edges.js";
import type {
  FlowStepBegin,
  QueueBegin,
  RouteBegin,
  SpanBegin,
  SpanEnd,
  TelemetryEvent,
  TelemetryEventName,
  TelemetryEvents,
} from "./events.js";
import type { Instrument, MetricSink } from "./instruments.js";
import { Labels } from "./labels.js";
import { ArrivedCall, castOf, type Mark, type Marker, markOf, methodOf, PlainMark } from "./marks.js";
import type { CallMeter, MessageMeter, Meters } from "./meters.js";
import { NODE_METRICS } from "./node-metrics.js";
import { asObserved, type Observed, observed } from "./observed-process.js";
import { OpenWork } from "./open-work.js";
import { TELEMETRY_DEFAULTS, type TelemetrySettings } from "./options.js";
import type { QueueOutcome, RouteOutcome, TappedAttempt, TappedMessage } from "./pipeline-taps.js";
import {
  type Handling,
  isKept,
  REFUSED,
  REFUSED_DISPATCH,
  REFUSED_HANDLING,
  REFUSED_MARK,
  REFUSED_MESSAGE,
  RefusedCall,
  ROOT,
  type Verdict,
} from "./refused.js";
import { requestBegun } from "./request-span.js";
import { Sampler } from "./sampler.js";
import { CallSpan, MessageSpan, startEnded, verdictOfMark } from "./spans.js";
import type { SpanWatch, Tracing } from "./tracing.js";
import { beginWork, refusedWork, WorkSpan } from "./work-span.js";

export class Recorder implements Taps {
  readonly kernel: Kernel;
  readonly causes: Causes = new Causes();
  readonly labels: Labels = new Labels();
  readonly work: OpenWork = new OpenWork();
  meters: Meters | undefined = undefined;
  /** All who trace the system. */
  tracing: Tracing | undefined = undefined;
  watch: SpanWatch | undefined = undefined;
  private tracer: Tracing | undefined = undefined;
  /** These get the numbers of all other instruments. */
  readonly sinks: Set<MetricSink> = new Set();
  /** Called when the system stops. */
  readonly onClose: Set<() => void> = new Set();
  private settings: TelemetrySettings = TELEMETRY_DEFAULTS;
  private calls = new Sampler(1);
  private casts = new Sampler(1);
  private dispatches = new Sampler(1);
  private lastSpan = 0;
  /** Calls from other nodes until the next one that is timed. */
  private untilTimed = 0;
  /** The name in metrics of the child that is started next, if that is not its label. */
  private countedAs: string | undefined = undefined;

  constructor(kernel: Kernel) {
    this.kernel = kernel;
  }

  configure(settings: TelemetrySettings): void {
    this.settings = settings;
    this.calls = new Sampler(settings.oneIn.call);
    this.casts = new Sampler(settings.oneIn.cast);
    this.dispatches = new Sampler(settings.oneIn.dispatch);
  }

  /** Whether a tracer of the user traces the system. */
  get hasTracer(): boolean {
    return this.tracer !== undefined;
  }

  traceBy(tracer: Tracing | undefined): void {
    this.tracer = tracer;
    this.tracing = bothTracings(tracer, this.watch?.tracing);
  }

  watchBy(watch: SpanWatch | undefined): void {
    this.watch = watch;
    this.tracing = bothTracings(this.tracer, watch?.tracing);
  }

  now(): number {
    return this.kernel.env.now();
  }

  nextSpan(): number {
    return ++this.lastSpan;
  }

  /** Subscribers are no code of the process that runs: a promise of theirs that rejects does not end it. */
  publish<E>(channel: EventChannel<E>, event: E): void {
    this.touched();
    callOutside(channel.publish, channel, event);
  }

  /** Gives an event to its subscribers, if there are any, and to the keeper of spans, if it keeps the span. */
  tell<Name extends TelemetryEventName>(
    name: Name,
    event: TelemetryEvents[Name],
    isPublic: boolean,
    verdict: Verdict,
  ): void {
    const channel: EventChannel<TelemetryEvents[Name]> = CHANNELS[name];
    if (isPublic && channel.hasSubscribers) this.publish(channel, event);
    const keep = isKept(verdict) ? this.watch?.keep[name] : undefined;
    if (keep === undefined) return;
    try {
      keep(event, verdict as Exclude<Verdict, undefined | typeof REFUSED>);
    } catch (error) {
      this.complain("the keeper of spans", error);
    }
  }

  /** Reports that a function of the user threw. It must not harm the process that runs. */
  complain(what: string, error: unknown): void {
    const { reports, node } = this.kernel;
    if (!reports.admits("host")) return;
    const text = `${node.name}: ${what} of telemetry threw: ${showThrown(error)}`;
    reports.write({ level: "error", event: "host", path: node.name, error, text });
  }

  /** All processes share the state of telemetry and its subscribers. */
  private touched(): void {
    this.kernel.shared?.listeners("write");
  }

  // ── processes ─────────────────────────────────────────────────────────────────────────────────────────────────

  classOf(plain: typeof Process): typeof Process {
    return observed(plain);
  }

  spawned(process: Process, awaited: boolean): void {
    const { countedAs } = this;
    const crash = this.causes.spawned(process);
    if (countedAs !== undefined && this.causes.isChild(process)) this.labels.define(process.pid, countedAs);
    if (this.causes.isChild(process)) this.countedAs = undefined;
    const seen = asObserved(process);
    if (seen === undefined || !this.follows(process.pid)) return;
    seen.isFollowed = true;
    this.touched();
    const { pid, parent } = process;
    const lives = CHANNELS["process:begin"].hasSubscribers || CHANNELS["process:end"].hasSubscribers;
    const starts =
      awaited && (CHANNELS["start:begin"].hasSubscribers || CHANNELS["start:end"].hasSubscribers);
    if (!lives && !starts) return;
    const common = { ...this.common(), process: pid, path: pathOf(pid, parent) };
    if (lives) {
      seen.life = { ...common, span: this.nextSpan(), parent };
      if (CHANNELS["process:begin"].hasSubscribers) this.publish(CHANNELS["process:begin"], seen.life);
    }
    if (starts && process.alive) {
      seen.starting = { ...common, span: this.nextSpan(), supervisor: this.supervisorOf(process), crash };
      if (CHANNELS["start:begin"].hasSubscribers) this.publish(CHANNELS["start:begin"], seen.starting);
    }
  }

  started(process: Process, { type }: StartOutcome): void {
    const seen = asObserved(process);
    if (seen?.starting === undefined) return;
    const { starting } = seen;
    seen.starting = undefined;
    startEnded(this, starting, type);
  }

  internal(pid: Pid<never>, label: string): void {
    this.labels.define(pid, label);
    const seen = pid.process === undefined ? undefined : asObserved(pid.process);
    if (seen !== undefined) seen.isFollowed = false;
  }

  felled(process: Process, by: Pid): void {
    this.causes.fell(process, by);
  }

  ended(process: Process, reason: ExitReason): void {
    const { pid, behaviour } = process;
    if (behaviour instanceof ConversationProcess) {
      const { follower } = behaviour.conversation;
      if (follower instanceof DispatchSpan) follower.abandoned();
      return;
    }
    this.work.processEnded(process);
    const seen = asObserved(process);
    const message = seen?.handling?.number ?? seen?.crashedOn;
    if (seen?.handling !== undefined) {
      const { handling } = seen;
      seen.handling = undefined;
      handling.ended(process.handle === undefined && isOrderly(reason) ? "handled" : "exited");
    }
    this.touched();
    const { by, cause, isCrash } = this.causes.processEnded(process, reason);
    this.meters?.ended(this.labels.of(pid), reason, process.handled);
    if (isCrash && (CHANNELS.crash.hasSubscribers || this.watch !== undefined)) {
      const path = pathOf(pid, process.parent);
      const crash = crashId(pid);
      const event = { ...this.common(), crash, process: pid, path, reason, cause, message };
      this.tell("crash", event, true, ROOT);
    }
    if (seen?.life === undefined || !CHANNELS["process:end"].hasSubscribers) return;
    const { system, node, span, parent, at: begun } = seen.life;
    const at = this.now();
    const durationMs = at - begun;
    const crash = isCrash ? crashId(pid) : undefined;
    const { handled } = process;
    const life = { system, node, at, span, process: pid, parent, durationMs, reason, by, crash, handled };
    this.publish(CHANNELS["process:end"], life);
  }

  private supervisorOf(process: Process): Pid | undefined {
    return this.causes.isChild(process) ? process.parent : undefined;
  }

  private follows(pid: Pid<unknown>): boolean {
    const { filter } = this.settings;
    if (filter === undefined) return true;
    try {
      return outside(() => filter(pid)) !== false;
    } catch (error) {
      this.complain("the filter", error);
      return true;
    }
  }

  closed(): void {
    for (const close of [...this.onClose]) close();
  }

  // ── supervisors ───────────────────────────────────────────────────────────────────────────────────────────────

  launching(supervisor: Pid, key: string, countedAs: string | undefined): void {
    this.causes.launching(supervisor, key);
    this.countedAs = countedAs;
    // The messages of supervisors are the library's own.
    const seen = supervisor.process === undefined ? undefined : asObserved(supervisor.process);
    if (seen !== undefined) seen.isFollowed = false;
  }

  restarted(
    supervisor: Pid,
    key: string,
    restart: Restarting,
    gaveUp: boolean,
    countedAs: string | undefined,
  ): void {
    this.touched();
    const { id: child, siblings, reason, delayMs } = restart;
    const crash = this.causes.restarted(supervisor, key, child, siblings, gaveUp);
    this.count(KERNEL_METRICS.restarts, 1, this.labels.of(supervisor), countedAs ?? child, String(gaveUp));
    if (!CHANNELS.restart.hasSubscribers && this.watch === undefined) return;
    const path = `${pathOf(supervisor)}/${child}`;
    const common = { ...this.common(), supervisor, path, child };
    this.tell("restart", { ...common, crash, reason, siblings, delayMs, gaveUp }, true, ROOT);
  }

  // ── calls and casts ───────────────────────────────────────────────────────────────────────────────────────────

  called(request: Request): void {
    const { callee } = request;
    const seen = callee === undefined ? undefined : asObserved(callee);
    if (seen?.isFollowed === false || (callee === undefined && isOfHelper(request))) return;
    this.touched();
    const { meters } = this;
    const counted = meters === undefined ? undefined : this.meterOf(meters, request, seen).next();
    const emits = CHANNELS["call:begin"].hasSubscribers || CHANNELS["call:end"].hasSubscribers;
    const isPublic = (emits || this.listens) && this.calls.picks();
    const verdict = this.watch?.gate.call(request.owner, request.to, callee, methodOf(request));
    if (!isPublic && !isKept(verdict)) {
      if (verdict !== REFUSED) request.tap = counted;
      else request.tap = counted === undefined ? REFUSED_MESSAGE : new RefusedCall(counted);
      return;
    }
    const { system, node, at } = this.common();
    const to = callee?.pid ?? request.to;
    const label = this.labels.of(to);
    const from = request.owner?.pid;
    const begin = { system, node, at, span: this.nextSpan(), from, to, label, method: methodOf(request) };
    request.tap = new CallSpan(this, begin, counted, isPublic, verdict);
    this.tell("call:begin", begin, isPublic, verdict);
  }

  /** A process keeps the meter of the method that was called last. */
  private meterOf(meters: Meters, request: Request, seen: Observed | undefined): CallMeter {
    const method = methodOf(request);
    if (seen?.counted?.method === method && seen?.counted?.owner === meters) return seen.counted;
    const meter = meters.calls(this.labels.of(request.callee?.pid ?? request.to), method);
    if (seen !== undefined) seen.counted = meter;
    return meter;
  }

  cast(
    message: { tap: unknown },
    method: string,
    address: Pid<never> | string,
    from: Process | undefined,
  ): void {
    const holder = typeof address === "string" ? this.kernel.names.find(address) : address.process;
    if (holder !== undefined && asObserved(holder)?.isFollowed === false) return;
    this.touched();
    const to = holder?.pid ?? (address as Pid | string);
    this.meters?.cast(this.labels.of(to), method);
    const isPublic = (CHANNELS.cast.hasSubscribers || this.listens) && this.casts.picks();
    const verdict = this.watch?.gate.call(from, to, holder, method);
    if (!isPublic && !isKept(verdict)) {
      if (verdict === REFUSED) message.tap = REFUSED_MESSAGE;
      return;
    }
    const { system, node, at } = this.common();
    const span = this.nextSpan();
    message.tap = new PlainMark("cast", method, span, at, !isPublic, verdictOfMark(verdict));
    const label = this.labels.of(to);
    this.tell("cast", { system, node, at, span, from: from?.pid, to, label, method }, isPublic, verdict);
  }

  // ── messages ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** Whether the message that a process gets now is one to mark. */
  marks(process: Observed, message: unknown): boolean {
    const { listens, watch } = this;
    const every = listens ? this.settings.oneIn.message : (this.meters?.messageOneIn ?? 0);
    const isWatched = watch !== undefined;
    if (every === 0 && !listens && !isWatched) return false;
    const cast = listens || isWatched ? castOf(plain(message)) : undefined;
    if (cast?.tap !== undefined) return true;
    if (cast !== undefined && listens) return false;
    if (watch?.gate.message() !== undefined) return true;
    if (every <= 1) return every === 1;
    if (--process.untilMarked > 0 && process.untilMarked < every) return false;
    process.untilMarked = every;
    return true;
  }

  /** The mark of a message that arrives now. */
  markFor(message: unknown): Marker {
    const cast = castOf(message);
    if (cast?.tap !== undefined) return cast.tap as Marker;
    const verdict = this.watch?.gate.message();
    return cast === undefined
      ? new PlainMark("message", undefined, undefined, this.now(), false, verdict)
      : new PlainMark("cast", cast.method, undefined, this.now(), false, verdict);
  }

  /** Whether messages have a listener. */
  private get listens(): boolean {
    return CHANNELS["message:begin"].hasSubscribers || CHANNELS["message:end"].hasSubscribers;
  }

  /** A process handles an entry of its mailbox next. Undefined unless the entry is marked. */
  opened(process: Process & Observed, entry: unknown): Handling | undefined {
    const mark = markOf(entry);
    // A call that comes back as its reply has been handled elsewhere.
    if (mark === undefined || (entry instanceof Request && entry.owner === process)) return undefined;
    if (mark === REFUSED_MARK) return REFUSED_HANDLING;
    const isPublic = this.listens && mark.isPrivate !== true;
    const isRefused = mark.verdict === "refused";
    if (!isPublic && this.meters === undefined && mark.verdict !== "kept")
      return isRefused ? REFUSED_HANDLING : undefined;
    this.touched();
    const { kind, name, cause, sentAt } = mark;
    const { pid } = process;
    const label = this.labels.of(pid);
    const verdict = isRefused
      ? REFUSED
      : mark.verdict === "kept"
        ? this.watch?.gate.handling(cause, label)
        : undefined;
    const { system, node, at } = this.common();
    const span = isPublic || isKept(verdict) ? this.nextSpan() : 0;
    const waitedMs = at - sentAt;
    const begin = { system, node, at, span, process: pid, label, kind, name, cause, waitedMs };
    if (span !== 0) this.tell("message:begin", begin, isPublic, verdict);
    return new MessageSpan(this, begin, isPublic, this.timerOf(process, label), verdict);
  }

  /** A process keeps its meter. */
  private timerOf(process: Observed, label: string): MessageMeter | undefined {
    const { meters } = this;
    if (meters !== undefined && process.timed?.owner !== meters) process.timed = meters.messages(label);
    return meters === undefined ? undefined : process.timed;
  }

  took(process: Process, entry: unknown): void {
    const seen = asObserved(process);
    if (seen?.isFollowed !== true) return;
    // A body takes its messages outside of the contexts in which they were sent.
    const context = this.kernel.carriesContext ? contextOf(entry) : undefined;
    seen.handling =
      context === undefined
        ? this.opened(seen, entry)
        : context.runInAsyncScope(() => this.opened(seen, entry));
  }

  /** Runs the handler of a message in its span. */
  around<R>({ number, isRefused }: Handling, run: () => R): R {
    return this.inSpan(number, isRefused ? REFUSED : undefined, run);
  }

  /** Runs code in the context that `tracing` gives to a span. */
  inSpan<R>(span: number | undefined, verdict: Verdict, run: () => R): R {
    const { tracing, watch } = this;
    const refusing = verdict === REFUSED ? watch?.refusing : undefined;
    const inside = refusing === undefined ? run : (): R => refusing(run);
    return tracing === undefined || span === undefined ? inside() : tracing.around(span, inside);
  }

  // ── the edges of the system ───────────────────────────────────────────────────────────────────────────────────

  carrier(): Carrier | undefined {
    return this.tracing?.sent();
  }

  get isTracing(): boolean {
    return this.tracing !== undefined;
  }

  continuing<R>(trace: string | null, run: () => R): R {
    const { tracing } = this;
    return tracing === undefined ? run() : tracing.continuing(trace, run);
  }

  jobTrace(): JobTrace | undefined {
    return this.tracing?.job();
  }

  // ── other nodes ───────────────────────────────────────────────────────────────────────────────────────────────

  leaving(sent: unknown): WireTrace | undefined {
    const { tracing } = this;
    if (tracing === undefined) return undefined;
    const cause = markOf(sent)?.cause;
    const isOwn = cause !== undefined;
    if (!isOwn && (!this.kernel.carriesContext || isOfHelper(sent))) return undefined;
    const text = isOwn ? this.keptOf(cause) : tracing.kept();
    return text === undefined ? undefined : { text, isOwn };
  }

  arriving<R>(trace: unknown, deliver: () => R): R {
    return this.tracing === undefined ? deliver() : this.continuing(traceText(trace) ?? null, deliver);
  }

  arrived(message: unknown, call: Request | undefined, trace: WireTrace | undefined): void {
    this.touched();
    if (call !== undefined) this.callArrived(message, call, trace);
    else {
      const cast = castOf(message);
      if (cast === undefined) return;
      const { method } = cast;
      const isPublic = this.listens && (trace?.isOwn ?? this.casts.picks());
      const verdict = this.arrivedVerdict(trace);
      cast.tap =
        isPublic || verdict !== undefined
          ? new PlainMark("cast", method, this.causeOf(trace), this.now(), !isPublic, verdict)
          : undefined;
    }
  }

  /** The handling of a call is emitted if the call was. If the other node does not say, this one chooses. */
  private callArrived(message: unknown, call: Request, trace: WireTrace | undefined): void {
    const seen = call.callee === undefined ? undefined : asObserved(call.callee);
    if (seen?.isFollowed !== true) return;
    const method = isRequest(message) ? methodOf(message) : undefined;
    const isPublic = this.listens && (trace?.isOwn ?? this.calls.picks());
    const verdict = this.arrivedVerdict(trace);
    if (isPublic || verdict !== undefined)
      call.tap = new ArrivedCall({
        ...{ kind: "call", name: method, cause: this.causeOf(trace), sentAt: this.now() },
        ...{ isPrivate: !isPublic, verdict },
      });
    else if (this.meters !== undefined && --this.untilTimed <= 0) {
      this.untilTimed = this.meters.messageOneIn;
      const sentAt = this.now();
      call.tap = new ArrivedCall({ kind: "call", name: method, cause: undefined, sentAt, isPrivate: true });
    }
  }

  /** What has come in a trace of its own may be kept, if its trace is. */
  private arrivedVerdict(trace: WireTrace | undefined): Mark["verdict"] {
    return this.watch !== undefined && trace?.isOwn === true ? "kept" : undefined;
  }

  /** A number for the span of another node that is the cause of what has arrived. */
  private causeOf(trace: WireTrace | undefined): number | undefined {
    const { tracing } = this;
    const text = trace?.isOwn === true ? traceText(trace.text) : undefined;
    if (tracing === undefined || text === undefined) return undefined;
    const span = this.nextSpan();
    tracing.elsewhere(span, text);
    return span;
  }

  deadLetter(reason: DeadLetterReason): void {
    if (reason === "noconnection" || reason === "unsendable") this.count(NODE_METRICS.deadLetters, 1, reason);
  }

  sessionEnded({ reason, by }: SessionEndTap): void {
    this.count(NODE_METRICS.ends, 1, reason, by);
  }

  requested(process: Process, server: Pid, method: string, headers: ReceivedHeaders): RequestTap | undefined {
    const verdict = this.watch?.gate.request(method);
    const begun = requestBegun(this, server, method, headers, verdict);
    const seen = asObserved(process);
    if (seen !== undefined && begun !== undefined) seen.crashedOn = begun.number;
    // The process of a request does nothing else.
    const refused = verdict === REFUSED ? refusedWork(this, process) : undefined;
    return begun ?? refused;
  }

  // ── dispatches ────────────────────────────────────────────────────────────────────────────────────────────────

  dispatching(conversation: Conversation<unknown>, owner: Process | undefined): void {
    this.touched();
    const { name: group } = conversation.group;
    const isPublic = this.seesDispatches && this.dispatches.picks();
    const verdict = this.watch?.gate.work(owner, `dispatch ${group}`);
    const spans = isPublic || isKept(verdict);
    const { meters } = this;
    if (!spans && meters === undefined) {
      if (verdict === REFUSED) conversation.follower = REFUSED_DISPATCH;
      return;
    }
    const timedFrom = meters?.timesDispatch() === true ? this.now() : undefined;
    if (!spans) {
      conversation.follower = new DispatchSpan(this, group, undefined, timedFrom, false, verdict);
      return;
    }
    const { system, node, at } = this.common();
    const envelope = conversation.envelope instanceof OwnEnvelope ? conversation.envelope.id : undefined;
    const begin = { system, node, at, span: this.nextSpan(), from: owner?.pid, group, envelope };
    conversation.follower = new DispatchSpan(this, group, begin, timedFrom, isPublic, verdict);
    this.tell("dispatch:begin", begin, isPublic, verdict);
  }

  // ── all other measurements ────────────────────────────────────────────────────────────────────────────────────

  count(instrument: Instrument, by: number, ...labels: readonly string[]): void {
    this.touched();
    for (const sink of this.sinks) sink.count(instrument, by, labels);
  }

  observe(instrument: Instrument, value: number, ...labels: readonly string[]): void {
    this.touched();
    for (const sink of this.sinks) sink.observe(instrument, value, labels);
  }

  // ── durable flows ─────────────────────────────────────────────────────────────────────────────────────────────

  flowStarting(flow: string, id: string, follows?: string | null): string | undefined {
    const verdict = this.watch?.gate.work(undefined, `flow ${flow}`);
    if (!CHANNELS["flow:start"].hasSubscribers && !isKept(verdict)) return undefined;
    const span = this.nextSpan();
    const start = { ...this.common(), span, flow, id, follows: follows ?? undefined };
    this.tell("flow:start", start, true, verdict);
    return this.keptOf(span);
  }

  /** The text of a span, to be kept with something durable that begins in it. */
  private keptOf(span: number): string | undefined {
    const { tracing } = this;
    return tracing?.around(span, () => tracing.kept());
  }

  flowStep(step: TappedStep, trace: string | null, by: Process): WorkTap<FlowStepOutcome> {
    this.touched();
    const begin: FlowStepBegin = { ...this.common(), span: this.nextSpan(), ...step };
    const verdict = this.watch?.gate.resumed(trace, `${step.kind} ${step.key}`);
    beginWork(this, "flow:step:begin", begin, trace, verdict);
    return new WorkSpan<FlowStepBegin, FlowStepOutcome>(this, begin, by, verdict, (end) => {
      this.meters?.flowStep(end.flow, end.kind, end.outcome, end.durationMs);
      this.tell("flow:step", end, true, verdict);
    });
  }

  flowEnded(flow: string, id: string, outcome: FlowEndOutcome, durationMs: number): void {
    this.touched();
    this.meters?.flowEnded(flow, outcome);
    if (CHANNELS["flow:end"].hasSubscribers)
      this.publish(CHANNELS["flow:end"], { ...this.common(), flow, id, outcome, durationMs });
  }

  // ── pipelines ─────────────────────────────────────────────────────────────────────────────────────────────────

  executionStarting(pipeline: string, id: string, follows?: string | null): string | undefined {
    const verdict = this.watch?.gate.work(undefined, `pipeline ${pipeline}`);
    if (!CHANNELS["pipeline:start"].hasSubscribers && !isKept(verdict)) return undefined;
    const span = this.nextSpan();
    const start = { ...this.common(), span, pipeline, execution: id, follows: follows ?? undefined };
    this.tell("pipeline:start", start, true, verdict);
    return this.keptOf(span);
  }

  routeAttempt(attempt: TappedAttempt, trace: string | null, by: Process): WorkTap<RouteOutcome> | undefined {
    const verdict = this.watch?.gate.resumed(trace, `route ${attempt.route}`);
    const isEmitted = CHANNELS["route:end"].hasSubscribers || CHANNELS["route:begin"].hasSubscribers;
    if (!isEmitted && !isKept(verdict)) return verdict === REFUSED ? refusedWork(this, by) : undefined;
    const begin: RouteBegin = { ...this.common(), span: this.nextSpan(), ...attempt };
    beginWork(this, "route:begin", begin, trace, verdict);
    return new WorkSpan<RouteBegin, RouteOutcome>(this, begin, by, verdict, (end) =>
      this.tell("route:end", end, true, verdict),
    );
  }

  queuePublishing(queue: string): string | undefined {
    const verdict = this.watch?.gate.work(undefined, `publish ${queue}`);
    if (!CHANNELS["queue:publish"].hasSubscribers && !isKept(verdict)) return undefined;
    const span = this.nextSpan();
    this.tell("queue:publish", { ...this.common(), span, queue }, true, verdict);
    return this.keptOf(span);
  }

  queueAttempt(attempt: TappedMessage, trace: string | null, by: Process): WorkTap<QueueOutcome> | undefined {
    const verdict = this.watch?.gate.resumed(trace, `handle ${attempt.queue}`);
    const isEmitted = CHANNELS["queue:end"].hasSubscribers || CHANNELS["queue:begin"].hasSubscribers;
    if (!isEmitted && !isKept(verdict)) return verdict === REFUSED ? refusedWork(this, by) : undefined;
    const begin: QueueBegin = { ...this.common(), span: this.nextSpan(), ...attempt };
    beginWork(this, "queue:begin", begin, trace, verdict);
    return new WorkSpan<QueueBegin, QueueOutcome>(this, begin, by, verdict, (end) =>
      this.tell("queue:end", end, true, verdict),
    );
  }

  private get seesDispatches(): boolean {
    return (
      CHANNELS["dispatch:begin"].hasSubscribers ||
      CHANNELS["dispatch:end"].hasSubscribers ||
      CHANNELS["attempt:begin"].hasSubscribers ||
      CHANNELS["attempt:end"].hasSubscribers ||
      this.listens
    );
  }

  /**
   * The end of a span that ends now: the facts of its begin, and its duration. The copy takes a microsecond, so spans of calls, messages,
   * processes and dispatches name their facts.
   */
  over<Begin extends SpanBegin>(begin: Begin): Begin & SpanEnd {
    const at = this.now();
    return { ...begin, at, durationMs: at - begin.at };
  }

  /** The fields of all events. */
  common(): TelemetryEvent {
    const { name: system, id: node } = this.kernel.node;
    return { system, node, at: this.now() };
  }
}

function isRequest(sent: unknown): sent is Request {
  return isEntry(sent) && sent instanceof Request;
}

/** A call that the library makes to another node on its own behalf. The dispatch or whatever it serves is followed itself. */
function isOfHelper(sent: unknown): boolean {
  if (!isRequest(sent)) return false;
  return (sent.owner?.behaviour as Partial<Callbacks<unknown>> | undefined)?.isHelper === true;
}

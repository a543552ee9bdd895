// A flow host: the process that holds flows. It takes them from the store, runs each in a process of its own, and gives them back.
// It is the supervisor of their processes; the hospital is its restart strategy.

import { takeClaim } from "../../host/claims/claims.js";
import { HostLife } from "../../host/host-life.js";
import { type Evidence, hostEvidence, STANDING_SCHEMA } from "../../host/index.js";
import { SignalLooks } from "../../host/signals.js";
import { whenAborted } from "../../process/abort.js";
import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Signal } from "../../process/entries.js";
import type { ExitReason } from "../../process/reason.js";
import { reportLate } from "../../process/report-failure.js";
import type { ReplyTo } from "../../process/request.js";
import { type ClaimInfo, FencedError } from "../../store/index.js";
import { storeContext } from "../../store/open-store.js";
import type { SymptomKind } from "../hospital/symptom.js";
import { BlobWriter } from "../journal/blobs.js";
import type { Stored } from "../journal/entry.js";
import { HOST_CLAIMS, isEnded, LEFT_TOPIC } from "../journal/tables.js";
import { declareQueues } from "../queues/declared.js";
import { checkTiming } from "../queues/options.js";
import type { QueuePort } from "../queues/queue-keeper.js";
import { Queues } from "../queues/queues.js";
import { cronLoader } from "../schedules/cron.js";
import { HostSchedules, type HostSchedulesPort } from "../schedules/host-schedules.js";
import { SESSION_SCHEMA } from "../sessions/tables.js";
import { FlowHostTakenError } from "./errors.js";
import type { FlowAskInfo } from "./flow-call.js";
import { HostState } from "./host-state.js";
import type { HostMessage } from "./messages.js";
import type { HostSettings, ServedHost } from "./options.js";
import { inputOf } from "./outgoing.js";
import { findFlow } from "./reading.js";
import { OPERATED_SCHEMAS } from "./schemas.js";

/** Most asks of a flow that are shown. */
const MOST_ASKS = 1_000;
/** The symptoms of a store that was out of order as a whole. */
const OUTAGE_KINDS: readonly SymptomKind[] = ["connection", "exhausted"];

export class HostProcess implements Callbacks<HostMessage> {
  readonly #settings: HostSettings;
  #host!: HostState;
  #unwatch: (() => void) | undefined;

  constructor(settings: HostSettings) {
    this.#settings = settings;
  }

  async init(ctx: Context<HostMessage>): Promise<void> {
    ctx.trapExit(true);
    const life = new HostLife<HostMessage>(
      ctx,
      () => this.#letGo(),
      () => this.#recovered(),
    );
    const host = new HostState(this.#settings, ctx, life);
    this.#host = host;
    const { kernel, settings } = host;
    const { hostId = kernel.env.id() } = settings;
    const schemas = [...OPERATED_SCHEMAS, SESSION_SCHEMA, STANDING_SCHEMA];
    host.store = await life.whenSpace(() => settings.store.open(schemas, storeContext(kernel)));
    if (!ctx.alive) return this.#letGo();
    const taken = (holder: ClaimInfo | undefined): Error =>
      new FlowHostTakenError(hostId, host.store.label, holder);
    try {
      host.claim = await life.whenSpace(() => takeClaim(host.store, HOST_CLAIMS + hostId, taken));
    } catch (error) {
      await host.store.close();
      throw error;
    }
    if (!ctx.alive) return this.#letGo();
    await this.#prepare(host);
    host.queues.look();
    host.background.do("hospital", async () => {
      await host.hospital.open(settings.definitions.all);
      host.requests.checkAll();
    });
    await this.#serve();
    if (ctx.alive) settings.hosts.add(kernel, ctx.self);
  }

  /** Makes what needs the store and the claim, and begins to listen. */
  async #prepare(host: HostState): Promise<void> {
    const { ctx, life, store, claim, settings } = host;
    host.evidence = this.#openEvidence();
    await life.whenSpace(() => host.evidence.share(store, claim));
    host.blobs = new BlobWriter(claim.token, host.payloads.limits.apartBytes);
    await host.syncClock();
    const tell = (message: HostMessage): void => ctx.self.process?.deliver(message, undefined);
    // It may be lost by now: the store may have stood still for longer than a lease since the claim was taken.
    whenAborted(claim.lost, () => tell({ type: "lost" }));
    this.#unwatch = store.watch("", {
      notified: (topic) => tell({ type: "noted", topic }),
      again: () => tell({ type: "noted", topic: undefined }),
    });
    await life.whenSpace(() => declareQueues(store, claim, settings.queues));
    host.queues = new Queues(settings.queues, this.#queuePort());
    host.schedules = new HostSchedules(this.#schedulePort());
    ctx.signal.addEventListener("abort", () => this.#rest());
    await life.whenSpace(() => host.schedules.declare(settings.schedules));
    life.started();
    tell({ type: "poll" });
    host.signals = new SignalLooks({
      kernel: host.kernel,
      kind: "flows",
      host: settings.name ?? "flow host",
      read: () => host.readSignals(),
      ask: () => tell({ type: "signals wanted" }),
    });
  }

  #openEvidence(): Evidence {
    const { kernel, store, claim, settings, acquisition } = this.#host;
    const { evidence, hostId, store: source } = settings;
    const of = {
      kind: "flows",
      hostId,
      evidence,
      store: source,
      shared: store.shared,
      token: claim.token,
    } as const;
    return hostEvidence(kernel, of, () => acquisition.pollSoon());
  }

  async #serve(): Promise<void> {
    const { life, settings } = this.#host;
    try {
      for (const serviceOf of settings.services) {
        const service = serviceOf(this.#served());
        if (service !== undefined) await life.serve(service);
      }
    } catch (error) {
      await this.terminate();
      throw error;
    }
  }

  #served(): ServedHost {
    const { kernel, ctx, store, payloads, background, outgoing, starting, evidence, settings } = this.#host;
    const { definitions } = settings;
    const start = async (name: string, input: unknown, id: string): Promise<string> => {
      const definition = outgoing.known(name, undefined);
      const stored = await inputOf(payloads, definition, input, id);
      const timing = checkTiming({}, definition.options.queue, settings.queues);
      const { version } = definition;
      const flow = { id, name, version, input: stored, timing, trace: outgoing.traceOf(name, id) };
      return (await starting.start(flow)).id;
    };
    const has = (name: string): boolean => definitions.has(name);
    const held = (number: number): readonly FlowAskInfo[] =>
      this.#host.loaded.get(number)?.process.asks(MOST_ASKS) ?? [];
    return {
      kernel,
      alive: ctx.signal,
      store,
      payloads,
      background,
      start,
      has,
      held,
      evidence: () => evidence.view(),
    };
  }

  /** The store works again: flows that it failed need not wait for their time. */
  #recovered(): void {
    const { background, hospital } = this.#host;
    for (const kind of OUTAGE_KINDS)
      background.do(`recovery ${kind}`, async () => {
        if (!this.#host.isStopping) await hospital.discharge({ kind }, "recovery");
      });
  }

  /** Queues and schedules start nothing more. */
  #rest(): void {
    const { queues, schedules } = this.#host as Partial<HostState>;
    queues?.stop();
    schedules?.keeper.stop();
  }

  #schedulePort(): HostSchedulesPort {
    const { kernel, ctx, store, claim, timer, outgoing, payloads, background, settings } = this.#host;
    return {
      store,
      claim,
      after: timer,
      flows: settings.definitions.names,
      cron: cronLoader(),
      starting: (id, flow, input) => outgoing.startOf(id, outgoing.known(flow, undefined), input as Stored),
      cancelling: (id) => outgoing.control(id, "cancel"),
      isRunning: async (id) => {
        const row = await findFlow(store, id);
        return row !== undefined && !isEnded(row);
      },
      input: async ({ flow, input }) =>
        inputOf(payloads, outgoing.known(flow.name, undefined), input, flow.name),
      id: () => kernel.env.id(),
      // The schedule is looked at again in a while; the host goes on.
      failed: (_name, error) => reportLate(kernel, ctx.self, error),
      retryMs: (error) => background.failed("schedules", error),
      worked: () => background.worked("schedules"),
    };
  }

  #queuePort(): QueuePort {
    const { kernel, store, claim, timer, acquisition, background } = this.#host;
    return {
      store,
      claim,
      random: () => kernel.env.random(),
      after: timer,
      accepts: (row) => this.#host.definition(row.name, row.version) !== undefined,
      failed: (queue, error) => void background.failed(`queue ${queue}`, error),
      worked: (queue) => background.worked(`queue ${queue}`),
      until: (queue, work) => background.until(`admission ${queue}`, work),
      run: (numbers) => acquisition.runAdmitted(numbers),
    };
  }

  handle(ctx: Context<HostMessage>, message: HostMessage): unknown {
    const { store, claim, limits, acquisition, notifications, requests, background, schedules } = this.#host;
    switch (message.type) {
      case "noted":
        return notifications.noted(message.topic);
      case "poll":
        if (store.shared) ctx.sendAfter(ctx.self, message, limits.pollMs);
        // A host that is killed between its commit and the notice of it has told nobody.
        notifications.look();
        requests.checkAll();
        if (store.shared) background.do("earlier schedules", () => schedules.keeper.poll());
        return acquisition.pollSoon();
      case "signals wanted":
        return void this.#host.signals.wanted();
      case "lost":
        throw new FencedError(claim.name, claim.token);
      default:
        return void requests.answer(message).then(undefined, (error: Error) => {
          if (ctx.alive) ctx.refuse(message.replyTo as ReplyTo<never>, error);
        });
    }
  }

  signal(_ctx: Context<HostMessage>, signal: Signal): void {
    if (signal.type !== "exit" || this.#host.life.serviceEnded(signal.from, signal.reason)) return;
    this.#host.runs.exited(signal.from, signal.reason);
  }

  /** Lets running steps end, gives the flows back to the store, then stops. */
  parentExit(ctx: Context<HostMessage>, reason: ExitReason): void {
    const { kernel, life, limits, runs } = this.#host;
    life.stop(reason);
    this.#rest();
    runs.stop();
    ctx.runAfter(limits.drainMs, () => kernel.stop(ctx.self.process as never, reason, undefined));
    this.#host.mayStop();
  }

  async terminate(): Promise<void> {
    this.#host.life.ended();
    this.#rest();
    this.#host.runs.kill();
    await this.#letGo();
  }

  /** Gives back the claim and the store. The next host of the flows need not wait, and the store refuses late writes of this host. */
  async #letGo(): Promise<void> {
    this.#unwatch?.();
    this.#rest();
    const { evidence, claim, store, loaded, signals } = this.#host as Partial<HostState>;
    signals?.close();
    evidence?.close();
    try {
      if (claim?.lost.aborted === false) {
        await claim.release();
        // Steps outlived the drain: other hosts go on with their flows at once.
        if (loaded?.size !== 0) await store?.commit({ writes: [], notify: [LEFT_TOPIC] });
      }
    } catch {
      // The claim was lost before, so there is none to release. Without the notice, other hosts find the flows when they poll.
    }
    await store?.close();
  }
}

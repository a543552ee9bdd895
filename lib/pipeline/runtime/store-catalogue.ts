// Executions in a store, under the claim of their host.

import { holderOf, takeClaim } from "../../host/claims/claims.js";
import { STANDING_SCHEMA } from "../../host/index.js";
import { Payloads } from "../../host/payload/payloads.js";
import type { HostSignals } from "../../host/signals.js";
import { whenAborted } from "../../process/abort.js";
import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { processName } from "../../process/process-name.js";
import { type Claim, type ClaimInfo, FencedError, type Store } from "../../store/index.js";
import { storeContext } from "../../store/open-store.js";
import { wholeClock } from "../../store/whole-clock.js";
import { routesByQueue } from "../definition/configuration.js";
import { type MissingPart, partsOf } from "../definition/missing.js";
import { PIPELINE_DEFAULTS } from "../definition/policy.js";
import { dueMessages } from "../ledger/due-messages.js";
import { ExecutionGoneError } from "../ledger/errors.js";
import {
  announced,
  createExecution,
  endExecution,
  findExecution,
  setPaused,
  unannounced,
} from "../ledger/executions.js";
import { giveBack } from "../ledger/give-back.js";
import type { LedgerListener } from "../ledger/ledger.js";
import { bodyWithin, messageBody } from "../ledger/message-size.js";
import { type Offer, offer, offered, withdraw } from "../ledger/offers.js";
import { StoreLedger } from "../ledger/store-ledger.js";
import { strand } from "../ledger/stranding.js";
import {
  type ExecutionRow,
  executions,
  HOST_CLAIMS,
  HOSTS_TOPIC,
  PIPELINE_SCHEMA,
  REOPENED_TOPIC,
  sources,
} from "../ledger/tables.js";
import type { Carrier } from "../messages/carrier.js";
import { sentenceFor } from "../messages/verdict.js";
import { startReplay } from "../operations/begin-replay.js";
import type { GivenUp, GiveUpRequest, Moved, MoveRequest } from "../operations/change-options.js";
import { PipelineHostTakenError } from "../operations/errors.js";
import { fillReplay } from "../operations/fill-replay.js";
import { giveUp } from "../operations/give-up.js";
import { summaryOf } from "../operations/message-view.js";
import { move } from "../operations/move.js";
import type { ReplayRequest } from "../operations/replay-options.js";
import type { RouteTotals } from "../operations/retention.js";
import type {
  Beginning,
  BegunReplay,
  Catalogue,
  CatalogueNotice,
  ExecutionRecord,
  OpenedLedger,
  OpenTables,
} from "./catalogue.js";
import { HostBlame } from "./host-blame.js";
import type { PipelineHostSettings } from "./options.js";
import { configOf, type PipelinePlan, type RoutePlan, replayTargetOf } from "./plan.js";
import { type ValueHash, valueHash } from "./value-hash.js";
import { ledgerContextOf } from "./volatile-catalogue.js";

/** Names of claims on pipelines begin so. */
const PIPELINE_CLAIMS = "pipelines/pipeline/";
/** How long a host waits for the claim on a pipeline, and how often it asks, in milliseconds. */
const OWN_MS = 1_000;
const OWN_AGAIN_MS = 20;

type Stored = string | Uint8Array;

/** Most rows of a commit that gives back. */
const GIVE_BACK_ROWS = 400;

/** Executions of one status that a host takes up at a time. */
const MOST_EXECUTIONS = 100_000;

export class StoreCatalogue implements Catalogue {
  /** Whether other hosts work on the same executions. Then the host looks at intervals for executions that they have started or ended. */
  readonly shared: boolean;
  readonly hashOf: ValueHash | undefined;
  readonly #kernel: Kernel;
  readonly #store: Store;
  readonly #claim: Claim;
  readonly #payloads: Payloads;
  /** The broker that carries messages, if one does. */
  readonly #carrier: Carrier | undefined;
  /** Knows which message ended a process. */
  readonly #blame: HostBlame;
  /** Ledgers that are open, or still write, by execution: the next one waits for them. */
  readonly #ledgers = new Map<number, StoreLedger>();
  /** Claims on pipelines, in a store of one process. */
  readonly #owned: Claim[] = [];

  private constructor(
    kernel: Kernel,
    store: Store,
    claim: Claim,
    payloads: Payloads,
    carrier: Carrier | undefined,
    hashOf: ValueHash | undefined,
    blame: HostBlame,
  ) {
    this.#kernel = kernel;
    this.#store = store;
    this.shared = store.shared;
    this.#claim = claim;
    this.#payloads = payloads;
    this.#carrier = carrier;
    this.hashOf = hashOf;
    this.#blame = blame;
  }

  /** @throws PipelineHostTakenError, HostModuleError, StoreUnsupportedError, StoreError */
  static async open(
    kernel: Kernel,
    tell: (notice: CatalogueNotice) => void,
    settings: PipelineHostSettings,
  ): Promise<StoreCatalogue> {
    const { store: source, carrier: broker, hostId = kernel.env.id(), payloads, plans, evidence } = settings;
    const codecs = new Payloads(payloads);
    const asks = plans.all.some(({ routes }) => routes.some(({ policy }) => policy.hashValues));
    const hashOf = asks ? valueHash(codecs) : undefined;
    if (source === undefined) throw new OptionError("store", source, "a store");
    const store = await source.open([PIPELINE_SCHEMA, STANDING_SCHEMA], storeContext(kernel));
    const name = HOST_CLAIMS + hostId;
    const taken = (holder: ClaimInfo | undefined): Error =>
      new PipelineHostTakenError(hostId, store.label, holder);
    const claim = await takeClaim(store, name, taken).catch(async (error: unknown) => {
      await store.close();
      throw error;
    });
    whenAborted(claim.lost, () => tell({ type: "lost", error: new FencedError(name, claim.token) }));
    const carrier = await broker
      ?.open({ environment: kernel.env, after: (ms, fn) => void kernel.addTimer(ms, { fire: fn }) })
      .catch(async (error: unknown) => {
        await claim.release();
        await store.close();
        throw error;
      });
    const blame = new HostBlame(kernel, {
      kind: "pipelines",
      hostId: settings.hostId,
      evidence,
      store: source,
      shared: store.shared,
      token: claim.token,
    });
    const catalogue = new StoreCatalogue(kernel, store, claim, codecs, carrier, hashOf, blame);
    // Dead letters may be put back without the host.
    const look = (): void => tell({ type: "look" });
    store.watch(REOPENED_TOPIC, { notified: look, again: look });
    if (store.shared) catalogue.#listen(look);
    try {
      await blame.share(store, claim);
      if (store.shared) await offer(store, claim, offersOf(plans.all));
      // The rows do not say who works on a message, so one host alone may run the executions of a pipeline.
      else for (const pipeline of plans.names) await catalogue.#own(pipeline);
    } catch (error) {
      await catalogue.close();
      throw error;
    }
    return catalogue;
  }

  /** Watches for executions that other hosts have started or ended. */
  #listen(look: () => void): void {
    const own = HOSTS_TOPIC + this.#claim.token;
    this.#store.watch(HOSTS_TOPIC, { notified: (topic) => topic !== own && look(), again: look });
  }

  /** Waits for a host that was killed a moment ago and still writes what was submitted. @throws PipelineHostTakenError */
  async #own(pipeline: string): Promise<void> {
    const name = PIPELINE_CLAIMS + pipeline;
    for (let waited = 0; ; waited += OWN_AGAIN_MS) {
      const claim = await this.#store.claim(name, { owner: processName() });
      if (claim !== undefined) {
        this.#owned.push(claim);
        return;
      }
      if (waited >= OWN_MS) {
        const holder = await holderOf(this.#store, name);
        throw new PipelineHostTakenError(`pipeline ${pipeline}`, this.#store.label, holder);
      }
      await new Promise<void>((resolve) => {
        this.#kernel.addTimer(OWN_AGAIN_MS, { fire: resolve });
      });
    }
  }

  get stored(): StoreCatalogue {
    return this;
  }

  get tables(): OpenTables {
    return { store: this.#store, payloads: this.#payloads, evidence: () => [this.#blame.view()] };
  }

  /** Creates an execution, or finds the one with this id. */
  async create({
    id,
    plan,
    input,
    messages,
    trace,
    request,
  }: Beginning): Promise<{ record: ExecutionRecord; isNew: boolean }> {
    const { maxMessageBytes } = plan.policy;
    const bodies = await Promise.all(
      messages.map(async ({ value, queue }) =>
        bodyWithin(maxMessageBytes, await messageBody(this.#payloads, value), queue),
      ),
    );
    const { row, isNew } = await createExecution(this.#store, this.#claim, {
      id,
      pipeline: plan.name,
      version: plan.version,
      config: await this.#payloads.store(configOf(plan), "config"),
      input: input === undefined ? null : await this.#payloads.store(input, "input"),
      trace,
      request,
      sources: plan.sources.map(({ source }) => source.name),
      messages: messages.map(({ id: message, queue, key }, i) => ({
        id: message,
        queue,
        key,
        body: bodies[i] as Stored,
      })),
    });
    return { record: await this.#recordOf(row), isNew };
  }

  async find(id: string): Promise<ExecutionRecord | undefined> {
    const row = await findExecution(this.#store, id);
    return row === undefined ? undefined : this.#recordOf(row);
  }

  /** Executions that have not ended, without those that the host knows. */
  async unfinished(isKnown: (id: string) => boolean): Promise<readonly ExecutionRecord[]> {
    const rows = await Promise.all(
      ["running", "paused"].map((status) =>
        this.#store.scan(executions, { index: "status", prefix: [status], limit: MOST_EXECUTIONS }),
      ),
    );
    const unknown = rows.flat().filter(({ id }) => !isKnown(id));
    return Promise.all(unknown.map((row) => this.#recordOf(row)));
  }

  /** Executions whose end is not announced yet. */
  async unannounced(): Promise<readonly ExecutionRecord[]> {
    const rows = await unannounced(this.#store);
    return Promise.all(rows.map((row) => this.#recordOf(row)));
  }

  announced({ number }: ExecutionRecord): Promise<void> {
    return announced(this.#store, this.#claim, number);
  }

  /**
   * Looks whether an execution can end.
   *
   * @returns the missing parts, if they were not reported before
   */
  async strand(
    { number, pipeline }: ExecutionRecord,
    plan: PipelinePlan | "no pipeline" | "no version",
  ): Promise<readonly MissingPart[] | undefined> {
    if (typeof plan !== "string") return strand(this.#store, number, partsOf(plan.definition));
    // In a store of one process, one host has all versions of a pipeline.
    const isElsewhere = plan === "no pipeline" && !this.shared && (await this.#isOwned(pipeline));
    return isElsewhere ? undefined : strand(this.#store, number, plan);
  }

  /** In a shared store: the versions that its hosts can run. */
  offered(): Promise<readonly Offer[]> {
    return offered(this.#store);
  }

  async #isOwned(pipeline: string): Promise<boolean> {
    return (await holderOf(this.#store, PIPELINE_CLAIMS + pipeline)) !== undefined;
  }

  /** What an autoscaler asks. @param isPaused - whether an execution is, on this host: its routes ask for nothing then */
  async signals(isPaused: (number: number) => boolean): Promise<HostSignals> {
    const found = await dueMessages(this.#store, await wholeClock(this.#store), this.#ledgers);
    let [room, held] = [0, 0];
    for (const [number, ledger] of this.#ledgers) {
      const places = ledger.places();
      if (!isPaused(number)) room += places.room;
      held += places.held;
    }
    return { ...found, room, held };
  }

  /** Gives back the rows that lost hosts held. */
  giveBack(): Promise<void> {
    return giveBack({
      store: this.#store,
      claim: this.#claim,
      owner: processName(),
      rows: GIVE_BACK_ROWS,
      carried: this.#carrier !== undefined,
    });
  }

  /** Creates the execution of a replay, or finds the one with this id. It is filled when it is opened. @throws ReplayError */
  async replay(
    { number }: ExecutionRecord,
    plan: PipelinePlan,
    to: string,
    request: ReplayRequest,
  ): Promise<BegunReplay> {
    const [row] = await this.#store.get(executions, [[number]]);
    const target = await replayTargetOf(plan, this.#payloads);
    const trace = this.#kernel.taps?.executionStarting(plan.name, to, row?.trace);
    const begin = { id: to, target, request, trace };
    const begun = await startReplay(this.#store, this.#claim, row as ExecutionRow, begin);
    // Filled before the answer, so that the caller finds no dead letter that this replay has.
    await fillReplay(this.#store, this.#claim, begun.number, this.#carrier !== undefined);
    const [filled] = await this.#store.get(executions, [[begun.number]]);
    const record = await this.#recordOf(filled ?? begun);
    return { record, messages: record.inputs };
  }

  async open(record: ExecutionRecord, plan: PipelinePlan, listener: LedgerListener): Promise<OpenedLedger> {
    const { number } = record;
    // Steps that an earlier process of the execution submitted are written first: no process works on a message that is being settled.
    const before = this.#ledgers.get(number);
    await before?.close();
    await fillReplay(this.#store, this.#claim, number, this.#carrier !== undefined);
    const [row] = await this.#store.get(executions, [[number]]);
    if (row === undefined) throw new ExecutionGoneError(record.id);
    // In a shared store, the ledger takes the sources that no other host reads.
    const places = this.shared
      ? []
      : await this.#store.scan(sources, { prefix: [number], limit: MOST_EXECUTIONS });
    const ledger = await StoreLedger.open({
      store: this.#store,
      claim: this.#claim,
      execution: row,
      listener,
      payloads: this.#payloads,
      context: ledgerContextOf(this.#kernel),
      queues: plan.routes.map(({ queue }) => queue),
      kept: new Set(plan.routes.filter(({ policy }) => policy.keepValues).map(({ queue }) => queue)),
      sources: plan.sources.map(({ source }) => source.name),
      inWork: (queue) => mostOf(plan, queue),
      again: before !== undefined,
      carried: this.#carrier && { carrier: this.#carrier, kernel: this.#kernel },
      maxMessageBytes: plan.policy.maxMessageBytes,
      sentence: (queue, ends, evidence) => {
        const { quarantine } = routeOf(plan, queue)?.policy ?? PIPELINE_DEFAULTS.route;
        return sentenceFor(quarantine, ends, evidence, this.#kernel.env.random());
      },
      route: (queue) => routeOf(plan, queue)?.name,
      blame: this.#blame,
    });
    this.#ledgers.set(number, ledger);
    const open = await Promise.all(
      places
        .filter((place) => place.open === 1)
        .map(async ({ name, given, checkpoint }) => {
          const at = checkpoint === null ? undefined : await this.#payloads.load(checkpoint);
          return [name, { given, checkpoint: at }] as const;
        }),
    );
    return { ledger, sources: new Map(open) };
  }

  /** False: it has ended. */
  pause({ number }: ExecutionRecord, paused: boolean): Promise<boolean> {
    return setPaused(this.#store, number, paused);
  }

  /** Ends an execution that does not run here. False: it has ended. */
  async end({ number }: ExecutionRecord, as: "failed" | "cancelled", error: unknown): Promise<boolean> {
    const stored = error === undefined ? null : await this.#payloads.storeThrown(error);
    return endExecution(this.#store, number, as, stored);
  }

  /** Gives messages and sources of an execution up. @throws PipelineChangeError */
  async giveUp({ number }: ExecutionRecord, request: GiveUpRequest): Promise<GivenUp> {
    const [row] = await this.#store.get(executions, [[number]]);
    const { config } = row as ExecutionRow;
    const routes = routesByQueue(config === null ? undefined : await this.#payloads.load(config));
    return giveUp(this.#store, row as ExecutionRow, routes, request);
  }

  /** Moves messages to another route. @throws PipelineChangeError, MessageTooLargeError */
  async move({ number }: ExecutionRecord, plan: PipelinePlan, request: MoveRequest): Promise<Moved> {
    const [row] = await this.#store.get(executions, [[number]]);
    const target = await replayTargetOf(plan, this.#payloads);
    return move(this.#store, row as ExecutionRow, target, request);
  }

  /** The ledger of an execution has ended it, and has written that. */
  ended({ number }: ExecutionRecord): void {
    this.#ledgers.delete(number);
  }

  bytesOf(value: unknown): number {
    const stored = messageBody(this.#payloads, value);
    return stored instanceof Promise ? 0 : stored.length;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#ledgers.values()].map((ledger) => ledger.close()));
    await this.#carrier?.close();
    this.#blame.close();
    // If the store is away or closed, the next host withdraws the offers.
    if (this.shared) await withdraw(this.#store, this.#claim).catch(() => undefined);
    for (const claim of [...this.#owned, this.#claim]) await claim.release().catch(() => undefined);
    await this.#store.close();
  }

  async #recordOf(row: ExecutionRow): Promise<ExecutionRecord> {
    const { number, trace, input, error, totals } = row;
    return {
      ...summaryOf(row),
      ...(totals !== null && { totals: JSON.parse(totals as string) as readonly RouteTotals[] }),
      number,
      trace: trace ?? null,
      input: input === null ? undefined : await this.#payloads.load(input),
      error: error === null ? undefined : await this.#payloads.load(error),
    };
  }
}

/** The versions whose executions a host with these definitions can run. */
function offersOf(plans: readonly PipelinePlan[]): readonly Offer[] {
  return plans.flatMap(({ name: pipeline, version, compatibleWith }) =>
    [version, ...compatibleWith].map((one) => ({ pipeline, version: one })),
  );
}

function routeOf(plan: PipelinePlan, queue: string): RoutePlan | undefined {
  return plan.routes.find((one) => one.queue === queue);
}

/** How many messages of a queue a host can use at a time: those that wait in a batch are as good as in work. */
function mostOf(plan: PipelinePlan, queue: string): number {
  const { policy, batch } = routeOf(plan, queue) ?? { policy: PIPELINE_DEFAULTS.route, batch: undefined };
  return batch === undefined ? policy.concurrency : policy.prefetch;
}

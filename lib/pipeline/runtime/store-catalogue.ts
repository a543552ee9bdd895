// Executions in a store, under the claim of their host.

import { Payloads } from "../../flow/payload/payloads.js";
import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { processName } from "../../process/process-name.js";
import { type Claim, FencedError, type Store, StoreUnsupportedError } from "../../store/index.js";
import { storeContext } from "../../store/open-store.js";
import type { PipelineDefinition } from "../definition/pipeline.js";
import {
  announced,
  createExecution,
  endExecution,
  findExecution,
  setPaused,
  unannounced,
} from "../ledger/executions.js";
import type { LedgerListener } from "../ledger/ledger.js";
import { bodyWithin } from "../ledger/message-size.js";
import { StoreLedger } from "../ledger/store-ledger.js";
import {
  type ExecutionRow,
  type ExecutionStatus,
  executions,
  PIPELINE_SCHEMA,
  sources,
} from "../ledger/tables.js";
import type { Beginning, Catalogue, Record } from "./catalogue.js";
import { PipelineHostTakenError } from "./errors.js";
import type { OpenedLedger } from "./execution.js";
import type { HostMessage } from "./host-process.js";
import type { PipelineHostSettings } from "./options.js";
import type { PipelinePlan } from "./plan.js";
import { contextOf } from "./volatile-catalogue.js";

/** Names of claims of hosts begin so. */
export const PIPELINE_HOST_CLAIMS = "pipelines/host/";

/** Names of claims on pipelines begin so. */
const PIPELINE_CLAIMS = "pipelines/pipeline/";
/** How long a host waits for the claim on a pipeline, and how often it asks, in milliseconds. */
const OWN_MS = 1_000;
const OWN_AGAIN_MS = 20;

type Stored = string | Uint8Array;

/** Executions of one status that a host takes up at a time. */
const MOST_EXECUTIONS = 100_000;

export class StoreCatalogue implements Catalogue {
  readonly lineage = true;
  readonly durable = true;
  readonly #kernel: Kernel;
  readonly #store: Store;
  readonly #claim: Claim;
  readonly #payloads: Payloads;
  /** Ledgers that are open, or still write, by execution: the next one waits for them. */
  readonly #ledgers = new Map<number, StoreLedger>();
  /** Claims on pipelines, in a store of one process. */
  readonly #owned: Claim[] = [];

  private constructor(kernel: Kernel, store: Store, claim: Claim, payloads: Payloads) {
    this.#kernel = kernel;
    this.#store = store;
    this.#claim = claim;
    this.#payloads = payloads;
  }

  /** @throws PipelineHostTakenError, StoreUnsupportedError, StoreError */
  static async open(
    kernel: Kernel,
    tell: (message: HostMessage) => void,
    { store: source, hostId = kernel.env.id(), payloads, plans }: PipelineHostSettings,
  ): Promise<StoreCatalogue> {
    const codecs = new Payloads(payloads);
    if (source === undefined) throw new OptionError("store", source, "a store");
    const store = await source.open([PIPELINE_SCHEMA], storeContext(kernel));
    if (store.shared) {
      // Nothing gives back yet what a dead host of several had taken.
      await store.close();
      throw new StoreUnsupportedError(
        store.label,
        "is shared by several processes: pipelines need one of one process",
      );
    }
    const name = PIPELINE_HOST_CLAIMS + hostId;
    const claim = await store.claim(name, { owner: processName() });
    if (claim === undefined) {
      const holder = (await store.claims(name)).find((one) => one.name === name && one.held);
      const taken = new PipelineHostTakenError(hostId, store.label, holder);
      await store.close();
      throw taken;
    }
    claim.lost.addEventListener("abort", () =>
      tell({ type: "lost", error: new FencedError(name, claim.token) }),
    );
    const catalogue = new StoreCatalogue(kernel, store, claim, codecs);
    // The rows do not say who works on a message, so one host alone may run the executions of a pipeline.
    try {
      for (const pipeline of plans.keys()) await catalogue.#own(pipeline);
    } catch (error) {
      await catalogue.close();
      throw error;
    }
    return catalogue;
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
        const holder = (await this.#store.claims(name)).find((one) => one.name === name && one.held);
        throw new PipelineHostTakenError(`pipeline ${pipeline}`, this.#store.label, holder);
      }
      await new Promise<void>((resolve) => {
        this.#kernel.addTimer(OWN_AGAIN_MS, { fire: resolve });
      });
    }
  }

  async create({ id, plan, input, messages }: Beginning): Promise<{ record: Record; isNew: boolean }> {
    const { maxMessageBytes } = plan.policy;
    const bodies = await Promise.all(
      messages.map(async ({ value, queue }) =>
        bodyWithin(maxMessageBytes, await this.#payloads.store(value, "message"), queue),
      ),
    );
    const { row, isNew } = await createExecution(this.#store, this.#claim, {
      ...{ id, pipeline: plan.name, config: await this.#payloads.store(configOf(plan), "config") },
      input: input === undefined ? null : await this.#payloads.store(input, "input"),
      sources: plan.sources.map(({ source }) => source.name),
      messages: messages.map(({ id: message, queue, key }, i) => ({
        ...{ id: message, queue, key, body: bodies[i] as Stored },
      })),
    });
    return { record: await this.#recordOf(row), isNew };
  }

  async find(id: string): Promise<Record | undefined> {
    const row = await findExecution(this.#store, id);
    return row === undefined ? undefined : this.#recordOf(row);
  }

  async unfinished(): Promise<readonly Record[]> {
    const rows = await Promise.all(
      ["running", "paused"].map((status) =>
        this.#store.scan(executions, { index: "status", prefix: [status], limit: MOST_EXECUTIONS }),
      ),
    );
    return Promise.all(rows.flat().map((row) => this.#recordOf(row)));
  }

  async unannounced(): Promise<readonly Record[]> {
    const rows = await unannounced(this.#store);
    return Promise.all(rows.map((row) => this.#recordOf(row)));
  }

  announced({ number }: Record): Promise<void> {
    return announced(this.#store, number);
  }

  async open(record: Record, plan: PipelinePlan, listener: LedgerListener): Promise<OpenedLedger> {
    const { number } = record;
    // What an earlier process of the execution has submitted is written first: nobody works on a message that is being settled.
    await this.#ledgers.get(number)?.close();
    const [row] = await this.#store.get(executions, [[number]]);
    const places = await this.#store.scan(sources, { prefix: [number], limit: MOST_EXECUTIONS });
    const ledger = await StoreLedger.open({
      ...{ store: this.#store, claim: this.#claim, execution: row as ExecutionRow, listener },
      ...{ payloads: this.#payloads, context: contextOf(this.#kernel) },
      queues: plan.routes.map(({ queue }) => queue),
      maxMessageBytes: plan.policy.maxMessageBytes,
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

  pause({ number }: Record, paused: boolean): Promise<boolean> {
    return setPaused(this.#store, number, paused);
  }

  async end({ number }: Record, as: "failed" | "cancelled", error: unknown): Promise<boolean> {
    const stored = error === undefined ? null : await this.#payloads.storeThrown(error);
    return endExecution(this.#store, number, as, stored);
  }

  ended({ number }: Record): void {
    // The ledger has written it.
    this.#ledgers.delete(number);
  }

  bytesOf(value: unknown): number {
    const stored = this.#payloads.store(value, "message");
    return stored instanceof Promise ? 0 : stored.length;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#ledgers.values()].map((ledger) => ledger.close()));
    for (const claim of [...this.#owned, this.#claim]) await claim.release().catch(() => undefined);
    await this.#store.close();
  }

  async #recordOf(row: ExecutionRow): Promise<Record> {
    const { number, id, pipeline, status, pending, done, dead, inputs, created, ended } = row;
    return {
      ...{ number, id, pipeline, status: status as ExecutionStatus, pending, done, dead, inputs, created },
      ended: ended ?? undefined,
      input: row.input === null ? undefined : await this.#payloads.load(row.input),
      error: row.error === null ? undefined : await this.#payloads.load(row.error),
    };
  }
}

/** The configuration of an execution at its start, for people: the definition's own, if it has one, as a file of YAML is. */
function configOf({ definition, policy, routes, sources: feeds }: PipelinePlan): unknown {
  const { configuration } = (definition as PipelineDefinition).options;
  if (configuration !== undefined) return configuration;
  return {
    ...policy,
    routes: routes.map(({ name, queue, policy: of, adapters, rules }) => ({
      ...{ name, from: queue, policy: { ...of } },
      adapters: adapters.map(({ adapter }) => adapter.name),
      to: rules.exits.map((exit) => exit.queue),
    })),
    sources: feeds.map(({ source, queue }) => ({ name: source.name, to: queue })),
  };
}

// Options of a pipeline host, checked once.

import { checkEvidence, type EvidenceOption, RunningHosts } from "../../host/index.js";
import { type PayloadOptions, Payloads } from "../../host/payload/payloads.js";
import { Versions } from "../../host/versions.js";
import { OptionError } from "../../process/errors.js";
import { asGiven, checked, maybe, ms } from "../../process/option-schema.js";
import { text, withMethod } from "../../process/options.js";
import type { StoreSource } from "../../store/index.js";
import type { AnyPipeline } from "../definition/pipeline.js";
import { MOST_MESSAGE_BYTES } from "../ledger/limits.js";
import type { CarrierSource } from "../messages/carrier.js";
import {
  checkRetention,
  type PipelineRetention,
  type PipelineRetentionOptions,
} from "../operations/retention.js";
import { type PipelinePlan, planOf } from "./plan.js";

/** Options of {@link pipelineHost}. */
export interface PipelineHostOptions {
  /** The pipelines that this host can run, of each name as many versions as executions in flight need. */
  readonly pipelines: readonly AnyPipeline[];
  /**
   * Where executions live: `sqlite("jobs.db")`, `postgres(connection)` or `memory()`. Hosts with the same pipelines on one PostgreSQL share
   * the work of their executions. Without a store they live in memory alone, without lineage, and end with the host: the fastest way.
   *
   * Commits to a SQLite file survive SIGKILL. If pipelines alone use the file, a loss of power may take the last commits, never a
   * part of one: those messages are worked on again. `sqlite("jobs.db", { durability: "power-loss" })` syncs every commit.
   */
  readonly store?: StoreSource;
  /**
   * A broker that says which host works on which message: `jetstream({ servers })`. The store still holds the messages, and decides. All
   * hosts of a store need the same one. Default: none, and hosts ask the store.
   */
  readonly carrier?: CarrierSource;
  /** The registered name of the host's process. Default: none. */
  readonly name?: string;
  /** Who the host is, for people who look at the store. Default: an id that no other host has. */
  readonly hostId?: string;
  /** How values are stored: codecs, classes of errors, sizes. */
  readonly payloads?: PayloadOptions;
  /**
   * Where the command `signalbox pipelines` reaches the host: the path of a Unix socket, or `false` for none. Default: beside the file of a
   * SQLite store, `jobs.db.sock`, with mode 600. Hosts of one program share the socket of their file.
   */
  readonly socket?: string | boolean;
  /** How many milliseconds workers have to end what they have at hand when the host stops. Default 5,000. */
  readonly drainMs?: number;
  /**
   * Where the host keeps the evidence of what ends its process: the path of a folder, or `false` for none: then no message is blamed for a
   * crash. Default: beside the file of a SQLite store, at its path and `.evidence`; for PostgreSQL under the folder for temporary files. A
   * host that runs in a container keeps it over restarts in a folder that outlives the container.
   */
  readonly evidence?: EvidenceOption;
  /** How long the history of executions that have ended is kept. Default: for ever. */
  readonly retention?: PipelineRetentionOptions;
}

/** How long workers have to end what they have at hand, unless a host says otherwise. */
const DRAIN_MS = 5_000;

/** Options of a host, checked. */
export interface PipelineHostSettings {
  /** The hosts of this definition that run. */
  readonly hosts: RunningHosts;
  readonly plans: Versions<PipelinePlan>;
  readonly store: StoreSource | undefined;
  readonly carrier: CarrierSource | undefined;
  readonly name: string | undefined;
  readonly hostId: string | undefined;
  readonly payloads: PayloadOptions;
  readonly drainMs: number;
  readonly evidence: EvidenceOption | undefined;
  readonly retention: PipelineRetention | undefined;
}

const CHECKS = {
  pipelines: asGiven<readonly AnyPipeline[]>(),
  store: maybe((path, given) =>
    withMethod(path, given as StoreSource, "open", 'a store such as sqlite("jobs.db") or memory(), or none'),
  ),
  carrier: maybe((path, given) =>
    withMethod(path, given as CarrierSource, "open", "a broker, such as jetstream({ servers })"),
  ),
  name: maybe(text),
  hostId: maybe(text),
  payloads: (_path: string, given: unknown): PayloadOptions => {
    new Payloads(given as PayloadOptions);
    return given as PayloadOptions;
  },
  socket: asGiven(),
  drainMs: ms(0),
  evidence: checkEvidence,
  retention: maybe((_path, given) => checkRetention(given as PipelineRetentionOptions)),
};

/** @throws OptionError */
export function checkHost(options: PipelineHostOptions): PipelineHostSettings {
  const usual = { payloads: {}, drainMs: DRAIN_MS };
  const { pipelines, ...settings } = checked("", options, CHECKS, usual);
  const { store, carrier } = settings;
  if (carrier !== undefined && store === undefined)
    throw new OptionError("carrier", carrier.label, "none without a store: the store has the messages");
  return { hosts: new RunningHosts(), plans: plansOf(pipelines, store !== undefined), ...settings };
}

function plansOf(pipelines: readonly AnyPipeline[], isStored: boolean): Versions<PipelinePlan> {
  if (!Array.isArray(pipelines)) throw new OptionError("pipelines", pipelines, "a list of pipelines");
  const plans = new Versions<PipelinePlan>();
  for (const [i, pipeline] of (pipelines as readonly AnyPipeline[]).entries()) {
    if (typeof pipeline?.options !== "object")
      throw new OptionError(`pipelines[${i}]`, pipeline, "a definition made by definePipeline()");
    const plan = planOf(pipeline);
    if (!plans.add(plan))
      throw new OptionError(
        `pipelines[${i}]`,
        pipeline.name,
        "a name and version that no other pipeline of the host has",
      );
    const { maxMessageBytes } = plan.policy;
    if (isStored && maxMessageBytes > MOST_MESSAGE_BYTES)
      throw new OptionError(
        `pipelines[${i}].maxMessageBytes`,
        maxMessageBytes,
        `at most ${MOST_MESSAGE_BYTES} with a store: store what is larger elsewhere, and publish its name`,
      );
  }
  return plans;
}

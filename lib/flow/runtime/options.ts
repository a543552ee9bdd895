// Options of a flow host, checked once.

import type { Background } from "../../host/background/background.js";
import type { Service } from "../../host/host-life.js";
import { checkEvidence, type EvidenceOption, type EvidenceView, RunningHosts } from "../../host/index.js";
import { errorClassesOf } from "../../host/payload/error-classes.js";
import { type PayloadOptions, Payloads } from "../../host/payload/payloads.js";
import { type Values, valueCodec } from "../../host/payload/values.js";
import { Versions } from "../../host/versions.js";
import { type Duration, LONGEST_DURATION_MS } from "../../process/duration.js";
import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { asGiven, type Check, checked, maybe, ms, whole } from "../../process/option-schema.js";
import { flag, text, withMethod } from "../../process/options.js";
import type { Store, StoreSource } from "../../store/index.js";
import type { AnyFlow, FlowDefinition } from "../definition/define.js";
import { checkHospital, type HospitalOptions, type HospitalSettings } from "../hospital/options.js";
import { checkQueueName, checkQueues, type QueueOptions, type QueueSettings } from "../queues/options.js";
import type { Schedule } from "../schedules/schedules.js";
import * as flowErrors from "./errors.js";
import type { FlowAskInfo } from "./flow-call.js";
import { FLOW_DEFAULTS, type FlowLimits, type Interceptor } from "./port.js";

/** Options of {@link flowHost}. */
export interface FlowHostOptions {
  /** Where flows live: `sqlite("flows.db")`, `postgres(…)` or `memory()`. */
  readonly store: StoreSource;
  /** The definitions of the flows that this host can run. */
  readonly flows: readonly AnyFlow[];
  /** The registered name of the host's process. Default: none. */
  readonly name?: string;
  /** Identifies the host to people who look at the store. Default: an id that no other host has. */
  readonly hostId?: string;
  /**
   * Replays each journal after each of its writes, and twice before a flow ends, with other clocks (`Date`), other random numbers
   * (`Math.random`), timers (`setTimeout`) in another order, and outcomes that come late: the asks of its code must not depend on them. Finds
   * neither files, requests, `performance.now` and `node:timers`, nor what only the result depends on. For development.
   */
  readonly verify?: boolean;
  /** How values are stored: codecs, classes of errors, sizes. */
  readonly payloads?: PayloadOptions;
  /** Limits; see FLOW_DEFAULTS. */
  readonly limits?: Partial<FlowLimits>;
  /** How flows that fail are treated: staff, backoff, limits. */
  readonly hospital?: HospitalOptions;
  /** Wrap the transition of every flow. */
  readonly interceptors?: readonly Interceptor[];
  /** Queues by name, in which flows wait for their turn. Hosts of one store give the same ones, with the same limits. */
  readonly queues?: Readonly<Record<string, QueueOptions>>;
  /**
   * Schedules that the host stores when it starts. One that an earlier version of the program declared here, for one of `flows`, and that
   * is missing now, is removed. Without this option no schedule is changed.
   */
  readonly schedules?: readonly Schedule[];
  /**
   * Where the command `signalbox flows` reaches the host: the path of a Unix socket, or `false` for none. Default: beside the file of a
   * SQLite store, at its path and `.sock`. Stores without a file have none unless a path is given.
   */
  readonly socket?: string | boolean;
  /**
   * Where it is written which flow ran when the program died: the path of a folder, or `false` for nowhere, so that no flow is ever blamed
   * for a crash. Default: beside the file of a SQLite store, at its path and `.evidence`; for PostgreSQL under the folder for temporary
   * files. A host that runs in a container keeps it over restarts in a folder that outlives the container.
   */
  readonly evidence?: EvidenceOption;
  /** How long flows are kept that have ended. Default: for ever. */
  readonly retention?: RetentionOptions;
}

/** How long flows are kept that have ended. Without a duration they are kept for ever. */
export interface RetentionOptions {
  /** How long flows that completed are kept. */
  readonly completed?: Duration;
  /** How long flows that failed are kept. */
  readonly failed?: Duration;
  /** How long flows that were cancelled are kept. */
  readonly cancelled?: Duration;
  /** How long flows that were killed are kept. */
  readonly killed?: Duration;
  /** Most flows that have ended. Beyond this number, those that ended first are removed. */
  readonly most?: number;
  /** How often the host looks for flows to remove. Default 10 minutes; first when it starts. */
  readonly every?: Duration;
}

/** Starts of a host that are on their way to its store at a time. */
const STARTS_AT_ONCE = 500;

/** The flows that a host can run. */
export type Definitions = Versions<FlowDefinition<never>>;

/** Options of a host, checked. */
export interface HostSettings {
  /** The hosts of this definition that run. */
  readonly hosts: RunningHosts;
  /** The turns of starts. */
  readonly starts: Turns;
  readonly store: StoreSource;
  readonly definitions: Definitions;
  readonly name: string | undefined;
  readonly hostId: string | undefined;
  readonly verify: boolean;
  readonly limits: FlowLimits;
  readonly hospital: HospitalSettings;
  readonly evidence: EvidenceOption | undefined;
  readonly interceptors: readonly Interceptor[];
  readonly payloads: Values;
  readonly queues: ReadonlyMap<string, QueueSettings>;
  readonly schedules: readonly Schedule[] | undefined;
  readonly services: readonly HostService[];
}

/** The definitions of a host. @throws OptionError when two have the same name and version */
export function definitionsOf(flows: readonly AnyFlow[]): Definitions {
  if (!Array.isArray(flows)) throw new OptionError("flows", flows, "a list of flow definitions");
  const definitions: Definitions = new Versions();
  for (const [i, flow] of flows.entries()) {
    if (typeof flow?.body !== "function")
      throw new OptionError(`flows[${i}]`, flow, "a definition made by defineFlow()");
    if (!definitions.add(flow))
      throw new OptionError(
        `flows[${i}]`,
        flow.name,
        "a name and version that no other flow of the host has",
      );
  }
  return definitions;
}

const CHECKS = {
  store: (path: string, given: unknown) =>
    withMethod(path, given as StoreSource, "open", 'a store such as sqlite("flows.db") or memory()'),
  flows: (_path: string, given: unknown) => definitionsOf(given as readonly AnyFlow[]),
  name: maybe(text),
  hostId: maybe(text),
  verify: flag,
  payloads: asGiven<PayloadOptions>(),
  limits: limitsOf,
  hospital: (path: string, given: unknown) => checkHospital(path, given as HospitalOptions | undefined),
  interceptors: asGiven<readonly Interceptor[]>(),
  queues: (_path: string, given: unknown) => checkQueues(given),
  schedules: asGiven<readonly Schedule[] | undefined>(),
  socket: asGiven(),
  retention: asGiven(),
  evidence: checkEvidence,
};

/** @throws OptionError */
export function checkHost(options: FlowHostOptions, services: readonly HostService[] = []): HostSettings {
  const usual = { verify: false, payloads: {}, limits: FLOW_DEFAULTS, interceptors: [], queues: {} as never };
  const given = checked("", options, CHECKS, usual);
  const { flows: definitions, payloads, ...settings } = given;
  const { queues, schedules } = settings;
  for (const { name, options: own } of definitions.all)
    if (own.queue !== undefined) checkQueueName(`the queue of flow ${name}`, own.queue, queues);
  for (const [i, one] of (schedules ?? []).entries())
    if (!definitions.has(one?.flow?.name))
      throw new OptionError(`schedules[${i}]`, one, "a schedule(…) of one of the flows of the host");
  return {
    ...settings,
    hosts: new RunningHosts(),
    starts: new Turns(STARTS_AT_ONCE),
    services,
    definitions,
    payloads: payloadsOf(payloads, definitions),
  };
}

/** No timer is set for ever: the longest duration stands for it. */
const timer =
  (check: Check<number>): Check<number> =>
  (path, given) =>
    Math.min(check(path, given), LONGEST_DURATION_MS);
const FOREVER = timer(ms(0, Number.POSITIVE_INFINITY));
const LIMIT_CHECKS = {
  idleMs: FOREVER,
  stallMs: FOREVER,
  mostLoaded: whole(1),
  pollMs: timer(ms(1)),
  drainMs: FOREVER,
  takeAtOnce: whole(1),
};

function limitsOf(path: string, given: unknown): FlowLimits {
  return checked(path, given as object, LIMIT_CHECKS, FLOW_DEFAULTS);
}

export class Turns {
  readonly #most: number;
  #taken = 0;
  readonly #waiting: (() => void)[] = [];
  #first = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Does something in its turn. */
  async take<T>(act: () => Promise<T>): Promise<T> {
    if (this.#taken < this.#most) this.#taken++;
    else await new Promise<void>((go) => this.#waiting.push(go));
    try {
      return await act();
    } finally {
      this.#next();
    }
  }

  /** The turn goes to the one that waits for the longest. */
  #next(): void {
    const go = this.#waiting[this.#first];
    if (go === undefined) {
      this.#waiting.length = 0;
      this.#first = 0;
      this.#taken--;
      return;
    }
    this.#first++;
    go();
  }
}

/** A host, as its services see it. */
export interface ServedHost {
  readonly kernel: Kernel;
  /** Aborts when the host ends. */
  readonly alive: AbortSignal;
  readonly store: Store;
  readonly payloads: Values;
  readonly background: Background;
  /** Starts a flow of the newest version. Gives its id. @throws UnknownFlowError, FlowIdTakenError, FlowInputError */
  start(name: string, input: unknown, id: string): Promise<string>;
  /** Whether the host has a definition of this name. */
  has(name: string): boolean;
  /** What the code of a flow waits for, by the number of the flow. Empty: the host does not have it in memory. */
  held(number: number): readonly FlowAskInfo[];
  /** What its evidence says. */
  evidence(): EvidenceView;
}

/** Makes a child of a host, when the host has its store. Undefined: the service needs no process. */
export type HostService = (host: ServedHost) => Service | undefined;

/** With the classes of errors that the flows register. @throws OptionError */
export function payloadsOf(options: PayloadOptions, definitions?: Definitions): Values {
  const errors = (definitions?.all ?? []).flatMap((flow) => flow.options.errors ?? []);
  const classes = [...errorClassesOf(flowErrors), ...errors, ...(options.errors ?? [])];
  const payloads = new Payloads({ ...options, errors: [...new Set(classes)] });
  return {
    limits: payloads.limits,
    ...valueCodec(payloads),
    encodeThrown: (thrown) => payloads.storeThrown(thrown),
  };
}

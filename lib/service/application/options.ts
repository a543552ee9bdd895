// The options of `run`, their defaults in one table, and their checks.

import { CLUSTER_OPTIONS } from "../../node/cluster/cluster-option-names.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { abortSignal, asGiven, checked, fn, maybe, ms } from "../../process/option-schema.js";
import { flag, text } from "../../process/options.js";
import { production } from "../../process/production.js";
import type { SystemOptions } from "../../process/system.js";
import { System } from "../../system.js";
import { checkHealth, type HealthOptions, type HealthSettings } from "../health/options.js";
import {
  type ConfigOf,
  type ConfigurationOptions,
  checkConfigurationOptions,
  type StandardSchema,
} from "./configuration.js";
import type { Cause } from "./ending.js";
import { type Host, isSignal, nodeHost } from "./host.js";
import type { ServiceCluster } from "./membership.js";
import type { Service } from "./service.js";

/** The limits of a service, in milliseconds. */
export interface ApplicationLimits {
  /** How long the start may take, the check of the configuration included. */
  readonly startTimeoutMs: number;
  /** How long a stopping service goes on serving, not ready any more, so that load balancers notice. */
  readonly drainDelayMs: number;
  /** How long the whole stop may take, `drainDelayMs` included. Then all processes that are left are killed. */
  readonly drainTimeoutMs: number;
  /** How long the reports and the output of the program may take to be written at the end. */
  readonly flushTimeoutMs: number;
  /**
   * How long the Node process may go on after its last service has ended, if something such as an open socket keeps it. Then it is
   * ended.
   */
  readonly lingerMs: number;
}

/** The default of every limit of a service. */
export const APPLICATION_DEFAULTS: ApplicationLimits = {
  startTimeoutMs: 60_000,
  drainDelayMs: 0,
  drainTimeoutMs: 25_000,
  flushTimeoutMs: 2_000,
  lingerMs: 1_000,
};

/**
 * The action of a signal: `stop` asks for the stop, and forces it the second time. A function runs instead, and an error in it is
 * reported. `false` leaves the signal to the host.
 */
export type SignalAction = "stop" | ((service: Service<unknown>) => unknown) | false;

/** Signals by name. `SIGTERM` and `SIGINT` stop the service unless given otherwise. */
export type SignalActions = { readonly [signal in NodeJS.Signals]?: SignalAction };

/** Options of `run`. */
export interface RunOptions<Schema extends StandardSchema | undefined = StandardSchema | undefined>
  extends Partial<ApplicationLimits> {
  /** The name of the service in reports. Default: the name of the system, or `service`. */
  readonly name?: string;
  /**
   * The system to run in, or the options of a new one. A system of its own ends with the service; a given system goes on.
   */
  readonly system?: System | SystemOptions;
  /** The configuration, checked before anything starts. The tree's function gets the result. */
  readonly config?: Schema extends StandardSchema ? ConfigurationOptions<Schema> : never;
  /**
   * The cluster that the service joins before its tree starts, or a function of the configuration that gives it. The function of the tree
   * has the node as `service.node`. A stop takes nothing more for other nodes, stops the tree, and then leaves. The start fails when
   * the cluster cannot be joined.
   */
  readonly cluster?:
    | ServiceCluster
    | ((config: ConfigOf<Schema>) => ServiceCluster | Promise<ServiceCluster>);
  /** The actions of signals. `false`: the service listens to none. */
  readonly signals?: SignalActions | false;
  /**
   * Whether an error that belongs to no process stops the service: an uncaught exception, or an unhandled rejection. Default true.
   * `false` leaves these to Node and to listeners of your own.
   */
  readonly hostErrors?: boolean;
  /** Conditions of a healthy service: checks of your own, and limits. */
  readonly health?: HealthOptions;
  /**
   * The path of an admin socket, at which `signalbox system --socket PATH` looks at the processes of this program, also while it starts or
   * stops. The operations on its flow hosts, pipeline hosts and queues are there, too, whatever their stores are: not those of a host with
   * `socket: false`. Only programs of the same user can connect. The start fails when another program listens there. A socket that fails later is
   * reported, and the service goes on without it. Default: none; `false` says so,
   * too. A flow host, a pipeline host or open queues have an admin socket of their own.
   */
  readonly socket?: string | false;
  /** Stops the service when it is aborted. */
  readonly signal?: AbortSignal;
  /**
   * Runs after the service is not ready any more and before its tree stops. For what is not in the tree. An error is reported, and
   * the stop goes on.
   */
  readonly onDrain?: (cause: Cause) => unknown;
  /** Runs after the tree has stopped, before the service ends: to flush exporters and logs. An error in it is reported. */
  readonly flush?: () => unknown;
  /**
   * The host. Default: the Node process, or none for a system with a clock of its own, such as the simulator's. `false`: the service
   * touches nothing of the host, as a test wants it: no signals, no exit code, no end.
   */
  readonly host?: Host | false;
}

/** Checked options. */
export interface Settings {
  readonly name: string;
  readonly limits: ApplicationLimits;
  readonly system: System;
  /** The system ends with the service. */
  readonly ownsSystem: boolean;
  readonly config: ConfigurationOptions | undefined;
  readonly cluster:
    | ServiceCluster
    | ((config: unknown) => ServiceCluster | Promise<ServiceCluster>)
    | undefined;
  readonly signals: ReadonlyMap<string, "stop" | ((service: Service<unknown>) => unknown)>;
  readonly hostErrors: boolean;
  readonly health: HealthSettings;
  readonly socket: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly onDrain: (cause: Cause) => unknown;
  readonly flush: () => unknown;
  readonly host: Host | undefined;
}

const FOREVER = Number.POSITIVE_INFINITY;
const LIMIT_CHECKS = {
  startTimeoutMs: ms(0, FOREVER),
  drainDelayMs: ms(0),
  drainTimeoutMs: ms(0, FOREVER),
  flushTimeoutMs: ms(0, FOREVER),
  lingerMs: ms(0, FOREVER),
};
const CHECKS = {
  ...LIMIT_CHECKS,
  args: asGiven<unknown>(),
  name: maybe(text),
  system: asGiven<RunOptions["system"]>(),
  config: maybe(checkConfigurationOptions),
  cluster: maybe(checkCluster),
  signals: checkSignals,
  hostErrors: flag,
  health: (_path: string, given: unknown) => checkHealth(given as HealthOptions | undefined),
  socket: (path: string, given: unknown) => {
    if (given === undefined || given === false) return undefined;
    if (typeof given !== "string" || given === "") throw new OptionError(path, given, "a path, or false");
    return given;
  },
  signal: maybe(abortSignal),
  onDrain: fn<Settings["onDrain"]>(),
  flush: fn<Settings["flush"]>(),
  host: asGiven<RunOptions["host"]>(),
};
const DEFAULTS = { ...APPLICATION_DEFAULTS, hostErrors: true, onDrain: nothing, flush: nothing };

/** @throws OptionError */
export function checkOptions(options: RunOptions): Settings {
  const { system: given, name, host, args: _, ...settings } = checked("", options, CHECKS, DEFAULTS);
  const ownsSystem = !(given instanceof System);
  const { startTimeoutMs, drainDelayMs, drainTimeoutMs, flushTimeoutMs, lingerMs, ...rest } = settings;
  if (drainDelayMs > 0 && drainDelayMs >= drainTimeoutMs)
    throw new OptionError(
      "drainDelayMs",
      drainDelayMs,
      `less than drainTimeoutMs (${drainTimeoutMs}), which limits the delay and the stop together`,
    );
  const system = ownsSystem ? new System({ name: name ?? "service", ...given }) : given;
  return {
    ...rest,
    limits: { startTimeoutMs, drainDelayMs, drainTimeoutMs, flushTimeoutMs, lingerMs },
    name: name ?? (ownsSystem && given?.name === undefined ? "service" : system.name),
    system,
    ownsSystem,
    host: checkHost(host, system),
  };
}

function nothing(): void {}

function checkCluster(path: string, given: unknown): Settings["cluster"] {
  if (typeof given === "function") return given as Settings["cluster"];
  if (typeof given === "object" && given !== null) only(path, given, CLUSTER);
  const carrier = (given as { readonly carrier?: object } | null)?.carrier;
  if (carrier === undefined) {
    const allowed =
      "an object with a carrier, such as { carrier: nats({ … }) }, or a function that gives one";
    throw new OptionError(path, given, allowed);
  }
  const isCarrier = carrier !== null && ["connect", "send"].some((name) => name in Object(carrier));
  if (!isCarrier)
    throw new OptionError(`${path}.carrier`, carrier, "a carrier, such as the result of nats()");
  return given as ServiceCluster;
}

const CLUSTER = ["carrier", "programs", ...CLUSTER_OPTIONS];

function checkSignals(path: string, options: unknown): Settings["signals"] {
  const given = options as SignalActions | false | undefined;
  const actions = new Map<string, Exclude<SignalAction, false>>();
  if (given === false) return actions;
  const all: SignalActions = { SIGTERM: "stop", SIGINT: "stop", ...given };
  if (given !== undefined && (typeof given !== "object" || given === null))
    throw new OptionError(path, given, 'an object such as { SIGHUP: "stop" }, or false');
  for (const [name, action] of Object.entries(all)) {
    if (given !== undefined && name in given && !isSignal(name))
      throw new OptionError(
        `${path}.${name}`,
        action,
        "a signal that a program can listen to on this platform",
      );
    if (action === false || action === undefined) continue;
    if (action !== "stop" && typeof action !== "function")
      throw new OptionError(`${path}.${name}`, action, '"stop", a function, or false');
    actions.set(name, action);
  }
  return actions;
}

const METHODS: readonly (keyof Host)[] = [
  "onSignal",
  "onError",
  "keepAlive",
  "after",
  "flush",
  "setExitCode",
  "exit",
];

function checkHost(given: Host | false | undefined, system: System): Host | undefined {
  if (given === false) return undefined;
  // A system with another clock is a test's, and the Node process is not its host.
  if (given === undefined) return system.kernel.env === production ? nodeHost : undefined;
  for (const method of METHODS)
    if (typeof given?.[method] !== "function")
      throw new OptionError("host", given, `false, or an object with the methods ${METHODS.join(", ")}`);
  return given;
}

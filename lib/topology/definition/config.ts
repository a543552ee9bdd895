// Every option of a topology, with its default, in one table. A component's own comes before the topology's.

import { type Backoff, checkBackoff } from "../../process/backoff.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, delay } from "../../process/options.js";

/** The options of one component. */
export interface ComponentConfig {
  /** Reliable tuples of one spout task that may be in flight. The next is emitted when one of them is acked or fails. */
  readonly maxPending?: number;
  /** The wait of a spout whose `next` emitted nothing, until `next` is called again. */
  readonly spoutWaitMs?: number;
  /** How often a failed reliable tuple is retried before it has failed for good. 0: the spout's `fail` is called at once. */
  readonly retries?: number;
  /** Waits before retries. */
  readonly retryBackoff?: Backoff;
  /**
   * Tuples that may wait in the mailbox of one task. A task with more is full, and spouts pause whose tuples no other task
   * can take.
   */
  readonly receiveBuffer?: number;
  /**
   * How long an asynchronous `execute`, `tick` or `flush` of a bolt may take. A task that takes longer crashes: its tuple
   * fails, and the task is restarted. No limit by default.
   */
  readonly executeTimeoutMs?: number;
  /**
   * Tuples that one task of a bolt may work on at once, when its `execute` is asynchronous. Each tuple has its own context,
   * so that an emit after an `await` joins the tree of the right tuple. All share the state of the task. Default 1.
   */
  readonly concurrency?: number;
  /** The period of a bolt's `tick`. */
  readonly tickMs?: number;
  /** Restarts of one executor's tasks that are allowed within `periodMs`. With one more, the executor fails. */
  readonly intensity?: number;
  /** Milliseconds within which `intensity` counts restarts: 1 or more, or Infinity. */
  readonly periodMs?: number;
  /** Waits before a crashed task is restarted, longer each time. By default a task is restarted at once. */
  readonly restartBackoff?: Backoff;
  /** The share of tuples whose latencies are measured, 0 to 1. */
  readonly sampleRate?: number;
  /**
   * For development. Each emit compares its values with the fields of the stream, and throws FieldError when they do not
   * match. Default false.
   */
  readonly checkValues?: boolean;
  /** Publishes an event `tuple` for every tuple emitted. */
  readonly debug?: boolean;
}

/** The options of a topology. Those of {@link ComponentConfig} are the defaults of its components. */
export interface TopologyConfig extends ComponentConfig {
  /** A tuple whose tree is not complete in this time, or in up to half as long again, has expired: that is a failure. */
  readonly messageTimeoutMs?: number;
  /** Tasks of the ackers. */
  readonly ackers?: number;
  /** Supervisors that the tasks of the ackers are spread over, at most one for each task. */
  readonly ackerExecutors?: number;
  /**
   * Trees that one acker has room for. The default, and the least: twice as many as the spouts may have pending in all.
   * So an acker never runs out of room.
   */
  readonly ackerCapacity?: number;
  /** How long `stop` waits until no tuple is in flight. */
  readonly drainMs?: number;
  /** How often the whole topology starts again when restarts of a task and its executor did not help. */
  readonly restarts?: number;
  /** Waits before the whole topology starts again, longer each time. */
  readonly restartsBackoff?: Backoff;
}

type Defaults = Omit<
  Required<TopologyConfig>,
  "tickMs" | "executeTimeoutMs" | "restartBackoff" | "ackerCapacity" | "drainMs"
> & {
  readonly executeTimeoutMs: undefined;
  readonly tickMs: undefined;
  readonly restartBackoff: undefined;
  readonly ackerCapacity: undefined;
  readonly drainMs: undefined;
};

/** Defaults. The default of `drainMs` is the message timeout. */
export const TOPOLOGY_DEFAULTS: Defaults = {
  maxPending: 128,
  spoutWaitMs: 100,
  retries: 3,
  retryBackoff: { minMs: 100, maxMs: 10_000 },
  receiveBuffer: 256,
  executeTimeoutMs: undefined,
  concurrency: 1,
  tickMs: undefined,
  intensity: 10,
  periodMs: 5_000,
  restartBackoff: undefined,
  sampleRate: 0.05,
  checkValues: false,
  debug: false,
  messageTimeoutMs: 30_000,
  ackers: 4,
  ackerExecutors: 2,
  ackerCapacity: undefined,
  drainMs: undefined,
  restarts: 5,
  restartsBackoff: { minMs: 1_000, maxMs: 30_000 },
};

/** A component's configuration with every default filled in. */
export type FullComponentConfig = Required<
  Omit<ComponentConfig, "executeTimeoutMs" | "tickMs" | "restartBackoff">
> & {
  /** Milliseconds that `execute`, `tick` or `flush` of a bolt may take; undefined for no limit. */
  readonly executeTimeoutMs: number | undefined;
  /** Milliseconds between two ticks of a bolt; undefined for no ticks. */
  readonly tickMs: number | undefined;
  /** Waits before a crashed task is restarted; undefined to restart a task at once. */
  readonly restartBackoff: Backoff | undefined;
};

/** A topology's configuration with every default filled in, except the capacity of ackers, which depends on the spouts. */
export type FullConfig = FullComponentConfig &
  Required<Omit<TopologyConfig, keyof ComponentConfig | "ackerCapacity">> & {
    /** Trees that one acker has room for; undefined for twice as many as the spouts may have pending in all. */
    readonly ackerCapacity: number | undefined;
  };

const COMPONENT_CHECKS: {
  readonly [K in keyof Required<ComponentConfig>]: (path: string, value: unknown) => unknown;
} = {
  maxPending: (path, value) => count(path, value, 1),
  spoutWaitMs: (path, value) => delay(path, value, 1),
  retries: (path, value) => count(path, value, 0, true),
  retryBackoff: (path, value) => checkBackoff(path, value as Backoff),
  receiveBuffer: (path, value) => count(path, value, 1),
  executeTimeoutMs: (path, value) => delay(path, value, 1),
  concurrency: (path, value) => count(path, value, 1),
  tickMs: (path, value) => delay(path, value, 1),
  intensity: (path, value) => count(path, value, 0, true),
  periodMs: (path, value) => delay(path, value, 1, true),
  restartBackoff: (path, value) => checkBackoff(path, value as Backoff),
  sampleRate: share,
  checkValues: flag,
  debug: flag,
};

const TOPOLOGY_CHECKS: {
  readonly [K in keyof Required<TopologyConfig>]: (path: string, value: unknown) => unknown;
} = {
  ...COMPONENT_CHECKS,
  messageTimeoutMs: (path, value) => delay(path, value, 1),
  ackers: (path, value) => count(path, value, 1),
  ackerExecutors: (path, value) => count(path, value, 1),
  ackerCapacity: (path, value) => count(path, value, 1),
  drainMs: (path, value) => delay(path, value, 0, true),
  restarts: (path, value) => count(path, value, 0, true),
  restartsBackoff: (path, value) => checkBackoff(path, value as Backoff),
};

/** @throws OptionError when an option is unknown or wrong */
export function checkConfig(path: string, given: unknown): ComponentConfig {
  return check(path, given, COMPONENT_CHECKS) as ComponentConfig;
}

/** The names of the options of a component. */
export const COMPONENT_OPTIONS: readonly string[] = Object.keys(COMPONENT_CHECKS);

/** @throws OptionError when an option is unknown or wrong */
export function checkTopologyConfig(path: string, given: unknown): TopologyConfig {
  return check(path, given, TOPOLOGY_CHECKS) as TopologyConfig;
}

function check(
  path: string,
  given: unknown,
  checks: Readonly<Record<string, (path: string, value: unknown) => unknown>>,
): object {
  only(path, given as object, Object.keys(checks));
  const checked: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given as object)) {
    if (value === undefined) continue;
    checks[name]?.(`${path}.${name}`, value);
    checked[name] = value;
  }
  return checked;
}

/** The options with defaults filled in. An earlier object of `given` overrides a later one. */
export function fullConfig(...given: readonly TopologyConfig[]): FullConfig {
  const merged = Object.assign({}, TOPOLOGY_DEFAULTS, ...[...given].reverse()) as FullConfig;
  return { ...merged, drainMs: merged.drainMs ?? merged.messageTimeoutMs };
}

function share(path: string, value: unknown): number {
  if (typeof value === "number" && value >= 0 && value <= 1) return value;
  throw new OptionError(path, value, "a number from 0 to 1");
}

function flag(path: string, value: unknown): boolean {
  if (typeof value === "boolean") return value;
  throw new OptionError(path, value, "true or false");
}

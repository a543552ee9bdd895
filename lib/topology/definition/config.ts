// Every option of a topology, with its default, in one table. A component's own comes before the topology's.

import { type Backoff, checkBackoff } from "../../process/backoff.js";
import { type Check, checkedPart, ms, share, whole } from "../../process/option-schema.js";
import { flag } from "../../process/options.js";

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
   * Trees that one acker tracks at most. The default, and the least: twice as many as the spouts may have pending in all.
   * So an acker never refuses a tree.
   */
  readonly ackerCapacity?: number;
  /** How long `stop` waits until no tuple is in flight. */
  readonly drainMs?: number;
  /** How often the whole topology starts again when restarts of a task and its executor did not help. */
  readonly restarts?: number;
  /** Waits before the whole topology starts again, longer each time. */
  readonly restartsBackoff?: Backoff;
}

type Unset = "tickMs" | "executeTimeoutMs" | "restartBackoff" | "ackerCapacity" | "drainMs";
type Defaults = Omit<Required<TopologyConfig>, Unset> & { readonly [K in Unset]: undefined };

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
    /** Trees that one acker tracks at most; undefined for twice as many as the spouts may have pending in all. */
    readonly ackerCapacity: number | undefined;
  };

const FOREVER = Number.POSITIVE_INFINITY;
const COMPONENT_CHECKS = {
  maxPending: whole(1),
  spoutWaitMs: ms(1),
  retries: whole(0, FOREVER),
  retryBackoff: checkBackoff,
  receiveBuffer: whole(1),
  executeTimeoutMs: ms(1),
  concurrency: whole(1),
  tickMs: ms(1),
  intensity: whole(0, FOREVER),
  periodMs: ms(1, FOREVER),
  restartBackoff: checkBackoff,
  sampleRate: share,
  checkValues: flag,
  debug: flag,
} satisfies Record<keyof ComponentConfig, Check<unknown>>;

const TOPOLOGY_CHECKS = {
  ...COMPONENT_CHECKS,
  messageTimeoutMs: ms(1),
  ackers: whole(1),
  ackerExecutors: whole(1),
  ackerCapacity: whole(1),
  drainMs: ms(0, FOREVER),
  restarts: whole(0, FOREVER),
  restartsBackoff: checkBackoff,
} satisfies Record<keyof TopologyConfig, Check<unknown>>;

/** @throws OptionError when an option is unknown or wrong */
export function checkConfig(path: string, given: unknown): ComponentConfig {
  return checkedPart(path, given as object, COMPONENT_CHECKS);
}

/** The names of the options of a component. */
export const COMPONENT_OPTIONS: readonly string[] = Object.keys(COMPONENT_CHECKS);

/** @throws OptionError when an option is unknown or wrong */
export function checkTopologyConfig(path: string, given: unknown): TopologyConfig {
  return checkedPart(path, given as object, TOPOLOGY_CHECKS);
}

/** The options with defaults filled in. An earlier object of `given` overrides a later one. */
export function fullConfig(...given: readonly TopologyConfig[]): FullConfig {
  const merged = Object.assign({}, TOPOLOGY_DEFAULTS, ...[...given].reverse()) as FullConfig;
  return { ...merged, drainMs: merged.drainMs ?? merged.messageTimeoutMs };
}

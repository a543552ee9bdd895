// Singletons as users define them: a process that runs at most once among all systems that contend for its lease.

import type { BodyContext } from "../../process/body-context.js";
import { checkCallOptions } from "../../process/calls.js";
import type { Kernel } from "../../process/kernel.js";
import { checked, maybe, ms } from "../../process/option-schema.js";
import { kernelOf, text } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import type { CallOptions, ReplyTo } from "../../process/request.js";
import { type Launch, launch, type Startable, supervising } from "../../process/start.js";
import type { ProcessSystem } from "../../process/system.js";
import type { Store } from "../../store/index.js";
import { type ChildStart, checkChild, childHandle } from "../../supervisor/child.js";
import { leaseTimes } from "./lease-machine.js";
import { checkLeaseSource, type LeaseSource } from "./lease-source.js";
import { type SingletonMessage, SingletonProcess } from "./singleton-process.js";
import { LEAST_TTL_MS, storeLeases } from "./store-leases.js";

/**
 * The lease under which a singleton runs. A write set of the store that keeps the lease may name it as its `claim`; other stores that can fence get the token.
 */
export interface Lease {
  /** The name of the lease in its source. */
  readonly name: string;
  /** The fencing token: a whole number, larger than that of any earlier holder. */
  readonly token: number;
  /** Aborts when the lease is lost, before the process is stopped, and when the lease was given back. */
  readonly lost: AbortSignal;
  /**
   * Whether the lease is held at this moment, by the clock of this system. Check it before an effect that cannot be fenced. After a pause of
   * the whole program it is false at once, also while `lost` has not aborted yet.
   */
  readonly isHeld: boolean;
}

/** The code of a singleton: a definition whose `init` gets the lease first, or needs no arguments; or a function of its context and the lease. */
export type SingletonStart = Startable<never, unknown> | SingletonBody;

type Anything = ReturnType<JSON["parse"]>;

/** A function body that runs as a singleton. */
export type SingletonBody = (
  ctx: BodyContext<Anything>,
  lease: Lease,
  ...args: readonly Anything[]
) => unknown;

/** The arguments of `init` after the lease. */
export type LeasedArgs<S> =
  S extends Startable<infer A, unknown>
    ? A extends readonly [Lease, ...infer R]
      ? Readonly<R>
      : A extends readonly []
        ? readonly []
        : never
    : S extends (ctx: never, lease: Lease, ...args: infer R) => unknown
      ? Readonly<R>
      : never;

/** The handle of a singleton's process: that of its definition, or the pid of a function. */
export type SingletonHandle<S> = S extends Startable<never, infer Ref> ? Ref : Pid<unknown>;

interface SingletonSettings {
  /** The name of the lease. Contenders for the same name in the same source are one singleton. */
  readonly name: string;
  /** The source of the lease, or a store: then `storeLeases(store)`. */
  readonly lease: LeaseSource | Store;
  /** How long the lease holds without renewal, in milliseconds. At least 500. Default: that of the source. */
  readonly ttlMs?: number;
  /**
   * How long the process has to end when the singleton is stopped, in milliseconds; after a loss, at most what is left of the lease.
   * Default 5,000.
   */
  readonly shutdownMs?: number;
  /** How many milliseconds the `init` of the process may take. Default `Infinity`. */
  readonly startTimeoutMs?: number;
}

/** Something that belongs to a system, such as a node of a cluster. */
export interface HasSystem {
  /** The system. */
  readonly system: ProcessSystem;
}

/** Options of a {@link singleton}. */
export type SingletonOptions<S extends SingletonStart = SingletonStart> = SingletonSettings & {
  /** What runs where the lease is held. */
  readonly start: S;
} & (readonly [] extends LeasedArgs<S>
    ? {
        /** Arguments of `init` after the lease. Default none. */
        readonly args?: LeasedArgs<S>;
      }
    : {
        /** Arguments of `init` after the lease. */
        readonly args: LeasedArgs<S>;
      });

/** What {@link singleton} returns: start it, or make it a child of a supervisor. */
export interface SingletonDefinition<Ref> extends Startable<readonly [], SingletonRef<Ref>> {
  /** @internal */
  readonly [supervising]: true;
}

/** The handle of a contender. */
export class SingletonRef<Ref> {
  /** The process that contends for the lease. */
  readonly pid: Pid<SingletonMessage>;
  readonly #kernel: Kernel;
  readonly #handle: (pid: Pid) => unknown;

  /** @internal */
  constructor(pid: Pid<SingletonMessage>, kernel: Kernel, handle: (pid: Pid) => unknown) {
    this.pid = pid;
    this.#kernel = kernel;
    this.#handle = handle;
  }

  /** The handle of the process, if it runs in this system now. */
  async here(options?: CallOptions): Promise<Ref | undefined> {
    checkCallOptions(options);
    const build = (replyTo: ReplyTo<Pid | undefined>): SingletonMessage => ({ type: "where", replyTo });
    const pid = await this.#kernel.calls.call(undefined, this.pid, build, options);
    return pid === undefined ? undefined : (this.#handle(pid) as Ref);
  }

  /** The pid of the contender. */
  toString(): string {
    return String(this.pid);
  }
}

const SHUTDOWN_MS = 5_000;

/**
 * A process that runs at most once, on the system that holds the lease of this name. Each system with the singleton contends for the lease.
 * One gets it, starts the process and renews the lease. When the holder stops in order, the next one starts at once. When the holder is
 * killed, hangs or is cut off, the next one starts when the lease has expired. A process that ends by itself ends its contender too, with
 * the same reason: a supervisor decides on the restart, and another system may be faster.
 *
 * The holder ends before its lease does: it counts from the moment at which it asked, by its own clock, and a lease that was not renewed until a
 * quarter of its time is left is lost. Then `lost` aborts, the process gets its `shutdown`, and it is killed before the time is over. This needs clocks that run
 * at the same rate. Where they may not (a virtual machine that is suspended), and for whatever is on its way when the lease ends, pass
 * the token on: a write under an old one is refused.
 *
 * @param node - the system, or something that has one
 * @throws OptionError
 * @example
 * await using store = await openStore(system, memory({ shared: true }), []);
 * const Billing = defineServer({
 *   init: (_ctx, lease: Lease) => ({ lease }),
 *   calls: { bill: ({ lease }) => store.commit({ claim: lease, writes: [] }) },
 * });
 * const billing = singleton(system, { name: "billing", lease: store, start: Billing });
 * await system.start(supervisor({ children: [{ id: "billing", start: billing }] }));
 */
export function singleton<S extends SingletonStart>(
  node: ProcessSystem | HasSystem,
  options: SingletonOptions<S>,
): SingletonDefinition<SingletonHandle<S>> {
  kernelOf(systemOf(node));
  const given = checked(
    "",
    options,
    {
      name: text,
      lease: sourceAt,
      start: (_path, value) => value,
      args: (_path, value) => value as readonly unknown[],
      ttlMs: maybe(ms(LEAST_TTL_MS)),
      shutdownMs: ms(0, Number.POSITIVE_INFINITY),
      startTimeoutMs: ms(0, Number.POSITIVE_INFINITY),
    },
    { args: [], shutdownMs: SHUTDOWN_MS, startTimeoutMs: Number.POSITIVE_INFINITY },
  );
  const { name, lease: source, args } = given;
  const { start, ...spec } = checkChild(
    "singleton",
    {
      id: name,
      start: given.start as ChildStart,
      args,
      shutdown: given.shutdownMs,
      startTimeoutMs: given.startTimeoutMs,
    } as never,
    "never",
  );
  const times = leaseTimes(given.ttlMs ?? source.ttlMs);
  return {
    [supervising]: true,
    [launch]: (): Launch<SingletonRef<SingletonHandle<S>>> => ({
      behaviour: new SingletonProcess({ name, source, times, spec: { ...spec, start }, args }),
      // The contender ends after its process, and gives the lease back. Its own limits bound that time.
      options: { label: `singleton ${name}`, trapExit: true, shutdown: Number.POSITIVE_INFINITY },
      ref: (pid, kernel) =>
        new SingletonRef(pid as Pid<SingletonMessage>, kernel, (child) =>
          childHandle(start, args, child as Pid<never>, kernel),
        ),
    }),
  };
}

function systemOf(node: ProcessSystem | HasSystem): ProcessSystem {
  return (node as Partial<HasSystem> | null | undefined)?.system ?? (node as ProcessSystem);
}

function sourceAt(path: string, given: unknown): LeaseSource {
  const store = given as Partial<Store> | null | undefined;
  if (typeof store?.claim === "function" && typeof store.commit === "function")
    return storeLeases(store as Store);
  return checkLeaseSource(path, given as LeaseSource);
}

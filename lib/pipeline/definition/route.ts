// Routes: an inbound queue, adapters in sequence, outbound queues. Types are inferred from the queue through the adapters to the
// queues at the end.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { JOB_PLACE, type Job, type JobPlace, placedJob } from "../../process/program-host.js";
import type {
  Adapted,
  Adapter,
  AdapterContext,
  BatchAdapter,
  BatchContext,
  BatchLimits,
  Stage,
} from "./adapter.js";
import { type Condition, testOf } from "./condition.js";
import type { QuarantinePolicy, RetryPolicy, RoutePolicy } from "./policy.js";
import { checkName, type Queue } from "./queue.js";

/** Options of {@link route}: the inbound queue, and what differs from the policy of the pipeline. */
export interface RouteOptions<I> extends Partial<Omit<RoutePolicy, "retry" | "quarantine">> {
  /** The queue whose messages the route takes. A queue has one route. */
  readonly from: Queue<I>;
  /** For people. */
  readonly description?: string;
  /** How failures are retried. */
  readonly retry?: Partial<RetryPolicy>;
  /** How often messages may end their process, and how long they wait. */
  readonly quarantine?: Partial<QuarantinePolicy>;
  /** A result goes to the first outbound queue whose condition holds, rather than to all of them. Default false. */
  readonly firstMatch?: boolean;
}

/** An outbound queue of a route. */
export interface Outbound {
  /** The queue. */
  readonly queue: Queue<never>;
  /** Only results for which it is true go there. */
  readonly when: Condition | undefined;
}

/** A route, as far as it is built. `Out` is what its last adapter gives. */
export class Route<Out = unknown> {
  /** Unique in its pipeline. */
  readonly name: string;
  /** Its options. */
  readonly options: RouteOptions<never>;
  /** The adapters, in their order. */
  readonly stages: readonly Stage[];
  /** Where results go. None: they are done. */
  readonly outbound: readonly Outbound[];

  /** @internal Use {@link route}. */
  constructor(
    name: string,
    options: RouteOptions<never>,
    stages: readonly Stage[] = [],
    outbound: readonly Outbound[] = [],
  ) {
    this.name = name;
    this.options = options;
    this.stages = stages;
    this.outbound = outbound;
  }

  /**
   * Adds an adapter: a function with a name, or an adapter that was made elsewhere. A message for which `when` is false passes by it. A job
   * runs elsewhere, in a thread or on another node: where the option `on` says. It gets the value of each message, and its result goes on.
   *
   * @throws OptionError
   * @example
   * const sum = job((numbers: number[]) => numbers.reduce((one, other) => one + other, 0));
   * const workers = await threads(system, { program: new URL("./sums.js", import.meta.url) });
   * const adding = route("adding", { from: queue<number[]>("numbers"), concurrency: 2 }).via("sum", sum, { on: workers });
   */
  via<O>(
    name: string,
    process: (value: Out, ctx: AdapterContext) => Adapted<O> | PromiseLike<Adapted<O>>,
  ): Route<O>;
  via<O>(
    name: string,
    process: (value: Out, ctx: AdapterContext) => Adapted<O> | PromiseLike<Adapted<O>>,
    options: {
      /** Which messages it takes. The others pass by it. */
      readonly when: Condition<Out>;
    },
  ): Route<O | Out>;
  via<O>(
    name: string,
    job: Job<[Out], O>,
    options: JobPlace & {
      /** Which messages it takes. The others pass by it. */
      readonly when: Condition<Out>;
    },
  ): Route<Exclude<O, undefined> | Out>;
  via<O>(name: string, job: Job<[Out], O>, options: JobPlace): Route<Exclude<O, undefined>>;
  via<O>(adapter: Adapter<Out, O> | BatchAdapter<Out, O>): Route<O>;
  via<O>(
    adapter: Adapter<Out, O> | BatchAdapter<Out, O>,
    options: {
      /** Which messages it takes. The others pass by it. */
      readonly when: Condition<Out>;
    },
  ): Route<O | Out>;
  via<O>(
    first: string | Adapter<Out, O> | BatchAdapter<Out, O>,
    second?: unknown,
    third?: unknown,
  ): Route<O> {
    const path = `${this.name}.adapters[${this.stages.length}]`;
    const isNamed = typeof first === "string";
    const adapter = isNamed ? namedAdapter(path, first, second, third) : first;
    checkAdapter(path, adapter);
    if (this.stages.some((stage) => stage.adapter.name === adapter.name))
      throw new OptionError(
        `${path}.name`,
        adapter.name,
        "unlike the names of the other adapters of the route",
      );
    const when = isNamed ? whenOf(path, third, ["when", ...JOB_PLACE]) : whenOf(path, second);
    return new Route(
      this.name,
      this.options,
      [...this.stages, { adapter: adapter as Adapter, when }],
      this.outbound,
    );
  }

  /**
   * Adds an adapter that works on batches. See {@link BatchAdapter}.
   *
   * @throws OptionError
   */
  batch<O>(
    name: string,
    limits: BatchLimits,
    processBatch: (
      values: readonly Out[],
      ctx: BatchContext,
    ) => readonly O[] | undefined | PromiseLike<readonly O[] | undefined>,
  ): Route<O> {
    return this.via({ name, batch: limits, processBatch });
  }

  /**
   * Sends results to a queue; called again, to a further one. With `when`, only those for which it is true.
   *
   * @throws OptionError
   */
  to(
    queue: Queue<Out>,
    options: {
      /** Which results it gets. Default: all. */
      readonly when?: Condition<Out>;
    } = {},
  ): Route<Out> {
    const path = `${this.name}.to[${this.outbound.length}]`;
    const name = checkName(path, (queue as Queue<Out> | undefined)?.name);
    if (this.outbound.some((one) => one.queue.name === name))
      throw new OptionError(path, name, "a queue that the route does not send to already");
    const when = whenOf(path, options);
    return new Route(this.name, this.options, this.stages, [...this.outbound, { queue, when }]);
  }
}

/** Any route: what a pipeline reads of it. */
export type AnyRoute = Pick<Route<never>, "name" | "options" | "stages" | "outbound">;

function checkAdapter(path: string, adapter: object): asserts adapter is Adapter | BatchAdapter {
  if (typeof adapter !== "object" || adapter === null)
    throw new OptionError(path, adapter, "a name and a function, or an adapter { name, process }");
  const { name, process, processBatch, batch } = adapter as Partial<Adapter & BatchAdapter>;
  checkName(`${path}.name`, name);
  if (processBatch === undefined ? typeof process !== "function" : typeof processBatch !== "function")
    throw new OptionError(`${path}.process`, process ?? processBatch, "a function");
  if (processBatch !== undefined)
    only(`${path}.batch`, batch as object, ["size", "bytes", "everyMs", "byKey"]);
}

/** A function with a name, or a job. */
function namedAdapter(path: string, name: string, body: unknown, options: unknown): Adapter {
  const placed = placedJob(`${path}.process`, name, body, options as Partial<JobPlace> | undefined);
  const process = placed === undefined ? body : (value: unknown, ctx: AdapterContext) => placed([value], ctx);
  return { name, process: process as Adapter["process"] };
}

function whenOf(path: string, given: unknown, known: readonly string[] = ["when"]): Condition | undefined {
  if (given === undefined) return undefined;
  only(path, given as object, known);
  const { when } = given as { readonly when?: Condition };
  if (when !== undefined) testOf(`${path}.when`, when);
  return when;
}

/**
 * Begins a route: add its adapters with `via` and `batch`, and its outbound queues with `to`.
 *
 * @throws OptionError
 * @example
 * const lines = queue<string>("lines");
 * const words = queue<string>("words");
 * const split = route("split", { from: lines }).via("words", (line) => many(line.split(" "))).to(words);
 */
export function route<I>(name: string, options: RouteOptions<I>): Route<I> {
  checkName("name", name);
  return new Route<I>(name, options as unknown as RouteOptions<never>);
}

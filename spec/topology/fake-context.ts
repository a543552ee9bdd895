// One task of a bolt, run by hand: no process, no subscriptions. It refuses what a host refuses: to settle a tuple
// twice, and to anchor to one that is settled.

import type {
  BoltContext,
  BoltDefinition,
  BoltEmitOptions,
  BoltOptions,
  InitContext,
  LogLevel,
} from "../../lib/topology/definition/component.js";
import { AnchorError, SettledError } from "../../lib/topology/definition/errors.js";
import type { AnyValues, Streams } from "../../lib/topology/definition/field.js";
import { ForeignChannel, Tuple } from "../../lib/topology/definition/tuple.js";

export interface Emitted {
  readonly stream: string;
  readonly values: AnyValues;
  readonly anchors: readonly AnyValues[] | undefined;
  readonly task?: number;
}

export class FakeTask {
  time = 0;
  alive = true;
  readonly emitted: Emitted[] = [];
  /** What the tuples carried that were acked, failed. */
  readonly acked: AnyValues[] = [];
  readonly failed: AnyValues[] = [];
  readonly extended: AnyValues[] = [];
  /** Lines of the log, each after its level; only the first line of a text. */
  readonly lines: string[] = [];
  readonly options: BoltOptions<Streams, unknown, Tuple>;
  readonly #shared = new Map<unknown, unknown>();
  readonly #settled = new Set<Tuple<unknown>>();
  #timers: (() => unknown)[] = [];
  #ctx!: BoltContext<Streams, unknown>;

  private constructor(options: BoltOptions<Streams, unknown, Tuple>) {
    this.options = options;
  }

  static async start(definition: { readonly options: BoltDefinition["options"] }): Promise<FakeTask> {
    const task = new FakeTask(definition.options);
    const init = task.#initContext();
    const state = await task.options.init?.(init);
    task.#ctx = {
      ...init,
      state,
      emit: Object.fromEntries(
        Object.keys(task.options.streams ?? {}).map((stream) => [
          stream,
          (values: AnyValues, options?: BoltEmitOptions) => task.#emit(stream, values, options),
        ]),
      ),
      ack: (tuple) => task.#settle(tuple, task.acked),
      fail: (tuple) => task.#settle(tuple, task.failed),
      ready: () => undefined,
      extend: (tuple) => void task.extended.push(tuple?.values as AnyValues),
    };
    return task;
  }

  execute(values: AnyValues, stream = "numbers"): unknown {
    return this.options.execute(new Tuple(values, new ForeignChannel("source", stream, 1)), this.#ctx);
  }

  tick(time: number = this.time): unknown {
    this.time = time;
    return this.options.tick?.(this.#ctx);
  }

  flush(): unknown {
    return this.options.flush?.(this.#ctx);
  }

  /** The timer that was set first fires. */
  fire(): unknown {
    return this.#timers.shift()?.();
  }

  hook(name: "activate" | "deactivate" | "close"): unknown {
    return this.options[name]?.(this.#ctx, true);
  }

  #initContext(): InitContext {
    const task = this;
    return {
      component: "held",
      task: 7,
      index: 2,
      shared: this.#shared,
      process: {
        get alive() {
          return task.alive;
        },
        runAfter: (_ms: number, fn: () => unknown) => {
          task.#timers.push(fn);
          return fn;
        },
        cancel: (timer: unknown) => {
          task.#timers = task.#timers.filter((one) => one !== timer);
        },
      } as unknown as InitContext["process"],
      now: () => task.time,
      random: () => 0.5,
      log: (level: LogLevel, line: string | (() => string)) => {
        task.lines.push(`${level}: ${(typeof line === "string" ? line : line()).split("\n")[0]}`);
      },
    };
  }

  #emit(stream: string, values: AnyValues, options: BoltEmitOptions | undefined): void {
    const given = options?.anchors;
    const anchors = given === undefined ? undefined : ([given].flat() as Tuple<AnyValues>[]);
    for (const tuple of anchors ?? [])
      if (this.#settled.has(tuple)) throw new AnchorError("held", 7, tuple.stream);
    this.emitted.push({
      stream,
      values,
      anchors: anchors?.map((tuple) => tuple.values),
      ...(options?.task !== undefined && { task: options.task }),
    });
  }

  #settle(tuple: Tuple<unknown>, as: AnyValues[]): void {
    if (this.#settled.has(tuple)) throw new SettledError("held", 7, tuple.stream);
    this.#settled.add(tuple);
    as.push(tuple.values as AnyValues);
  }
}

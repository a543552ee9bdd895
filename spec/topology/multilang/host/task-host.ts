// One task of a shell component in a process of its own: the part of a host that these tests need, with a record of
// everything that the component did.

import type { Callbacks, Environment, ExitReason, Pid } from "signalbox";
import { ProcessSystem } from "../../../../lib/process/system.js";
import type {
  BoltDefinition,
  BoltEmitOptions,
  BoltOptions,
  InitContext,
  SpoutDefinition,
  SpoutOptions,
} from "../../../../lib/topology/definition/component.js";
import { AnchorError, SettledError } from "../../../../lib/topology/definition/errors.js";
import type { AnyValues, Streams } from "../../../../lib/topology/definition/field.js";
import { ForeignChannel, Tuple } from "../../../../lib/topology/definition/tuple.js";

interface Emitted {
  readonly stream: string;
  readonly values: AnyValues;
  /** What the anchors carried. */
  readonly anchors?: readonly unknown[];
  readonly id?: unknown;
  readonly task?: number;
}

/** Task ids that every emit without a task is said to go to. */
const TASKS = [4, 5];
/** Its numbers: the third task of the topology, and the first of the component `shell`. */
const TASK = 3;

type Ctx = InitContext & { readonly state: unknown };
type Message = (ctx: Ctx) => unknown;

export class TaskHost implements AsyncDisposable {
  readonly emitted: Emitted[] = [];
  readonly acked: unknown[] = [];
  readonly failed: unknown[] = [];
  /** Lines of the log, each after its level. */
  readonly lines: string[] = [];
  /** How the task ended. */
  readonly ended: Promise<ExitReason>;
  readonly started: Promise<void>;
  readonly system: ProcessSystem;
  readonly pid: Pid<Message>;
  readonly #options: BoltOptions<Streams, unknown, Tuple> & SpoutOptions<Streams, unknown, unknown>;
  readonly #settled = new Set<unknown>();
  #waiting: (() => void)[] = [];

  constructor(
    definition: Pick<BoltDefinition, "streams" | "options"> | Pick<SpoutDefinition, "streams" | "options">,
    environment?: Environment,
  ) {
    this.#options = definition.options as never;
    this.system = new ProcessSystem({ report: false, ...(environment === undefined ? {} : { environment }) });
    let ctx: Ctx;
    let begun = (): void => undefined;
    this.started = new Promise((resolve) => {
      begun = resolve;
    });
    const task: Callbacks<Message> = {
      init: async (process) => {
        const known = this.#known(process as never);
        const state = await this.#options.init?.(known);
        ctx = {
          ...known,
          state,
          emit: this.#emitters(Object.keys(definition.streams)),
          ack: (tuple: Tuple<unknown>) => this.#settle(tuple, this.acked),
          fail: (tuple: Tuple<unknown>) => this.#settle(tuple, this.failed),
          wake: () => undefined,
          done: () => undefined,
        } as Ctx;
        await this.#options.activate?.(ctx as never);
        begun();
      },
      handle: (_process, message) => message(ctx),
      terminate: async () => {
        await this.#options.deactivate?.(ctx as never);
        await this.#options.close?.(ctx as never, true);
      },
    };
    this.pid = this.system.spawn(task, { trapExit: true });
    this.ended = this.system.exited(this.pid);
  }

  /** Gives a tuple to the bolt. Resolves when it takes the next. */
  execute(values: AnyValues, stream = "lines"): Promise<void> {
    const tuple = new Tuple(values, new ForeignChannel("source", stream, 1));
    return this.#do((ctx) => this.#options.execute(tuple, ctx as never));
  }

  tick(): Promise<void> {
    return this.#do((ctx) => this.#options.tick?.(ctx as never));
  }

  next(): Promise<void> {
    return this.#do((ctx) => this.#options.next(ctx as never));
  }

  ack(id: unknown): Promise<void> {
    return this.#do((ctx) => this.#options.ack?.(id, ctx as never));
  }

  fail(id: unknown): Promise<void> {
    const failure = { type: "failed", attempts: 1, deadLettered: false } as const;
    return this.#do((ctx) => this.#options.fail?.(id, ctx as never, failure));
  }

  /** Resolves when the record is as wished; rejects when the task ends before. */
  async until(wish: () => boolean): Promise<void> {
    let reason: ExitReason | undefined;
    void this.ended.then((how) => {
      reason = how;
      this.#changed();
    });
    while (!wish()) {
      if (reason !== undefined) throw new Error(`the task ended: ${JSON.stringify(reason)}`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.system.stop();
  }

  #do(message: Message): Promise<void> {
    return new Promise((resolve) => {
      this.system.send(this.pid, (ctx) => {
        const result = message(ctx);
        if (result instanceof Promise) return result.then(resolve);
        resolve();
        return undefined;
      });
    });
  }

  #changed(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  #known(process: InitContext["process"]): InitContext {
    return {
      component: "shell",
      task: TASK,
      index: 0,
      shared: new Map(),
      process,
      now: () => process.now(),
      random: () => process.random(),
      log: (level, line) => {
        this.lines.push(`${level}: ${typeof line === "string" ? line : line()}`);
        this.#changed();
      },
    };
  }

  #emitters(
    streams: readonly string[],
  ): Record<string, (values: AnyValues, options?: BoltEmitOptions) => void> {
    return Object.fromEntries(
      streams.map((stream) => [
        stream,
        (values: AnyValues, options: BoltEmitOptions & { id?: unknown } = {}) => {
          const { anchors, task, id, onTasks } = options;
          const tuples = anchors === undefined ? undefined : ([anchors].flat() as Tuple[]);
          for (const tuple of tuples ?? [])
            if (this.#settled.has(tuple)) throw new AnchorError("shell", TASK, stream);
          this.emitted.push({
            stream,
            values,
            ...(tuples !== undefined && { anchors: tuples.map((tuple) => tuple.values) }),
            ...(id !== undefined && { id }),
            ...(task !== undefined && { task }),
          });
          onTasks?.(task === undefined ? TASKS : [task]);
          this.#changed();
        },
      ]),
    );
  }

  #settle(tuple: Tuple<unknown>, as: unknown[]): void {
    if (this.#settled.has(tuple)) throw new SettledError("shell", TASK, tuple.stream);
    this.#settled.add(tuple);
    as.push(tuple.values);
    this.#changed();
  }
}

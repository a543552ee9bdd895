// One component of a topology as a program under another host, such as Storm: the program speaks multilang on the
// standard streams. This file reads, writes and restarts; program-bolt.ts and program-spout.ts carry out the messages.

import type { Callbacks } from "../../../process/behaviour.js";
import type { Context } from "../../../process/context.js";
import type { Environment } from "../../../process/environment.js";
import { OptionError } from "../../../process/errors.js";
import { only } from "../../../process/known-options.js";
import { count, oneOf } from "../../../process/options.js";
import type { Pid } from "../../../process/pid.js";
import { production } from "../../../process/production.js";
import { type ExitReason, formatReason, isOrderly } from "../../../process/reason.js";
import { ProcessSystem } from "../../../process/system.js";
import { Queue } from "../../../supervisor/queue.js";
import { countRestart } from "../../../supervisor/restart-rule.js";
import type { Blueprint, ComponentPlan } from "../../definition/blueprint.js";
import type { LogLevel } from "../../definition/component.js";
import { unanchoredStreams } from "../../definition/downstream.js";
import { textOf } from "../../definition/errors.js";
import { dispose } from "../../runtime/dispose.js";
import { endWithLinked } from "../../tasks/task.js";
import { Decoder, encode, MAX_MESSAGE } from "../protocol/codec.js";
import { LEVELS } from "../protocol/component-messages.js";
import { MultilangError } from "../protocol/errors.js";
import { ownOf } from "../protocol/fields.js";
import {
  type Handshake,
  type HostMessage,
  parseHandshake,
  parseHostMessage,
} from "../protocol/host-messages.js";
import { ComponentFailedError } from "./errors.js";
import { ProgramBolt, type ProgramBoltItem } from "./program-bolt.js";
import { ProgramSpout, type ProgramSpoutItem, ReliableTuples } from "./program-spout.js";
import type { HostConnection, ProgramTask, TaskIdentity } from "./program-task.js";
import { openStdio, type StdioOptions, type StdioPort } from "./stdio.js";

/** Options of {@link runComponent}. */
export interface RunComponentOptions extends StdioOptions {
  /** Lines of a lower level are not sent to the host. Default `info`. */
  readonly logLevel?: LogLevel;
  /** Bytes of one message from the host. Default 16 MiB. */
  readonly maxMessage?: number;
  /**
   * Messages that wait while the component handles another one. Beyond this number the program stops reading until half
   * of them are handled. Default 10,000.
   */
  readonly maxWaiting?: number;
  /** Clock and randomness. Default: production. */
  readonly environment?: Environment;
}

/** A topology, or a function that loads it. */
export type ComponentSource = HasBlueprint | (() => HasBlueprint | Promise<HasBlueprint>);

interface HasBlueprint {
  readonly blueprint: Blueprint;
}

/** Stray lines kept until the handshake is answered; lines beyond this number are only counted. */
const MAX_EARLY_LINES = 10_000;

/** Characters that wait for the end of a turn at most. */
const MAX_UNWRITTEN = 16_384;
/** Commands that are written at once. The process id of the handshake has no command. */
const URGENT: readonly (string | undefined)[] = ["log", "error", undefined];

type Item = ProgramBoltItem | ProgramSpoutItem;

/**
 * Runs one spout or bolt of a topology under another host; the host's handshake names the component. Resolves after the
 * host has closed the input or sent SIGTERM, and the component's `close` has run.
 *
 * Acks, fails, retries, dead letters, ticks and the default anchors of emits follow the same rules as under our own host.
 * A component that crashes restarts with a new state, as `intensity`, `periodMs` and `restartBackoff` of its
 * configuration say. A bolt's held tuples fail; a spout's in-flight tuples are kept.
 *
 * The protocol uses the standard output. From this call on, lines that other code writes to `process.stdout` go to the
 * host as log lines, after the process id that the host expects first. A module that prints while it loads has to be
 * loaded by the function given here, because a static import runs before this call. Output that bypasses
 * `process.stdout`, such as that of a child with an inherited output, cannot be redirected.
 *
 * @param topology - a topology, or a function that loads one
 * @throws OptionError when an option is invalid
 * @throws MultilangError when the host breaks the protocol, or names a component that the topology does not have; when
 *   something was written to the standard output before this call
 * @throws ComponentFailedError when the component crashed more often than its configuration allows
 * @throws the error of the function that loads the topology
 * @example
 * await runComponent(wordCount);
 * // Where modules print while they are loaded: runComponent(async () => (await import("./word-count.js")).wordCount)
 */
export function runComponent(topology: ComponentSource, options: RunComponentOptions = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    only("", options, ["input", "output", "logLevel", "maxMessage", "maxWaiting", "environment"]);
    new Runner(topology, options, (error) => {
      if (error === undefined) resolve();
      else reject(error);
    });
  });
}

/** @throws OptionError when the source is no topology, but for instance a module that exports one */
function blueprintOf(source: HasBlueprint | undefined): Blueprint {
  if (typeof source?.blueprint === "object") return source.blueprint;
  throw new OptionError("runComponent(topology)", source, "a topology, or a function that returns one");
}

class Runner {
  /** The loaded topology, or the error of loading it. Undefined while it loads. */
  #blueprint: Blueprint | { readonly error: unknown } | undefined;
  readonly #environment: Environment;
  readonly #logLevel: LogLevel;
  readonly #maxWaiting: number;
  readonly #decoder: Decoder;
  readonly #over: (error: unknown) => void;
  readonly #port: StdioPort;
  readonly #wire: HostConnection;
  #system: ProcessSystem | undefined;
  /** Stray lines from before the answer to the handshake, which has to be the first message. Undefined afterwards. */
  #early: string[] | undefined = [];
  #earlyLost = 0;
  /** Creates the task, once for each start of its process. */
  #make: ((process: Context<never>) => ProgramTask<Item>) | undefined;
  /** Survives crashes of the task. */
  readonly #shared: Map<unknown, unknown> = new Map();
  #plan: ComponentPlan | undefined;
  #task: ProgramTask<Item> | undefined;
  #pid: Pid<Item> | undefined;
  /** Messages for the component, in order. The component handles the first while `#busy`. */
  readonly #items: Item[] = [];
  #busy = false;
  /** The component has begun to handle the first item, so the item is not repeated after a crash. */
  #begun = false;
  #paused = false;
  #writable = true;
  /** Messages of this turn that are not written yet. */
  #unwritten = "";
  #ending = false;
  readonly #onTaskIds: ((tasks: readonly number[]) => void)[] = [];
  /** A process that outlives the task. Its timers run while the task is down. */
  #timerOwner: Context<never> | undefined;
  #restarts: Queue<number> = Queue.of();
  /** Restarts in a row. A task that ran for `resetAfterMs` begins a new row. */
  #attempts = 0;
  /** Time of the latest start. */
  #startedAt = 0;

  constructor(source: ComponentSource, options: RunComponentOptions, over: (error: unknown) => void) {
    const { logLevel = "info", maxMessage = MAX_MESSAGE, maxWaiting = 10_000 } = options;
    this.#environment = options.environment ?? production;
    this.#logLevel = oneOf("logLevel", logLevel, LEVELS);
    this.#maxWaiting = count("maxWaiting", maxWaiting, 1);
    if (typeof source !== "function") this.#blueprint = blueprintOf(source);
    this.#decoder = new Decoder(maxMessage);
    this.#over = over;
    this.#wire = {
      send: (message) => this.#write(message),
      expectTaskIds: (answer) => this.#onTaskIds.push(answer),
    };
    this.#port = openStdio(options, {
      data: (bytes) => this.#data(bytes),
      ended: () => void this.#end(undefined),
      drained: () => {
        this.#writable = true;
        this.#pump();
      },
      stray: (line) => this.#stray(line),
    });
    if (typeof source === "function") void this.#load(source);
  }

  /** Reads from the host only after the topology is loaded. An error of loading is reported after the handshake. */
  async #load(source: () => HasBlueprint | Promise<HasBlueprint>): Promise<void> {
    this.#port.pause();
    try {
      this.#blueprint = blueprintOf(await source());
    } catch (error) {
      this.#blueprint = { error };
    }
    if (!this.#ending) this.#port.resume();
  }

  // ── the host ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** Writes a message together with the others of this turn, because each write costs far more than its bytes. */
  #write(message: object): void {
    const isFirst = this.#unwritten === "";
    this.#unwritten += encode(message);
    const scheduler = this.#timerOwner?.self.process?.kernel.scheduler;
    // A line of the log is to be read even if the program dies in this turn.
    const isUrgent =
      URGENT.includes((message as { readonly command?: string }).command) ||
      this.#unwritten.length >= MAX_UNWRITTEN;
    if (isUrgent || scheduler?.drained === undefined) this.#flush();
    else if (isFirst) scheduler.drained(() => this.#flush());
  }

  #flush(): void {
    const text = this.#unwritten;
    if (text === "") return;
    this.#unwritten = "";
    this.#writable = this.#port.write(text);
  }

  #stray(line: string): void {
    if (this.#early === undefined) this.#log(line);
    else if (this.#early.length < MAX_EARLY_LINES) this.#early.push(line);
    else this.#earlyLost++;
  }

  #log(msg: string): void {
    this.#write({ command: "log", msg, level: LEVELS.indexOf("info") });
  }

  /** Sends the process id, which has to be the first message, and then the stray lines from before. */
  #answer(pidDir: string): void {
    this.#write({ pid: this.#port.touch(pidDir) });
    const lines = this.#early ?? [];
    this.#early = undefined;
    for (const line of lines) this.#log(line);
    if (this.#earlyLost > 0) this.#log(`${this.#earlyLost} more lines were written before the handshake`);
  }

  #data(bytes: Uint8Array): void {
    if (this.#ending) return;
    try {
      this.#decoder.push(bytes, (value) => {
        if (this.#ending) return;
        if (this.#make === undefined) this.#begin(parseHandshake(value));
        else this.#receive(parseHostMessage(value));
      });
    } catch (error) {
      void this.#end(error);
    }
  }

  #begin(handshake: Handshake): void {
    const { component, task, tasks, pidDir, sourceFields, read, conf } = handshake;
    this.#answer(pidDir);
    const blueprint = this.#blueprint as Blueprint | { readonly error: unknown };
    if ("error" in blueprint) throw blueprint.error;
    const { components, name, config } = blueprint;
    const plan = components.find((one) => one.name === component);
    if (plan === undefined)
      throw new MultilangError(
        "shape",
        `topology ${name} has no component ${component}; it has ${components.map((one) => one.name).join(", ")}`,
      );
    const siblings = [...tasks].filter(([, other]) => other === component).map(([id]) => id);
    const index = Math.max(0, siblings.sort((a, b) => a - b).indexOf(task));
    const seconds = conf["topology.message.timeout.secs"];
    const place: TaskIdentity = {
      component,
      task,
      index,
      shared: this.#shared,
      logLevel: this.#logLevel,
      messageTimeoutMs:
        typeof seconds === "number" && seconds > 0 ? seconds * 1_000 : config.messageTimeoutMs,
      unanchored: unanchoredStreams(component, blueprint),
    };
    const reliable = new ReliableTuples(task, plan.config.retries, read.has("dead"));
    this.#plan = plan;
    this.#make = (process) =>
      plan.kind === "bolt"
        ? new ProgramBolt(plan, place, this.#wire, process, sourceFields, (from, stream) => {
            return ownOf(components.find((one) => one.name === from)?.streams, stream);
          })
        : new ProgramSpout(plan, place, this.#wire, process, reliable);
    this.#system = new ProcessSystem({ name: component, environment: this.#environment });
    this.#system.spawn({
      init: (ctx) => {
        this.#timerOwner = ctx;
      },
      handle: () => undefined,
    });
    this.#spawn();
  }

  #receive(message: HostMessage): void {
    switch (message.type) {
      case "heartbeat":
        // Answered at once, not after the items in the queue: the answer shows that this program is alive.
        this.#write({ command: "sync" });
        return;
      case "tasks": {
        const answer = this.#onTaskIds.shift();
        if (answer === undefined)
          throw new MultilangError("command", `task ids came without a request: ${message.tasks.join(", ")}`);
        answer(message.tasks);
        return;
      }
      default:
        this.#checkKind(message);
        this.#items.push(message);
        if (this.#items.length > this.#maxWaiting && !this.#paused) {
          this.#paused = true;
          this.#port.pause();
        }
        this.#pump();
    }
  }

  #checkKind({ type }: Item): void {
    const { kind, name } = this.#plan as ComponentPlan;
    if ((type === "command") !== (kind === "spout"))
      throw new MultilangError("command", `${name} is a ${kind}, and was sent a ${type}`);
  }

  // ── the component ─────────────────────────────────────────────────────────────────────────────────────────────

  #spawn(): void {
    if (this.#ending) return;
    const system = this.#system as ProcessSystem;
    this.#startedAt = this.#environment.now();
    const behaviour: Callbacks<Item> = {
      init: async (process) => {
        this.#task = this.#make?.(process as unknown as Context<never>);
        await this.#task?.start();
      },
      handle: async (process, item) => {
        // A task accepts nothing but its items; other messages come from the component's own code.
        if (item !== this.#items[0]) return;
        this.#begun = true;
        await this.#task?.handle(item);
        if (process.alive) this.#done();
      },
      // The process traps exits only so that `terminate` runs.
      signal: (_process, signal) => endWithLinked(signal),
      terminate: (_process, reason) => (isOrderly(reason) ? this.#task?.stop(this.#ending) : undefined),
    };
    const pid = system.spawn(behaviour, { label: this.#plan?.name ?? "component", trapExit: true });
    this.#pid = pid;
    void system.exited(pid).then((reason) => this.#exited(reason));
    this.#busy = false;
    this.#pump();
  }

  /** Gives the component its next item, once the last one is handled and the output to the host takes more. */
  #pump(): void {
    const next = this.#items[0];
    if (this.#busy || this.#ending || !this.#writable || next === undefined || this.#pid === undefined)
      return;
    this.#busy = true;
    this.#begun = false;
    this.#system?.send(this.#pid, next);
  }

  #done(): void {
    this.#items.shift();
    this.#busy = false;
    if (this.#paused && this.#items.length <= this.#maxWaiting / 2) {
      this.#paused = false;
      this.#port.resume();
    }
    this.#pump();
  }

  /** The task ended by itself: its tuples go back to the host, and the task restarts or the component gives up. */
  #exited(reason: ExitReason): void {
    if (this.#ending) return;
    const { name, config } = this.#plan as ComponentPlan;
    const error = reason.type === "crash" ? reason.error : undefined;
    this.#write({ command: "error", msg: `${name} ended: ${error?.stack ?? formatReason(reason)}` });
    if (this.#busy && this.#begun) this.#items.shift();
    this.#pid = undefined;
    this.#busy = false;
    this.#task?.crashed();
    const now = this.#environment.now();
    const { intensity, periodMs, restartBackoff: backoff } = config;
    const decision = countRestart(
      { intensity, periodMs, backoff },
      this.#restarts,
      { attempts: this.#attempts, ranForMs: now - this.#startedAt },
      now,
      this.#environment.random(),
    );
    this.#restarts = decision.restarts;
    this.#attempts = decision.attempts;
    if (decision.intensityLeft < 0)
      void this.#end(
        new ComponentFailedError(name, intensity, periodMs, error === undefined ? {} : { cause: error }),
      );
    else if (decision.delayMs === 0) this.#spawn();
    else this.#timerOwner?.runAfter(decision.delayMs, () => this.#spawn());
  }

  async #end(error: unknown): Promise<void> {
    if (this.#ending) return;
    this.#ending = true;
    // Only after the answer to the handshake: the host would take the error for that answer.
    if (error instanceof Error && !(error instanceof ComponentFailedError) && this.#early === undefined)
      this.#write({ command: "error", msg: error.message });
    await this.#system?.stop();
    const report = (failure: unknown): void => this.#write({ command: "error", msg: textOf(failure) });
    await Promise.all([...this.#shared.values()].map((value) => dispose(value, report)));
    this.#flush();
    this.#port.close();
    this.#port.complain(this.#early ?? []);
    this.#over(error);
  }
}

// The process of one thread, in the main thread: it opens the thread, connects it to the others, checks whether it hangs, and ends it. When
// the process exits, for any reason, the thread ends; when the thread ends, the process exits and its reason says why.

import { type Callbacks, deferStart, stop } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { RemoteNode } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { crash } from "../../process/reason.js";
import {
  type HostPort,
  HostThread,
  hostChannel,
  type ThreadEnd,
  type ThreadLimits,
} from "../../process/thread.js";
import { WorkerExitedError, WorkerFileError } from "../../process/thread-errors.js";
import type { ProgramNodes, StarterPid } from "../cluster/placement.js";
import { type FromThread, PROGRAM, START, type ThreadStart, type ToThread } from "./control.js";
import { ThreadHungError } from "./errors.js";
import { decide, type HangState, initial, LOOKS } from "./hang-machine.js";
import type { PortCarrier } from "./port-carrier.js";

/** How often the event loop of a thread counts up between two looks. */
const BEATS_PER_LOOK = 2;

/**
 * Loads the module, and runs what it exports. An error ends the thread: thrown outside of the promise, it is an uncaught error with its own
 * stack, and not a rejection, which a host may be told to ignore.
 */
const BOOTSTRAP = `
const { ${START}: start } = require("node:worker_threads").workerData;
import(start.file)
  .then((module) => {
    const run = (module.default?.default ?? module.default)?.[Symbol.for(${JSON.stringify(PROGRAM)})];
    if (typeof run !== "function") throw new TypeError("its default export is no threadProgram({ … })");
    return run(start);
  })
  .catch((error) => setImmediate(() => { throw error; }));
`;

/** What the threads of one `threads` have in common. */
export interface ThreadGround {
  readonly file: string;
  readonly limits: ThreadLimits | undefined;
  readonly hungMs: number;
  readonly stopTimeoutMs: number;
  readonly sessions: ThreadStart["sessions"];
  readonly data: unknown;
  readonly carrier: PortCarrier;
  readonly nodes: ProgramNodes;
  /** The threads that are connected to each other. */
  readonly joined: Set<ThreadProcess>;
  /** Threads that begin to end. Each promise resolves when its thread is gone. */
  readonly ending: Set<Promise<unknown>>;
  /** The address of the process that starts programs in a thread. */
  starterAt(node: RemoteNode, id: number): StarterPid;
}

export class ThreadProcess implements Callbacks<never> {
  readonly #ground: ThreadGround;
  readonly #name: string;
  readonly #main: RemoteNode;
  readonly #beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  readonly #atWork = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #hang: HangState = initial;
  #thread: HostThread | undefined;
  #control: HostPort | undefined;
  #line: HostPort | undefined;
  #node: RemoteNode | undefined;
  #stopped: (() => void) | undefined;
  #gone: Promise<unknown> | undefined;

  constructor(ground: ThreadGround, name: string, main: RemoteNode) {
    this.#ground = ground;
    this.#name = name;
    this.#main = main;
  }

  /** The start ends when the thread can start programs. The process traps no exits before that, because a file may load for ever. */
  init(ctx: Context<never>): unknown {
    const [control, otherControl] = hostChannel();
    const [line, otherLine] = hostChannel();
    this.#control = control;
    this.#line = line;
    const { file, hungMs, data, limits, sessions } = this.#ground;
    const { carriesContext } = (ctx.self.process as Process).kernel;
    const start: ThreadStart = {
      file,
      name: this.#name,
      context: carriesContext ? "sender" : "system",
      control: otherControl,
      line: otherLine,
      main: this.#main,
      beats: this.#beats,
      atWork: this.#atWork,
      beatMs: Math.min(hungMs, 60_000) / LOOKS / BEATS_PER_LOOK,
      sessions,
      data,
    };
    const options = { program: BOOTSTRAP, data: { [START]: start }, transfer: [otherControl, otherLine] };
    // This runs however the process ends, also when it is killed.
    ctx.signal.addEventListener("abort", () => void this.#end(), { once: true });
    this.#thread = new HostThread(limits === undefined ? options : { ...options, limits }, {
      said: () => undefined,
      ended: (end) => this.#ended(ctx, end),
    });
    control.on("message", (message: FromThread) => this.#said(ctx, message));
    return deferStart;
  }

  handle(): void {
    // The process handles no messages.
  }

  /** Called by the host, outside of the process's turns. */
  #said(ctx: Context<never>, message: FromThread): void {
    if (message.type === "stopped") this.#stopped?.();
    else if (ctx.alive) (ctx.self.process as Process).perform(() => this.#ready(ctx, message));
  }

  /** Connects the new thread to the others before any program is started in it. */
  #ready(ctx: Context<never>, { node, starter }: FromThread & { type: "ready" }): void {
    const { carrier, nodes, joined, hungMs, starterAt } = this.#ground;
    this.#node = node;
    carrier.add(node, this.#line as HostPort);
    for (const other of joined) {
      const [one, two] = hostChannel();
      this.#tell({ type: "peer", node: other.#node as RemoteNode, line: one }, one);
      other.#tell({ type: "peer", node, line: two }, two);
    }
    joined.add(this);
    nodes.add(node, starterAt(node, starter), undefined, () => Atomics.load(this.#atWork, 0));
    if (hungMs !== Number.POSITIVE_INFINITY) this.#lookLater(ctx);
    ctx.trapExit(true);
    ctx.started();
  }

  #tell(message: ToThread, ...transfer: HostPort[]): void {
    this.#control?.postMessage(message, transfer);
  }

  #lookLater(ctx: Context<never>): void {
    ctx.runAfter(this.#ground.hungMs / LOOKS, () => {
      const [hang, isHung] = decide(this.#hang, Atomics.load(this.#beats, 0));
      this.#hang = hang;
      if (isHung) this.#hung(ctx);
      else this.#lookLater(ctx);
    });
  }

  /** Children start elsewhere only when the thread is certainly gone. Otherwise a child could run twice at a time. */
  #hung(ctx: Context<never>): void {
    const { file, hungMs } = this.#ground;
    const fail = ctx.wrap(() => ctx.exit(crash(new ThreadHungError(file, hungMs))));
    void this.#end().then(fail);
  }

  #ended(ctx: Context<never>, { code, error }: ThreadEnd): void {
    void this.#end();
    if (!ctx.alive) return;
    const { file } = this.#ground;
    const ended = new WorkerExitedError(file, code, error);
    const why =
      this.#node === undefined
        ? new WorkerFileError(
            file,
            `did not start: ${(ended.cause as Error)?.message ?? ended.message}`,
            error,
          )
        : ended;
    (ctx.self.process as Process).perform(() => stop(crash(why)));
  }

  /** Stops the system of the thread in order, within `stopTimeoutMs`. */
  async terminate(ctx: Context<never>): Promise<void> {
    const { stopTimeoutMs, nodes } = this.#ground;
    const { kernel } = ctx.self.process as Process;
    if (this.#node !== undefined && this.#gone === undefined) {
      nodes.remove(this.#node.id);
      await new Promise<void>((resolve) => {
        const timer = kernel.addTimer(stopTimeoutMs, { fire: resolve });
        this.#stopped = () => {
          kernel.cancelTimer(timer);
          resolve();
        };
        this.#tell({ type: "stop", timeoutMs: stopTimeoutMs });
      });
    }
    await this.#end();
  }

  /** Ends the thread, receives the frames that it has sent, and then ends its session. */
  #end(): Promise<unknown> {
    this.#gone ??= this.#close();
    return this.#gone;
  }

  async #close(): Promise<void> {
    const { carrier, nodes, joined, ending } = this.#ground;
    joined.delete(this);
    if (this.#node !== undefined) nodes.remove(this.#node.id);
    const gone = this.#thread?.end() ?? Promise.resolve();
    ending.add(gone);
    await gone;
    ending.delete(gone);
    if (this.#node === undefined) this.#line?.close();
    else await carrier.ended(this.#node.id);
    this.#control?.close();
    this.#stopped?.();
  }
}

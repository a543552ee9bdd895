// Threads of this program as nodes: a system in each, connected to this one and to each other. A supervisor starts and restarts them.

import type { ErrorClass } from "../../host/payload/error-record.js";
import type { Backoff } from "../../process/backoff.js";
import { OptionError, StartError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { asGiven, checked, maybe, ms, whole } from "../../process/option-schema.js";
import { kernelOf, text, word } from "../../process/options.js";
import type { Pid, RemoteNode } from "../../process/pid.js";
import type { ReplyTo } from "../../process/request.js";
import { type Launch, launch, type Startable } from "../../process/start.js";
import { hostParallelism, type ThreadLimits } from "../../process/thread.js";
import { WorkerFileError } from "../../process/thread-errors.js";
import { moduleUrl, threadLimits } from "../../process/thread-options.js";
import { FailedChild } from "../../supervisor/protocol.js";
import { supervisor } from "../../supervisor/supervisor.js";
import type { System } from "../../system.js";
import { NoNodeError } from "../cluster/errors.js";
import { type RunOptions, runJob } from "../cluster/job.js";
import { placedChild } from "../cluster/placed-child.js";
import {
  fewestChildren,
  inTurn,
  type Placement,
  ProgramNodes,
  type StarterPid,
} from "../cluster/placement.js";
import type { ProgramStart } from "../cluster/programs.js";
import { type SessionOptions, Sessions } from "../session/sessions.js";
import { PortCarrier } from "./port-carrier.js";
import { type ThreadGround, ThreadProcess } from "./thread-process.js";

/** Options of {@link threads}. */
export interface ThreadsOptions {
  /** URL of the compiled module that each thread loads: `new URL("./program.js", import.meta.url)`. It exports a {@link threadProgram}. */
  readonly program: URL | string;
  /** How many threads. Default: as many as the host can run at the same time. */
  readonly size?: number;
  /**
   * Milliseconds for which the event loop of a thread may stand still. A thread that hangs for longer is ended and started again, and its
   * children start elsewhere. `Infinity`: a thread that hangs is not ended. Default 5,000.
   */
  readonly hungMs?: number;
  /**
   * Where children are started: in the thread with the fewest of them, in one thread after the other, or where a function says. Default
   * `fewest`.
   */
  readonly placement?: "fewest" | "turns" | Placement;
  /** Milliseconds that a child waits while no thread is running. Default 10,000. */
  readonly placeTimeoutMs?: number;
  /** Milliseconds that a thread may take to start. Default 30,000. */
  readonly startTimeoutMs?: number;
  /** Milliseconds that the system of a thread may take to stop, before the thread is ended. Default 5,000. */
  readonly stopTimeoutMs?: number;
  /** Limits on the memory of a thread. A thread that exceeds them ends, and is started again. Default: those of the host. */
  readonly resourceLimits?: ThreadLimits;
  /** How many threads may fail within `periodMs`. After one more all are stopped, with the reason `shutdown`. Default 3. */
  readonly intensity?: number;
  /** The sliding window for `intensity`, in milliseconds. Default 5,000. */
  readonly periodMs?: number;
  /** Waits before a thread is started again. Default: no waits. */
  readonly backoff?: Backoff;
  /** Given to the `onStart` of the program: anything that structured clone takes. Default undefined. */
  readonly data?: unknown;
  /** Options of the sessions between the threads. `limitMs` is four times `hungMs` unless given. */
  readonly sessions?: Omit<SessionOptions, "errors">;
  /** Classes of errors of yours that keep their class on their way to this thread. Default none. */
  readonly errors?: readonly ErrorClass[];
  /** The name of the supervisor of the threads in reports. Default `threads`. */
  readonly label?: string;
}

/** The limits of threads. */
export const THREADS_DEFAULTS: {
  /** Milliseconds for which the event loop of a thread may stand still. */
  readonly hungMs: number;
  /** Milliseconds that a child waits while no thread is running. */
  readonly placeTimeoutMs: number;
  /** Milliseconds that a thread may take to start. */
  readonly startTimeoutMs: number;
  /** Milliseconds that the system of a thread may take to stop. */
  readonly stopTimeoutMs: number;
  /** How many threads may fail within `periodMs`. */
  readonly intensity: number;
  /** The sliding window for `intensity`, in milliseconds. */
  readonly periodMs: number;
} = {
  hungMs: 5_000,
  placeTimeoutMs: 10_000,
  startTimeoutMs: 30_000,
  stopTimeoutMs: 5_000,
  intensity: 3,
  periodMs: 5_000,
};

/** A thread, as `Threads.nodes` lists it. */
export interface ThreadNode {
  /** Name and id of the system of the thread. */
  readonly node: RemoteNode;
  /** How many children it runs for supervisors of this thread. */
  readonly children: number;
}

const PLACEMENTS = { fewest: fewestChildren, turns: inTurn };

/** @throws OptionError */
function placement(path: string, value: unknown): Placement {
  if (typeof value === "function") return value as Placement;
  if (value === "fewest" || value === "turns") return PLACEMENTS[value]();
  throw new OptionError(path, value, '"fewest", "turns" or a function of the nodes');
}

/** `limitMs` of a session as a multiple of `hungMs`, so that a thread that hangs is ended before its session. */
const SESSION_LIMIT = 4;
/** The longest silence of a thread, used for `hungMs: Infinity`. */
const LONGEST_SILENCE_MS = 86_400_000;

/** Running threads; see {@link threads}. */
export class Threads implements AsyncDisposable {
  /** The supervisor of the threads. */
  readonly pid: Pid;
  readonly #system: System;
  readonly #nodes: ProgramNodes;
  readonly #placement: Placement;
  readonly #placeTimeoutMs: number;
  readonly #close: () => Promise<void>;
  #stopping: Promise<void> | undefined;

  /** @internal */
  constructor(
    system: System,
    pid: Pid,
    nodes: ProgramNodes,
    options: { readonly placement: Placement; readonly placeTimeoutMs: number },
    close: () => Promise<void>,
  ) {
    this.#system = system;
    this.pid = pid;
    this.#nodes = nodes;
    this.#placement = options.placement;
    this.#placeTimeoutMs = options.placeTimeoutMs;
    this.#close = close;
  }

  /** The threads that are running now, and how many children each runs. */
  nodes(): readonly ThreadNode[] {
    return this.#nodes.all.map(({ node, children }) => ({ node, children }));
  }

  /**
   * The start of a child in a thread, for child specs or for `system.start`. A process here stands for the child: it passes on messages,
   * and ends when the child ends, with the same reason. When the thread is lost, the reason is `noconnection`, and a supervisor that
   * restarts the child starts it in another thread.
   *
   * @throws OptionError
   * @example
   * const Shop = supervisor({ children: [{ id: "picker", start: workers.on("picker", [1]) }] });
   */
  on(program: string, args: readonly unknown[] = []): Startable<readonly [], Pid<unknown>> {
    return this.#child(program, args);
  }

  #child(
    program: string,
    args: readonly unknown[],
    lost?: (isInnocent: boolean) => void,
  ): Startable<readonly [], Pid<unknown>> {
    if (!Array.isArray(args)) throw new OptionError("args", args, "an array of arguments");
    return placedChild({
      nodes: this.#nodes,
      placement: this.#placement,
      placeTimeoutMs: this.#placeTimeoutMs,
      program: word("program", program),
      args: [...args],
      lost,
    });
  }

  /**
   * Starts a program in a thread, as a process without a supervisor, and returns its pid. You can send to it, call it, link to it and
   * monitor it like any process.
   *
   * @throws NoNodeError when there is no thread, UnknownProgramError, the error with which its `init` failed
   * @example
   * const picker = await workers.start("picker", 1);
   * await Picker.at(system, picker).call.pick();
   */
  async start(program: string, ...args: readonly unknown[]): Promise<Pid<unknown>> {
    word("program", program);
    const { all } = this.#nodes;
    const at = all.length === 0 ? undefined : this.#placement(all, program, args);
    const found = all.find(({ node }) => node === at?.node);
    if (found === undefined) throw new NoNodeError(program, 0);
    const started = await this.#system.call(
      found.starter,
      (replyTo: ReplyTo<ProgramStart>) =>
        ({ type: "start", program, args, owner: undefined, replyTo }) as const,
      { timeoutMs: Number.POSITIVE_INFINITY },
    );
    if (started.type === "started") return started.pid;
    throw started.type === "failed" && started.reason.type === "crash"
      ? started.reason.error
      : new OptionError("program", program, "a program that starts");
  }

  /**
   * Runs a {@link job} in a thread. When the thread ends or hangs, the run rejects. A step of a flow or a pipeline runs one by its option
   * `on`: then that is an ordinary failure, and the retries of the step run in another thread.
   *
   * @throws what the function throws; UnknownProgramError; CalleeExitedError when the thread is lost; the reason of the signal
   * @example
   * const total = await workers.run("sum", [[1, 2, 3]], { signal: AbortSignal.timeout(1_000) });
   */
  async run(program: string, args: readonly unknown[] = [], options: RunOptions = {}): Promise<unknown> {
    return runJob(kernelOf(this.#system), (lost) => this.#child(program, args, lost), options);
  }

  /** Stops the systems of the threads in order, and ends the threads. The stop of the system does the same. */
  stop(): Promise<void> {
    this.#stopping ??= this.#close();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/**
 * Starts worker threads. Each thread loads a module that names its programs, and has a System of its own. Processes of all threads send,
 * call, link, monitor and supervise each other as within one thread. The system may be a node of a cluster as well. A thread that crashes or
 * hangs is started again, and whatever is linked to its processes gets `noconnection`. The threads keep the host alive until they stop.
 *
 * @throws OptionError; WorkerFileError when a thread does not start
 * @example
 * const workers = await threads(system, { size: 2, program: new URL("./program.js", import.meta.url) });
 * const picker = await workers.start("picker", 1);
 */
export async function threads(system: System, options: ThreadsOptions): Promise<Threads> {
  const kernel = kernelOf(system);
  const given = checked(
    "",
    options,
    {
      program: moduleUrl,
      size: maybe(whole(1)),
      hungMs: ms(20, Number.POSITIVE_INFINITY),
      placement,
      placeTimeoutMs: ms(0),
      startTimeoutMs: ms(1),
      stopTimeoutMs: ms(0),
      resourceLimits: maybe(threadLimits),
      intensity: asGiven<number>(),
      periodMs: asGiven<number>(),
      backoff: asGiven<Backoff | undefined>(),
      data: asGiven<unknown>(),
      sessions: asGiven<Omit<SessionOptions, "errors">>(),
      errors: asGiven<readonly ErrorClass[] | undefined>(),
      label: text,
    },
    { ...THREADS_DEFAULTS, placement: PLACEMENTS.fewest(), sessions: {}, label: "threads" },
  );
  if (kernel.interception !== undefined)
    throw new OptionError("system", system.name, "a system of the host: the simulator runs no threads");
  const limitMs = SESSION_LIMIT * Math.min(given.hungMs, LONGEST_SILENCE_MS / SESSION_LIMIT);
  const nodes = new ProgramNodes();
  // Children that are restarted look for another thread at once.
  const carrier = new PortCarrier((node) => nodes.remove(node.id));
  const limits = { limitMs, ...given.sessions };
  const { errors } = given;
  const sessions = new Sessions(system, carrier, { ...limits, ...(errors && { errors }) });
  const ground: ThreadGround = {
    ...{
      file: given.program,
      limits: given.resourceLimits,
      hungMs: given.hungMs,
      data: given.data,
      sessions: limits,
    },
    ...{ stopTimeoutMs: given.stopTimeoutMs, carrier, nodes, joined: threadsOf(kernel), ending: new Set() },
    starterAt: (node, id) => system.pidAt({ node, id }) as StarterPid,
  };
  const { intensity, periodMs, backoff, label, startTimeoutMs, stopTimeoutMs } = given;
  const definition = supervisor({
    ...{ intensity, periodMs, label },
    ...(backoff === undefined ? {} : { backoff }),
    children: Array.from({ length: given.size ?? hostParallelism() }, (_, i) => ({
      id: `thread ${i + 1}`,
      start: threadStart(ground, `${system.name}/${i + 1}`, system.node),
      startTimeoutMs,
      // The process ends the thread when `stopTimeoutMs` is over, so the supervisor must wait longer.
      shutdown: stopTimeoutMs + GRACE_MS,
    })),
  });
  const close = async (pid?: Pid): Promise<void> => {
    if (pid !== undefined && system.isAlive(pid)) {
      const gone = system.exited(pid);
      system.exit(pid, "shutdown");
      await gone;
    }
    await Promise.all(ground.ending);
    await sessions.close();
  };
  try {
    const { pid } = await system.startWith({ timeoutMs: Number.POSITIVE_INFINITY }, definition);
    return new Threads(system, pid as Pid, nodes, given, () => close(pid as Pid));
  } catch (error) {
    await close();
    throw causeOf(error, given.program, startTimeoutMs);
  }
}

/** All threads of a system are connected to each other, also those of different calls of {@link threads}. */
const all = new WeakMap<Kernel, Set<ThreadProcess>>();

function threadsOf(kernel: Kernel): Set<ThreadProcess> {
  const known = all.get(kernel) ?? new Set();
  all.set(kernel, known);
  return known;
}

/** Why a thread did not start. */
function causeOf(error: unknown, file: string, startTimeoutMs: number): unknown {
  if (!(error instanceof StartError && error.reason.type === "shutdown")) return error;
  const { detail } = error.reason;
  if (!(detail instanceof FailedChild)) return error;
  const { reason } = detail;
  if (reason.type === "crash") return reason.error;
  return new WorkerFileError(file, `was not loaded within ${startTimeoutMs} ms`);
}

/** How many milliseconds the end of a thread may take beyond the stop of its system. */
const GRACE_MS = 1_000;

function threadStart(ground: ThreadGround, name: string, main: RemoteNode): Startable<readonly [], Pid> {
  return {
    [launch]: (): Launch<Pid> => ({
      behaviour: new ThreadProcess(ground, name, main),
      options: { label: "thread" },
      ref: (pid) => pid,
    }),
  };
}

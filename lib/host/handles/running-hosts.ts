// The hosts of one definition that run, system by system. A host adds itself when it has started, so that a handle whose host has ended
// finds the next one: without polling, and no matter which code started it.

import { type Abortable, unwatchAbort, watchAbort } from "../../process/abort.js";
import { SystemStoppedError } from "../../process/errors.js";
import type { Settler } from "../../process/interception.js";
import type { Kernel } from "../../process/kernel.js";
import type { ExitWatch } from "../../process/monitor.js";
import { exclude, include } from "../../process/one-or-many.js";
import type { Pid } from "../../process/pid.js";
import type { Abandonable } from "../../process/process.js";
import { type ExitReason, isOrderly, NOPROC } from "../../process/reason.js";
import type { Prospect } from "./call-machine.js";

/** The hosts of a definition in one system. */
interface Hosts {
  /** Those that run, the newest last. */
  readonly running: Pid<never>[];
  /** The root of the supervision tree of the newest host. Undefined: code outside of all processes started that host. */
  root: Pid | undefined;
  /** The exit reason of the host that ended last. */
  reason: ExitReason;
  readonly waits: Set<NextHost>;
}

export class RunningHosts {
  readonly #bySystem = new WeakMap<Kernel, Hosts>();
  /** Hosts that have lost their claims, and are about to end. */
  readonly #over = new WeakSet<Pid<never>>();

  /** A host has started. */
  add(kernel: Kernel, pid: Pid<never>): void {
    const hosts = this.#of(kernel);
    kernel.shared?.object(hosts, "write");
    hosts.running.push(pid);
    hosts.root = rootOf(pid);
    for (const wait of [...hosts.waits]) wait.end("host");
    kernel.links.watch(
      pid,
      (reason) => this.#remove(kernel, pid, reason),
      () => undefined,
    );
  }

  /** The newest host that runs. */
  current(kernel: Kernel): Pid<never> | undefined {
    const hosts = this.#bySystem.get(kernel);
    if (hosts === undefined) return undefined;
    kernel.shared?.object(hosts, "read");
    return hosts.running.at(-1);
  }

  /** Whether a host has lost its claim, and is about to end. */
  isOver(pid: Pid<never>): boolean {
    return this.#over.has(pid);
  }

  /** A host has answered that the store takes nothing more from it. */
  over(kernel: Kernel, pid: Pid<never>, reason: ExitReason): void {
    this.#over.add(pid);
    if (this.#bySystem.has(kernel)) this.#remove(kernel, pid, reason);
  }

  /** Why the last host ended that did. */
  reason(kernel: Kernel): ExitReason {
    return this.#bySystem.get(kernel)?.reason ?? NOPROC;
  }

  /** Whether a host of this definition has ever started in a system. */
  isKnown(kernel: Kernel): boolean {
    return this.#bySystem.has(kernel);
  }

  prospect(kernel: Kernel): Prospect {
    const hosts = this.#bySystem.get(kernel);
    if (hosts === undefined || kernel.stopping || kernel.stopped) return "never";
    if (this.current(kernel) !== undefined) return "now";
    // A stop in order that no supervisor answers is the wish of the program.
    if (hosts.root === undefined) return isOrderly(hosts.reason) ? "never" : "perhaps";
    return hosts.root.process === undefined ? "never" : "perhaps";
  }

  /**
   * Waits for a host to start.
   *
   * @returns `alone` when none comes within `mostMs`, or none can come any more
   * @throws the reason of `signal`, SystemStoppedError, and `late()` after `timeoutMs`
   */
  next(kernel: Kernel, wait: NextHostOptions): Promise<"host" | "alone"> {
    const hosts = this.#of(kernel);
    return new Promise((resolve, reject) => new NextHost(kernel, hosts, wait, { resolve, reject }));
  }

  #of(kernel: Kernel): Hosts {
    let hosts = this.#bySystem.get(kernel);
    if (hosts === undefined) {
      hosts = { running: [], root: undefined, reason: NOPROC, waits: new Set() };
      kernel.shared?.created(hosts);
      this.#bySystem.set(kernel, hosts);
    }
    return hosts;
  }

  #remove(kernel: Kernel, pid: Pid<never>, reason: ExitReason): void {
    const hosts = this.#of(kernel);
    kernel.shared?.object(hosts, "write");
    const at = hosts.running.indexOf(pid);
    if (at < 0) return;
    hosts.running.splice(at, 1);
    hosts.reason = reason;
  }
}

/** How long to wait for a host. */
export interface NextHostOptions {
  readonly mostMs: number;
  readonly timeoutMs: number;
  readonly late: () => Error;
  readonly signal: AbortSignal | undefined;
}

/** One wait for the next host. */
class NextHost implements Abortable, Abandonable {
  readonly #kernel: Kernel;
  readonly #hosts: Hosts;
  readonly #signal: AbortSignal | undefined;
  readonly #ends: Settler;
  readonly #timer: ReturnType<Kernel["addTimer"]>;
  readonly #watch: ExitWatch | undefined;
  #isOpen = true;

  constructor(
    kernel: Kernel,
    hosts: Hosts,
    { mostMs, timeoutMs, late, signal }: NextHostOptions,
    ends: Settler,
  ) {
    this.#kernel = kernel;
    this.#hosts = hosts;
    this.#signal = signal;
    this.#ends = ends;
    kernel.interception?.gate(undefined, "the next host", ends);
    kernel.shared?.object(hosts, "read");
    hosts.waits.add(this);
    kernel.waits = include(kernel.waits, this as Abandonable);
    const fire = timeoutMs <= mostMs ? () => this.#fail(late()) : () => this.end("alone");
    this.#timer = kernel.addTimer(Math.min(timeoutMs, mostMs), { fire });
    if (signal !== undefined) {
      kernel.shared?.signals();
      watchAbort(signal, this);
      if (signal.aborted) this.aborted(signal.reason);
    }
    if (hosts.root !== undefined && this.#isOpen)
      this.#watch = kernel.links.watch(
        hosts.root,
        () => this.end("alone"),
        () => this.abandon(new SystemStoppedError(kernel.node.name)),
      );
  }

  end(as: "host" | "alone"): void {
    this.#settle(() => this.#ends.resolve?.(as as never));
  }

  aborted(reason: unknown): void {
    this.#fail(reason);
  }

  abandon(error: Error): void {
    this.#fail(error);
  }

  #fail(error: unknown): void {
    this.#settle(() => this.#ends.reject?.(error));
  }

  #settle(resume: () => void): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const kernel = this.#kernel;
    this.#hosts.waits.delete(this);
    kernel.waits = exclude(kernel.waits, this as Abandonable);
    kernel.cancelTimer(this.#timer);
    if (this.#watch !== undefined) kernel.links.unwatch(this.#watch);
    if (this.#signal !== undefined) {
      kernel.shared?.signals();
      unwatchAbort(this.#signal, this);
    }
    kernel.scheduler.resume({ owner: undefined, resume });
  }
}

/** The process at the root of the supervision tree of a process. Undefined: code outside of all processes started it. */
function rootOf(pid: Pid<never>): Pid | undefined {
  let root: Pid | undefined;
  for (let at = pid.process?.parent; at !== undefined; at = at.process?.parent) root = at;
  return root;
}

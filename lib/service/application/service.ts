// The handle of a running service, and the end of the service after its process has exited.

import type { ClusterNode } from "../../node/cluster/cluster-node.js";
import { CalleeExitedError } from "../../process/errors.js";
import type { Pid } from "../../process/pid.js";
import { SHUTDOWN } from "../../process/reason.js";
import type { ReplyTo } from "../../process/request.js";
import type { Startable } from "../../process/start.js";
import type { System } from "../../system.js";
import { Health } from "../health/health.js";
import type { Phase } from "./application-machine.js";
import { type ApplicationMessage, applicationBehaviour, type Progress } from "./application-process.js";
import { type Ending, endingOf } from "./ending.js";
import { ServiceStartError } from "./errors.js";
import { type Fellow, type Host, type Lodgers, lodgersOf } from "./host.js";
import { Membership, type ServiceCluster } from "./membership.js";
import type { Settings } from "./options.js";

/**
 * A running service. `Ref` is the handle of its root.
 *
 * @example
 * const service = run(Shop, { name: "shop" });
 * const shop = await service.started;
 * const { outcome } = await service.ended; // when it has stopped, or has failed
 */
export class Service<out Ref = unknown> implements AsyncDisposable {
  /** Liveness and readiness, for health endpoints. */
  readonly health: Health;
  readonly #settings: Settings;
  readonly #pid: Pid<ApplicationMessage>;
  readonly #progress: Progress;
  readonly #membership: Membership;
  readonly #release: (() => void)[] = [];
  readonly #lodger: Fellow;
  #started: Promise<Ref> | undefined;
  #startError: ServiceStartError | undefined;
  readonly #ended: Promise<Ending>;
  /** Code of the user's own stopped the service: it decides what becomes of the host. */
  #stoppedByCode = false;
  #hurried = false;
  /** The process of the admin socket, which may still open it. */
  #socket: Promise<Pid> | undefined;

  /** @internal Use `run`. */
  constructor(
    settings: Settings,
    args: readonly unknown[],
    makeTree: (
      service: Service<Ref>,
      join: (cluster: ServiceCluster) => Promise<void>,
    ) => Promise<Startable<readonly unknown[], unknown>>,
  ) {
    this.#settings = settings;
    this.#membership = new Membership(settings.system);
    this.#progress = { phase: "configuring", ending: undefined, root: undefined, health: undefined };
    const { name, limits, system, signals, onDrain, health } = settings;
    const handlerOf = (signal: string): (() => unknown) | undefined => {
      const action = signals.get(signal);
      return typeof action === "function" ? () => action(this) : undefined;
    };
    const app = {
      name,
      limits,
      args,
      listen: settings.socket === undefined ? undefined : () => this.#listen(settings.socket as string),
      configure: (begins: (part: string) => void) =>
        makeTree(this, async (cluster) => {
          begins("the cluster");
          await this.#membership.join(cluster);
          begins("");
        }),
      entered: (phase: Phase) => {
        if (phase === "draining" || phase === "stopping") this.#membership.withdraw();
      },
      onDrain,
      handlerOf,
      health,
    };
    const { kernel } = system;
    this.health = new Health({
      name,
      kernel,
      settings: health,
      phase: () => this.phase,
      cluster: () => this.#membership.health,
      pid: () => this.#progress.health,
    });
    const behaviour = applicationBehaviour(app, this.#progress);
    const options = { label: "application", trapExit: true, shutdown: Number.POSITIVE_INFINITY } as const;
    this.#pid = system.spawn(behaviour, options);
    this.#lodger = {
      name,
      fellowFailed: (fellow) => this.#cause({ type: "fellow", name: fellow }),
    };
    this.#attach();
    this.#ended = this.#end();
  }

  /** The name of the service. */
  get name(): string {
    return this.#settings.name;
  }

  /** The system in which the service runs. */
  get system(): System {
    return this.#settings.system;
  }

  /**
   * The node of the service in its cluster: with the option `cluster`, once it has joined. The function of the tree may use it.
   *
   * @throws OptionError before, and without the option
   */
  get node(): ClusterNode {
    return this.#membership.node;
  }

  /** Where the service is in its life. Only a `running` service is ready. */
  get phase(): Phase {
    this.system.kernel.shared?.of(`app:${this.name}`, "read");
    return this.#progress.phase;
  }

  /**
   * Resolves with the handle of the root when the tree has started. Rejects with ServiceStartError when the service ends before
   * that. The rejection does no harm if it is not handled.
   */
  get started(): Promise<Ref> {
    if (this.#started === undefined) {
      this.#started = this.#awaitStart();
      this.#started.catch(() => undefined);
    }
    return this.#started;
  }

  /** Resolves with the {@link Ending} when the service has ended and its reports are written. Never rejects. */
  get ended(): Promise<Ending> {
    return this.#ended;
  }

  /**
   * Stops the service in order, as SIGTERM does: it is not ready any more, waits for `drainDelayMs`, and stops its tree. Further
   * calls return the same promise. The Node process goes on, with the exit code set: it ends when nothing keeps it.
   */
  stop(): Promise<Ending> {
    this.#stoppedByCode = true;
    this.#cause({ type: "stop" });
    return this.#ended;
  }

  /** {@link Service.stop}: a service declared with `await using` stops at the end of its block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #tell(message: ApplicationMessage): void {
    // A service that has ended needs no more messages, and they are no dead letters.
    if (this.system.isAlive(this.#pid)) this.system.send(this.#pid, message);
  }

  #cause(cause: Parameters<typeof endingOf>[0]["cause"]): void {
    this.#tell({ type: "event", event: { type: "cause", cause } });
  }

  /** Opens the admin socket first, so that a start that hangs can be looked at. @throws AdminSocketError */
  async #listen(path: string): Promise<void> {
    const open = async (): Promise<Pid> => {
      const { openSystemSocket } = await import("../../admin/system/system-socket.js");
      return openSystemSocket(path, this.system);
    };
    this.#socket = open();
    await this.#socket;
  }

  /** Closes the admin socket once the tree has stopped, so that a stop that hangs can be looked at. */
  async #closeSocket(): Promise<void> {
    const socket = await this.#socket?.catch(() => undefined);
    if (socket?.process !== undefined) this.system.kernel.end(socket.process, SHUTDOWN);
  }

  /** Listens to the host, and keeps it. */
  #attach(): void {
    const { host, signals, hostErrors, signal } = this.#settings;
    const abort = (): void => void this.stop();
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true });
    this.#release.push(() => signal?.removeEventListener("abort", abort));
    if (host === undefined) return;
    lodgersOf(host).living.add(this.#lodger);
    this.#release.push(host.keepAlive());
    for (const name of signals.keys()) this.#release.push(host.onSignal(name, () => this.#signalled(name)));
    if (hostErrors)
      this.#release.push(
        host.onError((error, origin) => {
          // An unhandled rejection of `started` brings no new cause.
          if (error !== this.#startError) this.#cause({ type: "host", error, origin });
        }),
      );
  }

  #signalled(signal: string): void {
    const stopped = this.#progress.ending !== undefined;
    // Its process has ended, and the rest of its system stops.
    if (stopped && this.#settings.signals.get(signal) === "stop") this.#hurry();
    else this.#tell({ type: "signal", signal });
  }

  #hurry(): void {
    this.#hurried = true;
    if (this.#settings.ownsSystem) void this.system.stop({ timeoutMs: 0 });
  }

  async #awaitStart(): Promise<Ref> {
    const { calls } = this.system.kernel;
    try {
      const build = (replyTo: ReplyTo<unknown>): ApplicationMessage => ({ type: "await-start", replyTo });
      return (await calls.call(undefined, this.#pid, build, { timeoutMs: Number.POSITIVE_INFINITY })) as Ref;
    } catch (error) {
      if (!(error instanceof CalleeExitedError) && !this.system.stopped) throw error;
      this.#startError = new ServiceStartError(this.#ending());
      throw this.#startError;
    }
  }

  /** The process of the service says how it ended, unless it was killed along with its system. */
  #ending(): Ending {
    const { name, limits } = this.#settings;
    this.#progress.phase = "stopped";
    this.#progress.ending ??= endingOf({
      name,
      cause: { type: "stop" },
      forced: true,
      timedOut: false,
      killed: [],
      ...limits,
    });
    return this.#progress.ending;
  }

  async #end(): Promise<Ending> {
    const { system, host, limits, ownsSystem } = this.#settings;
    await system.exited(this.#pid);
    const ending = this.#ending();
    const wasKilled = ending.outcome === "forced" || ending.outcome === "drainTimedOut" || this.#hurried;
    await this.#membership.leave(wasKilled, limits.drainTimeoutMs);
    await this.#closeSocket();
    if (ownsSystem) await system.stop({ timeoutMs: wasKilled ? 0 : limits.drainTimeoutMs });
    await this.#within(limits.flushTimeoutMs, this.#flush());
    const lodgers = host && this.#moveOut(host, ending);
    if (host !== undefined && lodgers !== undefined) void this.#endHost(host, lodgers, wasKilled);
    else this.#detach();
    return ending;
  }

  async #flush(): Promise<void> {
    const { reports } = this.system.kernel;
    for (const write of [this.#settings.flush, () => reports.flush()]) {
      try {
        await write();
      } catch (error) {
        reports.write({
          level: "error",
          event: "application",
          path: this.name,
          error,
          text: `${this.name}: flush failed: ${String(error)}`,
        });
      }
    }
  }

  /** Waits for a promise, but not longer than this. */
  #within(limitMs: number, promise: Promise<void>): Promise<void> {
    const { host } = this.#settings;
    if (host === undefined) return promise;
    return new Promise((resolve) => {
      const cancel = host.after(limitMs, resolve);
      void promise.then(() => {
        cancel();
        resolve();
      });
    });
  }

  /** Returns what is known of the host's services when this one was the last, and the host is to end with it. */
  #moveOut(host: Host, ending: Ending): Lodgers | undefined {
    const lodgers = lodgersOf(host);
    lodgers.living.delete(this.#lodger);
    lodgers.exitCode ||= ending.exitCode;
    lodgers.endsHost ||= !this.#stoppedByCode || ending.cause.type !== "stop";
    host.setExitCode(lodgers.exitCode);
    if (ending.exitCode !== 0) for (const fellow of lodgers.living) fellow.fellowFailed(this.name);
    return lodgers.living.size === 0 && lodgers.endsHost ? lodgers : undefined;
  }

  /**
   * Ends the host, now that its last service has ended. Code that awaits `ended` runs first, and its output is written. The host ends
   * by itself when nothing keeps it, and is ended after `lingerMs` otherwise.
   */
  async #endHost(host: Host, lodgers: Lodgers, atOnce: boolean): Promise<void> {
    const { limits } = this.#settings;
    const { exitCode, living } = lodgers;
    const exit = async (): Promise<void> => {
      await this.#within(limits.flushTimeoutMs, host.flush());
      // Code that awaited the end may have started another service.
      if (living.size === 0) host.exit(exitCode);
    };
    await this.#within(limits.flushTimeoutMs, host.flush());
    if (atOnce) await exit();
    else host.after(limits.lingerMs, () => void exit());
    this.#detach();
  }

  #detach(): void {
    for (const release of this.#release.splice(0)) release();
  }
}

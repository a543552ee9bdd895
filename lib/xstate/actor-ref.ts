// The handle of an actor of XState that runs as a process.

import type { AnyActorLogic, EventFromLogic, OutputFrom, Snapshot, SnapshotFrom } from "xstate";
import { checkCallOptions } from "../process/calls.js";
import type { Context } from "../process/context.js";
import { NoProcessError } from "../process/errors.js";
import type { Kernel } from "../process/kernel.js";
import { callable } from "../process/options.js";
import type { Pid } from "../process/pid.js";
import { type ExitInput, toReason } from "../process/reason.js";
import type { CallOptions, Request } from "../process/request.js";
import { lastSnapshots, PersistRequest, SnapshotRequest, StopActor } from "./actor-process.js";

/** Options for what a handle waits for, and the process that waits. */
export interface XStateCallOptions extends CallOptions {
  /** The process that asks. When it exits, its waits end. */
  readonly from?: Context<never> | Context<unknown>;
}

/** An actor of XState that runs as a process, by pid or by name. `L` is its logic. */
export class XStateRef<L extends AnyActorLogic> {
  readonly #address: Pid<never> | string;
  readonly #kernel: Kernel;

  /** @internal */
  constructor(address: Pid<never> | string, kernel: Kernel) {
    this.#address = address;
    this.#kernel = kernel;
  }

  /**
   * The pid of the process. Messages with a `type` that processes send there are events of the actor. For a handle by name: the
   * process that has the name now.
   *
   * @throws NoProcessError when no process has it
   */
  get pid(): Pid<EventFromLogic<L>> {
    if (typeof this.#address !== "string") return this.#address as Pid<EventFromLogic<L>>;
    const holder = this.#kernel.names.find(this.#address);
    if (holder === undefined) throw new NoProcessError(`"${this.#address}"`, this.#kernel.node.name);
    return holder.pid as Pid<EventFromLogic<L>>;
  }

  /** Sends an event. One to an actor that has ended is a dead letter. */
  send(event: EventFromLogic<L>): void {
    this.#kernel.send(this.#address, event);
  }

  /**
   * The snapshot of the actor, after all events that were sent before.
   *
   * @throws CallTimeoutError after 5,000 ms unless given, CalleeExitedError when the actor has ended
   */
  snapshot(options?: XStateCallOptions): Promise<SnapshotFrom<L>> {
    return this.waitFor(() => true, options);
  }

  /**
   * The first snapshot, from the present one on, for which `holds` returns true. `holds` must not change anything.
   *
   * @throws CallTimeoutError after 5,000 ms unless given, CalleeExitedError when the actor ends before
   * @example await door.waitFor((snapshot) => snapshot.matches("open"), { timeoutMs: 1_000 });
   */
  async waitFor(
    holds: (snapshot: SnapshotFrom<L>) => boolean,
    options?: XStateCallOptions,
  ): Promise<SnapshotFrom<L>> {
    // The actor would crash when it calls it.
    callable("holds", holds, "a function of the snapshot");
    return this.#ask(new SnapshotRequest(holds, (snapshot) => snapshot), options) as Promise<SnapshotFrom<L>>;
  }

  /**
   * The output of the actor, once it is done. Also of one that is done already, when the handle has its pid. Waits without limit
   * unless given.
   *
   * @throws CalleeExitedError when the actor ends in another way
   */
  async output(options?: XStateCallOptions): Promise<OutputFrom<L>> {
    checkCallOptions(options);
    const address = this.#address;
    const pid = typeof address === "string" ? this.#kernel.names.find(address)?.pid : address;
    const request = new SnapshotRequest(
      ({ status }: Snapshot<unknown>) => status === "done",
      ({ output }: Snapshot<unknown>) => output,
    );
    const reply = this.#ask(request, { timeoutMs: Number.POSITIVE_INFINITY, ...options });
    try {
      return (await reply) as OutputFrom<L>;
    } catch (error) {
      // It may have been done before it came to the request.
      const last = pid === undefined ? undefined : lastSnapshots.get(pid);
      if (last === undefined) throw error;
      return (last as { output: OutputFrom<L> }).output;
    }
  }

  /** The actor and its children as they can be stored, for `restored` of the definition. */
  persisted(options?: XStateCallOptions): Promise<Snapshot<unknown>> {
    return this.#ask(new PersistRequest(), options) as Promise<Snapshot<unknown>>;
  }

  /**
   * Tells the process to stop, with reason `shutdown` unless given, after the messages that are already in its mailbox. What the
   * actor invoked and spawned stops with it.
   *
   * @throws OptionError when the reason is none
   */
  stop(reason: ExitInput = "shutdown"): void {
    const message = new StopActor(toReason(reason));
    const address = this.#address;
    const alive = typeof address === "string" ? this.#kernel.names.find(address) : address.process;
    if (alive !== undefined) this.#kernel.send(address, message);
  }

  /** The pid or the name of the actor. */
  toString(): string {
    return String(this.#address);
  }

  #ask(request: Request, options: XStateCallOptions | undefined): Promise<unknown> {
    checkCallOptions(options);
    const from = options?.from;
    if (from !== undefined && !from.alive) return from.refusal();
    const caller = from?.self.process;
    const promise = request.await(this.#kernel, caller);
    this.#kernel.calls.request(caller, this.#address, request, options);
    return promise;
  }
}

// The handle of a running supervisor: it adds, stops, restarts, deletes, lists and counts children.

import { checkCallOptions } from "../process/calls.js";
import { OptionError } from "../process/errors.js";
import type { Kernel } from "../process/kernel.js";
import { checkPid, kernelOf, word } from "../process/options.js";
import { Pid } from "../process/pid.js";
import type { ExitReason } from "../process/reason.js";
import type { CallOptions, ReplyTo } from "../process/request.js";
import type { ProcessSystem } from "../process/system.js";
import { type ChildSpec, type ChildStart, type ChildType, childHandle } from "./child.js";
import { type ChildName, childName, type TemplateName } from "./child-name.js";
import { ChildError } from "./errors.js";
import type { Answer, ChildStatus, RestartStrategy } from "./protocol.js";
import type { ChildCounts, SupervisorStatus } from "./status.js";

/** One child, as `whichChildren` lists it. */
export interface ChildInfo {
  /** The id of the child. */
  readonly id: string;
  /** Its pid, while it runs. */
  readonly pid: Pid<unknown> | undefined;
  /** Whether it runs, is being restarted or is stopped. */
  readonly status: ChildStatus;
  /** Whether it is a worker or a supervisor. */
  readonly type: ChildType;
}

/** A supervisor, as an inspector sees it. */
export interface SupervisorState {
  /** The strategy. */
  readonly strategy: RestartStrategy | "dynamic";
  /** Restarts that are allowed within the period. */
  readonly intensity: number;
  /** The period, in milliseconds. */
  readonly periodMs: number;
  /** Restarts within the period so far. */
  readonly restarts: number;
  /** Why the supervisor is ending, when it is. */
  readonly closing: ExitReason | undefined;
  /** The children, the last started first. */
  readonly children: readonly ChildInfo[];
}

/** The messages of a supervisor's process. */
export type SupervisorMessage =
  | { readonly type: "add"; readonly spec: ChildSpec; readonly replyTo: ReplyTo<Answer<Pid>> }
  | {
      readonly type: "add-like";
      readonly args: readonly unknown[];
      readonly name?: ChildName | undefined;
      /** Whether a child that has the name already is the answer. */
      readonly orGet?: boolean;
      readonly replyTo: ReplyTo<Answer<Pid>>;
    }
  | {
      readonly type: "terminate" | "restart" | "delete";
      readonly id: string | Pid;
      readonly replyTo: ReplyTo<Answer<Pid>>;
    }
  | { readonly type: "which"; readonly id?: string; readonly replyTo: ReplyTo<readonly ChildInfo[]> }
  | { readonly type: "count"; readonly replyTo: ReplyTo<ChildCounts> }
  | { readonly type: "status"; readonly replyTo: ReplyTo<SupervisorStatus> };

/**
 * The handle of a running supervisor of either kind. A supervisor does one thing at a time, so that a request may wait. A
 * request has no timeout unless `timeoutMs` is given, and rejects with CalleeExitedError when the supervisor exits first.
 */
export abstract class AnySupervisorRef {
  readonly #address: Pid<SupervisorMessage> | string;
  /** @internal */
  protected readonly kernel: Kernel;

  /** @internal */
  constructor(address: Pid<never> | string, kernel: Kernel) {
    this.#address = address as Pid<SupervisorMessage> | string;
    this.kernel = kernel;
  }

  /**
   * The pid of the supervisor. For a handle by name: of the process that has the name now.
   *
   * @throws NoProcessError when no process has it
   */
  get pid(): Pid<SupervisorMessage> {
    const address = this.#address;
    return typeof address === "string"
      ? (this.kernel.locate(address).pid as Pid<SupervisorMessage>)
      : address;
  }

  /** Lists all children, the last started first, as OTP does. */
  whichChildren(options?: CallOptions): Promise<readonly ChildInfo[]> {
    return this.ask((replyTo) => ({ type: "which", replyTo }), options);
  }

  /** Counts the children. */
  countChildren(options?: CallOptions): Promise<ChildCounts> {
    return this.ask((replyTo) => ({ type: "count", replyTo }), options);
  }

  /** The phase of each child, and how many restarts count towards the limit. For health checks. */
  status(options?: CallOptions): Promise<SupervisorStatus> {
    return this.ask((replyTo) => ({ type: "status", replyTo }), options);
  }

  /** The pid or the name of the supervisor. */
  toString(): string {
    return String(this.#address);
  }

  protected ask<R>(
    build: (replyTo: ReplyTo<R>) => SupervisorMessage,
    options: CallOptions | undefined,
  ): Promise<R> {
    try {
      checkCallOptions(options);
    } catch (error) {
      return Promise.reject(error);
    }
    return this.kernel.calls.call(undefined, this.#address, build, {
      timeoutMs: Number.POSITIVE_INFINITY,
      ...options,
    });
  }

  protected async settle(
    id: string,
    build: (replyTo: ReplyTo<Answer<Pid>>) => SupervisorMessage,
    options: CallOptions | undefined,
  ): Promise<Pid<unknown> | undefined> {
    const answer = await this.ask(build, options);
    if (!answer.ok) throw new ChildError(String(this), id, answer.problem, answer.reason);
    return answer.pid as Pid<unknown> | undefined;
  }
}

/**
 * The handle of a running supervisor with named children.
 *
 * @example
 * const shop = await system.start(supervisor({}));
 * await shop.startChild({ id: "clerk", start: async (ctx) => void (await ctx.receive()) });
 * await shop.terminateChild("clerk");
 */
export class SupervisorRef extends AnySupervisorRef {
  /**
   * Adds a child and starts it. Returns its pid, or undefined when its `init` returned `ignore`.
   *
   * @throws ChildError, OptionError
   */
  async startChild<S extends ChildStart>(
    spec: ChildSpec<S>,
    options?: CallOptions,
  ): Promise<Pid<unknown> | undefined> {
    // `checkChild` in the supervisor rejects a missing spec.
    const add = { type: "add", spec: spec as ChildSpec } as const;
    return this.settle(String(spec?.id), (replyTo) => ({ ...add, replyTo }), options);
  }

  /** Stops a child and keeps its spec. A temporary child is forgotten. @throws ChildError */
  async terminateChild(id: string, options?: CallOptions): Promise<void> {
    await this.settle(word("id", id), (replyTo) => ({ type: "terminate", id, replyTo }), options);
  }

  /** Starts a stopped child again. @throws ChildError */
  async restartChild(id: string, options?: CallOptions): Promise<Pid<unknown> | undefined> {
    return this.settle(word("id", id), (replyTo) => ({ type: "restart", id, replyTo }), options);
  }

  /** Forgets a stopped child. @throws ChildError */
  async deleteChild(id: string, options?: CallOptions): Promise<void> {
    await this.settle(word("id", id), (replyTo) => ({ type: "delete", id, replyTo }), options);
  }

  /** The pid of a child, or undefined when it does not run. */
  async child(id: string, options?: CallOptions): Promise<Pid<unknown> | undefined> {
    word("id", id);
    const children = await this.ask<readonly ChildInfo[]>(
      (replyTo) => ({ type: "which", id, replyTo }),
      options,
    );
    return children.find((child) => child.id === id)?.pid;
  }
}

/** The template of the children of a dynamic supervisor. */
export interface Template {
  readonly id: string;
  readonly start: ChildStart;
  readonly name: TemplateName | undefined;
}

/** The arguments of a request for a dynamic child. They may be left out when the `init` of the children needs none. */
type Given<A extends readonly unknown[]> = readonly [] extends A
  ? [args?: A, options?: CallOptions]
  : [args: A, options?: CallOptions];

/**
 * The handle of a running dynamic supervisor. The `init` of its children takes the arguments `A`, and their handles are `H`: the handle
 * of the definition that they run, or the pid of a plain process.
 *
 * A child with a name has it from its first start until its supervisor has forgotten it, over all restarts, and its handle leads to
 * the process that runs the child now. Without a name, the handle is that of one process, and ends with it.
 */
export class DynamicSupervisorRef<
  A extends readonly unknown[] = readonly unknown[],
  H = unknown,
> extends AnySupervisorRef {
  readonly #template: Template;

  /** @internal */
  constructor(address: Pid<never> | string, kernel: Kernel, template: Template) {
    super(address, kernel);
    this.#template = template;
  }

  /**
   * Starts a child with these arguments for its `init`. Returns its handle, or undefined when `init` returned `ignore`.
   *
   * @throws ChildError with the problem `max_children`, `start_failed`, or `already_started` when there is a child with the name that the
   *   template gives to these arguments
   */
  async startLike(...given: Given<A>): Promise<H | undefined> {
    const [args = [], options] = given;
    return (await this.#add(args, false, options)) as H | undefined;
  }

  /**
   * The child that has the name for these arguments: starts it when there is none. Of several requests at the same time, one starts the
   * child and the others get the same one. The arguments of the others are not used. When the child is starting, restarting or stopping, the
   * request waits until the child runs, or is gone; then another one is started. A caller that gives up meanwhile starts nothing. An `init` that
   * awaits its own name waits for itself.
   *
   * @returns the handle of the child. It stays good over restarts. A call fails with `noproc` in the moment between a crash and the
   *   restart
   * @throws ChildError with the problem `max_children`, `start_failed`, or `ignored` when the `init` of the child returned `ignore`;
   *   OptionError when the template has no `name`. When a process that is no child of this supervisor has the name, the cause of
   *   `start_failed` is KeyTakenError or NameTakenError
   * @example
   * const device = await devices.startOrGet(["sensor-7"]);
   */
  async startOrGet(...given: Given<A>): Promise<H> {
    const [args = [], options] = given;
    const handle = await this.#add(args, true, options);
    if (handle === undefined) throw new ChildError(String(this), this.#template.id, "ignored");
    return handle as H;
  }

  /**
   * Stops a child and forgets it. A child with a name is found by its handle also while it waits for its restart.
   *
   * @param child - its handle or its pid
   * @throws ChildError
   */
  async terminateChild(child: Pid | { readonly pid: Pid }, options?: CallOptions): Promise<void> {
    const id = child instanceof Pid ? child : (child as { readonly pid?: Pid } | undefined | null)?.pid;
    checkPid("child", id);
    await this.settle(String(id), (replyTo) => ({ type: "terminate", id: id as Pid, replyTo }), options);
  }

  async #add(args: readonly unknown[], orGet: boolean, options: CallOptions | undefined): Promise<unknown> {
    const { id, start } = this.#template;
    // The supervisor refuses what is no array.
    const name = Array.isArray(args) ? this.#nameOf(args) : undefined;
    if (orGet && Array.isArray(args) && name?.sole === undefined)
      throw new OptionError("startOrGet", args, "asked of a template with a `name` that one child can have");
    const pid = await this.settle(
      id,
      (replyTo) => ({ type: "add-like", args, name, orGet, replyTo }),
      options,
    );
    return pid === undefined ? undefined : childHandle(start, args, name?.via ?? pid, this.kernel);
  }

  #nameOf(args: readonly unknown[]): ReturnType<typeof childName> | undefined {
    const { id, name } = this.#template;
    return name === undefined ? undefined : childName(this.kernel, `child(${id}).name`, name, args);
  }
}

/**
 * The handle of a running supervisor with named children, by its pid or by its registered name. Use it for a nested
 * supervisor whose pid comes from `whichChildren`.
 *
 * @throws OptionError
 */
export function supervisorRef(system: ProcessSystem, address: Pid | string): SupervisorRef {
  return new SupervisorRef(checkAddress(address), kernelOf(system));
}

/** @throws OptionError */
export function checkAddress(address: Pid | string): Pid | string {
  if (address instanceof Pid || (typeof address === "string" && address !== "")) return address;
  throw new OptionError("address", address, "the pid of a supervisor, or the name it is registered under");
}

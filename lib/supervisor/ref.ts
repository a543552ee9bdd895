// A supervisor seen from outside: children added, stopped, restarted, deleted, listed and counted while it runs.

import { OptionError } from "../process/errors.js";
import type { Kernel } from "../process/kernel.js";
import { Pid } from "../process/pid.js";
import type { CallOptions, ReplyTo } from "../process/request.js";
import type { ProcessSystem } from "../process/system.js";
import type { ChildSpec, ChildStart, ChildType } from "./child.js";
import { ChildError } from "./errors.js";
import type { Answer, ChildStatus } from "./protocol.js";

/** One child, as `whichChildren` shows it. */
export interface ChildInfo {
  readonly id: string;
  readonly pid: Pid<unknown> | undefined;
  readonly status: ChildStatus;
  readonly type: ChildType;
}

export interface ChildCounts {
  /** Specs known, running or not. */
  readonly specs: number;
  readonly active: number;
  readonly supervisors: number;
  readonly workers: number;
}

/** What a supervisor's process understands. */
export type SupervisorMessage =
  | { readonly type: "add"; readonly spec: ChildSpec; readonly replyTo: ReplyTo<Answer<Pid>> }
  | { readonly type: "add-like"; readonly args: readonly unknown[]; readonly replyTo: ReplyTo<Answer<Pid>> }
  | {
      readonly type: "terminate" | "restart" | "delete";
      readonly id: string | Pid;
      readonly replyTo: ReplyTo<Answer<Pid>>;
    }
  | { readonly type: "which"; readonly id?: string; readonly replyTo: ReplyTo<readonly ChildInfo[]> }
  | { readonly type: "count"; readonly replyTo: ReplyTo<ChildCounts> };

/**
 * A running supervisor, of either kind. Every request waits for the supervisor, which does one thing at a time, as long as it takes
 * unless a timeout is given; it rejects with CalleeExitedError when the supervisor ends meanwhile.
 */
export abstract class AnySupervisorRef {
  readonly #address: Pid<SupervisorMessage> | string;
  readonly #kernel: Kernel;

  /** @internal */
  constructor(address: Pid<never> | string, kernel: Kernel) {
    this.#address = address as Pid<SupervisorMessage> | string;
    this.#kernel = kernel;
  }

  /** The pid of the supervisor; of whoever holds the name now, for a handle by name. @throws NoProcessError when nobody does */
  get pid(): Pid<SupervisorMessage> {
    const address = this.#address;
    return typeof address === "string"
      ? (this.#kernel.locate(address).pid as Pid<SupervisorMessage>)
      : address;
  }

  /** All children, the last started first, as OTP lists them. */
  whichChildren(options?: CallOptions): Promise<readonly ChildInfo[]> {
    return this.ask((replyTo) => ({ type: "which", replyTo }), options);
  }

  countChildren(options?: CallOptions): Promise<ChildCounts> {
    return this.ask((replyTo) => ({ type: "count", replyTo }), options);
  }

  toString(): string {
    return String(this.#address);
  }

  protected ask<R>(
    build: (replyTo: ReplyTo<R>) => SupervisorMessage,
    options: CallOptions | undefined,
  ): Promise<R> {
    return this.#kernel.calls.call(undefined, this.#address, build, {
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

/** A running supervisor with named children. */
export class SupervisorRef extends AnySupervisorRef {
  /** Adds a child and starts it. Gives its pid, or undefined when its `init` asked to be ignored. @throws ChildError, OptionError */
  async startChild<S extends ChildStart>(
    spec: ChildSpec<S>,
    options?: CallOptions,
  ): Promise<Pid<unknown> | undefined> {
    // What is no spec at all is refused where every spec is checked.
    const add = { type: "add", spec: spec as ChildSpec } as const;
    return this.settle(String(spec?.id), (replyTo) => ({ ...add, replyTo }), options);
  }

  /** Stops a child and keeps its spec (a temporary one is forgotten). @throws ChildError */
  async terminateChild(id: string, options?: CallOptions): Promise<void> {
    await this.settle(id, (replyTo) => ({ type: "terminate", id, replyTo }), options);
  }

  /** Starts a stopped child again. @throws ChildError */
  async restartChild(id: string, options?: CallOptions): Promise<Pid<unknown> | undefined> {
    return this.settle(id, (replyTo) => ({ type: "restart", id, replyTo }), options);
  }

  /** Forgets a stopped child. @throws ChildError */
  async deleteChild(id: string, options?: CallOptions): Promise<void> {
    await this.settle(id, (replyTo) => ({ type: "delete", id, replyTo }), options);
  }

  /** The pid of a child that runs. */
  async child(id: string, options?: CallOptions): Promise<Pid<unknown> | undefined> {
    const children = await this.ask<readonly ChildInfo[]>(
      (replyTo) => ({ type: "which", id, replyTo }),
      options,
    );
    return children.find((child) => child.id === id)?.pid;
  }
}

/** A running dynamic supervisor, whose children's `init` takes `A`. */
export class DynamicSupervisorRef<
  A extends readonly unknown[] = readonly unknown[],
> extends AnySupervisorRef {
  /** Starts a child like the template, with these arguments. @throws ChildError */
  async startLike(
    ...given: readonly [] extends A ? [args?: A, options?: CallOptions] : [args: A, options?: CallOptions]
  ): Promise<Pid<unknown> | undefined> {
    const [args = [], options] = given;
    return this.settle("(dynamic)", (replyTo) => ({ type: "add-like", args, replyTo }), options);
  }

  /** Stops a child and forgets it. @throws ChildError */
  async terminateChild(id: Pid, options?: CallOptions): Promise<void> {
    await this.settle(String(id), (replyTo) => ({ type: "terminate", id, replyTo }), options);
  }
}

/**
 * The handle of a supervisor with named children, by its pid or by the name it is registered under: a nested one, from
 * `whichChildren`.
 *
 * @throws OptionError
 */
export function supervisorRef(system: ProcessSystem, address: Pid | string): SupervisorRef {
  return new SupervisorRef(checkAddress(address), system.kernel);
}

/** @throws OptionError */
export function checkAddress(address: Pid | string): Pid | string {
  if (address instanceof Pid || (typeof address === "string" && address !== "")) return address;
  throw new OptionError("address", address, "the pid of a supervisor, or the name it is registered under");
}

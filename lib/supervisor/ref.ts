// A supervisor seen from outside: children added, stopped, restarted, deleted, listed and counted while it runs.

import type { CallOptions, ReplyTo } from "../process/call.js";
import { OptionError } from "../process/errors.js";
import type { Kernel } from "../process/kernel.js";
import { Pid } from "../process/pid.js";
import type { ProcessSystem } from "../process/system.js";
import type { ChildSpec, ChildType } from "./child.js";
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
 * A running supervisor. Every request waits for the supervisor, which does one thing at a time, as long as it takes
 * unless a timeout is given; it rejects with CalleeExitedError when the supervisor ends meanwhile.
 */
export class SupervisorRef {
  readonly pid: Pid<SupervisorMessage>;
  readonly #kernel: Kernel;

  /** @internal */
  constructor(pid: Pid<never>, kernel: Kernel) {
    this.pid = pid as Pid<SupervisorMessage>;
    this.#kernel = kernel;
  }

  /** Adds a child and starts it. Gives its pid, or undefined when its `init` asked to be ignored. @throws ChildError, OptionError */
  async startChild(spec: ChildSpec, options?: CallOptions): Promise<Pid<unknown> | undefined> {
    // What is no spec at all is refused where every spec is checked.
    return this.#settle(String(spec?.id), (replyTo) => ({ type: "add", spec, replyTo }), options);
  }

  /** Starts a child like the template of a dynamic supervisor, with these arguments. @throws ChildError */
  async startLike(args: readonly unknown[] = [], options?: CallOptions): Promise<Pid<unknown> | undefined> {
    return this.#settle("(dynamic)", (replyTo) => ({ type: "add-like", args, replyTo }), options);
  }

  /** Stops a child and keeps its spec (a temporary one is forgotten). A dynamic child is named by its pid. @throws ChildError */
  async terminateChild(id: string | Pid, options?: CallOptions): Promise<void> {
    await this.#settle(String(id), (replyTo) => ({ type: "terminate", id, replyTo }), options);
  }

  /** Starts a stopped child again. @throws ChildError */
  async restartChild(id: string, options?: CallOptions): Promise<Pid<unknown> | undefined> {
    return this.#settle(id, (replyTo) => ({ type: "restart", id, replyTo }), options);
  }

  /** Forgets a stopped child. @throws ChildError */
  async deleteChild(id: string, options?: CallOptions): Promise<void> {
    await this.#settle(id, (replyTo) => ({ type: "delete", id, replyTo }), options);
  }

  /** All children, the last started first, as OTP lists them. */
  whichChildren(options?: CallOptions): Promise<readonly ChildInfo[]> {
    return this.#ask((replyTo) => ({ type: "which", replyTo }), options);
  }

  countChildren(options?: CallOptions): Promise<ChildCounts> {
    return this.#ask((replyTo) => ({ type: "count", replyTo }), options);
  }

  /** The pid of a child that runs. */
  async child(id: string, options?: CallOptions): Promise<Pid<unknown> | undefined> {
    const children = await this.#ask<readonly ChildInfo[]>(
      (replyTo) => ({ type: "which", id, replyTo }),
      options,
    );
    return children.find((child) => child.id === id)?.pid;
  }

  toString(): string {
    return this.pid.toString();
  }

  #ask<R>(build: (replyTo: ReplyTo<R>) => SupervisorMessage, options: CallOptions | undefined): Promise<R> {
    return this.#kernel.calls.call(undefined, this.pid, build, {
      timeout: Number.POSITIVE_INFINITY,
      ...options,
    });
  }

  async #settle(
    id: string,
    build: (replyTo: ReplyTo<Answer<Pid>>) => SupervisorMessage,
    options: CallOptions | undefined,
  ): Promise<Pid<unknown> | undefined> {
    const answer = await this.#ask(build, options);
    if (!answer.ok) throw new ChildError(String(this.pid), id, answer.problem, answer.reason);
    return answer.pid as Pid<unknown> | undefined;
  }
}

/** The handle of a supervisor whose pid one has: a nested one, from `whichChildren`. */
export function supervisorRef(system: ProcessSystem, pid: Pid): SupervisorRef {
  if (!(pid instanceof Pid)) throw new OptionError("pid", pid, "the pid of a supervisor");
  return new SupervisorRef(pid, system.kernel);
}

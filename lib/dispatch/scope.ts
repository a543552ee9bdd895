// A group that spans nodes: each node has a ConsumerGroup of the same name, and a scope that tells the others of its members.

import type { Kernel } from "../process/kernel.js";
import type { Pid, RemoteNode } from "../process/pid.js";
import type { Process } from "../process/process.js";
import type { Envelope } from "./envelope.js";
import type { ConsumerView, JoinOptions, Member } from "./member.js";
import type { Outcome } from "./outcome.js";

/** @internal A group as its scope sees it. */
export interface ScopedGroup {
  readonly name: string;
  readonly consumers: readonly ConsumerView[];
  join(pid: Pid<never>, options?: JoinOptions): Member;
  leave(consumer: string | Pid): boolean;
  /** Dispatches to this member alone, and once: another node waits for the end, and re-routes. @param attempt - its number there, from 1 */
  dispatchTo(
    member: Member,
    kernel: Kernel,
    owner: Process | undefined,
    envelope: Envelope<unknown>,
    attempt: number,
    signal: AbortSignal,
  ): Promise<Outcome<unknown>>;
}

/** @internal What a group tells its scope. */
export interface ScopedMembers {
  joined(member: Member): void;
  left(member: Member): void;
  /** The default id of a member: no process of another node may have the same one. */
  idOf(pid: Pid<never>): string;
}

/** Where the members of a group come from, if not from one thread alone: a node that has joined a cluster (`signalbox/nodes`). */
export interface GroupScope {
  /** Name and id of the node. */
  readonly node: RemoteNode;
  /** @internal Called by the constructor of the group. @throws OptionError when another group of the node has its name */
  share(group: ScopedGroup): ScopedMembers;
}

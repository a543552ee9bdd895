// What the kernel asks of the connection to other nodes. With a transport it is in remote.ts, without one in out-of-reach.ts.

import type { ExitSource } from "./exit-signal.js";
import type { ExitWatch, Monitor } from "./monitor.js";
import type { Pid } from "./pid.js";
import type { Process } from "./process.js";
import type { ExitReason } from "./reason.js";
import type { ReplyTo, Request } from "./request.js";
import type { SessionView } from "./session-view.js";
import type { PidAddress, ReplyAddress, WireSignal } from "./wire-signal.js";

/** The operations on other nodes that a kernel uses. */
export interface RemotePort {
  /** Before a process acts on another node, it learns of losses of which it has not been told. It may end by that. */
  catchUp(process: Process): void;
  send(to: Pid, message: unknown, from?: Process): void;
  request(to: Pid, request: Request): void;
  link(process: Process, to: Pid): void;
  unlink(process: Process, from: Pid): void;
  exit(from: Pid, to: Pid, reason: ExitReason, source: ExitSource): void;
  monitor(monitor: Monitor): void;
  demonitor(monitor: Monitor): void;
  watch(watch: ExitWatch): void;
  unwatch(watch: ExitWatch): void;
  /** The watch has fired. */
  watched(watch: ExitWatch): void;
  down(monitor: Monitor, reason: ExitReason): void;
  /** A fresh request becomes one that answers at an address of another node: for transports, which decode reply addresses. */
  adopt<T extends Request>(request: T, address: ReplyAddress): T;
  replyAddress(replyTo: ReplyTo<never>): ReplyAddress;
  replyAt(address: ReplyAddress): ReplyTo<unknown>;
  deliver(signal: WireSignal): void;
  nodeDown(id: string): void;
  /** Gives a process a second number, which other nodes know beforehand. */
  expose(number: number, pid: Pid<unknown>): void;
  address(pid: Pid): PidAddress;
  pid(address: PidAddress, label?: string): Pid<unknown>;
  forget(pid: Pid): void;
  /** The sessions with other nodes. Undefined: the system has no transport. */
  sessions(): readonly SessionView[] | undefined;
  /** The system stops: calls that code outside of all processes has made to other nodes end with this error. */
  abandon(error: Error): void;
  close(): void;
}

// The nodes beyond a system without a transport: nothing reaches them, and nothing comes from them. The code that talks to
// other nodes is in remote.ts, and comes with `remoteNodes`, so that programs without a transport do not carry it.

import { OptionError } from "./errors.js";
import type { Kernel } from "./kernel.js";
import type { Monitor } from "./monitor.js";
import { include } from "./one-or-many.js";
import { Pid } from "./pid.js";
import type { Process } from "./process.js";
import { NOCONNECTION } from "./reason.js";
import type { RemotePort } from "./remote-port.js";
import type { ReplyTo, Request } from "./request.js";
import type { PidAddress, ReplyAddress } from "./wire-signal.js";

export class OutOfReach implements RemotePort {
  readonly #kernel: Kernel;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  send(to: Pid, message: unknown): void {
    this.#kernel.deadLetter(to, message, "noconnection");
  }

  request(to: Pid, request: Request): void {
    this.send(to, request.message);
    request.calleeExited(NOCONNECTION);
  }

  link(process: Process, to: Pid): void {
    process.links = include(process.links, to);
    this.#kernel.links.exit(to, process.pid, NOCONNECTION, "link");
  }

  monitor(monitor: Monitor): void {
    this.#kernel.links.down(monitor, NOCONNECTION);
  }

  watch(watch: Monitor): void {
    this.monitor(watch);
  }

  deliver(): void {
    noTransport();
  }

  adopt(): never {
    return noTransport();
  }

  replyAddress(_replyTo: ReplyTo<never>): ReplyAddress {
    return noTransport();
  }

  replyAt(_address: ReplyAddress): ReplyTo<unknown> {
    return noTransport();
  }

  address({ node, id }: Pid): PidAddress {
    return { node, id };
  }

  pid({ node, id }: PidAddress): Pid<unknown> {
    const kernel = this.#kernel;
    if (node.id !== kernel.node.id) return new Pid<unknown>(node, id, undefined, undefined);
    let process = kernel.newest;
    while (process !== undefined && process.pid.id !== id) process = process.next;
    return process?.pid ?? new Pid<unknown>(kernel.node, id, undefined, undefined);
  }

  sessions(): undefined {
    return undefined;
  }

  /** A link to another node ends as it is made: there is none to end. */
  unlink(): void {}
  catchUp(): void {}
  expose(): void {}
  exit(): void {}
  unwatch(): void {}
  watched(): void {}
  demonitor(): void {}
  down(): void {}
  nodeDown(): void {}
  forget(): void {}
  abandon(): void {}
  close(): void {}
}

function noTransport(): never {
  throw new OptionError("transport", undefined, "given where signals of other nodes come in");
}

// The connection to other nodes. The kernel passes every signal for a foreign pid to a Transport, and accepts the
// signals that the transport delivers. Without a transport, every other node is out of reach (out-of-reach.ts).

import { SystemStoppedError } from "./errors.js";
import type { ExitSource } from "./exit-signal.js";
import type { Kernel } from "./kernel.js";
import { decide, type LinkEffect, type LinkEnd, type LinkEvent } from "./link-machine.js";
import { type ExitWatch, Monitor } from "./monitor.js";
import { NodeLosses } from "./node-loss.js";
import { each, exclude, include, includes, members } from "./one-or-many.js";
import { withMethod } from "./options.js";
import { Peers } from "./peers.js";
import type { Pid, RemoteNode } from "./pid.js";
import type { Process } from "./process.js";
import { type ExitReason, NOCONNECTION, NOPROC, receivedReason } from "./reason.js";
import { type CallSignal, RemoteCalls } from "./remote-calls.js";
import type { RemotePort } from "./remote-port.js";
import { exitedError, type ReplyTo, type Request } from "./request.js";
import type { SessionView } from "./session-view.js";
import { show } from "./show.js";
import type { Taps } from "./taps.js";
import { post } from "./via.js";
import { checkSignal } from "./wire-check.js";
import type { PidAddress, ReplyAddress, WireSignal } from "./wire-signal.js";
import { withTrace } from "./wire-trace.js";

/** Carries signals to other nodes. Signals from one process to another must arrive in the order in which they were sent. */
export interface Transport {
  /** Accepts a signal for `node`. Returns false when the node is out of reach. */
  send(node: RemoteNode, signal: WireSignal): boolean;
  /** The sessions with other nodes, for those who look at the system. */
  view?(): readonly SessionView[];
}

/** Connects systems to other nodes by one transport; see {@link remoteNodes}. */
export class RemoteNodes {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** @internal */
  connect(kernel: Kernel): RemotePort {
    return new Remote(kernel, this.#transport);
  }
}

/**
 * Connects a system to other nodes. The code for other nodes is part of a bundle only if the program calls this
 * function.
 *
 * @throws OptionError
 * @example
 * const nodes = new Map<string, System>();
 * const transport = remoteNodes({
 *   send: ({ id }, signal) => {
 *     nodes.get(id)?.deliver(signal);
 *     return nodes.has(id);
 *   },
 * });
 * for (const name of ["here", "there"]) {
 *   const system = new System({ name, transport });
 *   nodes.set(system.node.id, system);
 * }
 */
export function remoteNodes(transport: Transport): RemoteNodes {
  return new RemoteNodes(
    withMethod("transport", transport, "send", "an object with a method send(node, signal)"),
  );
}

/** A signal about a link, a monitor or an exit. */
type Tie = Exclude<WireSignal, { readonly type: "message" | "call" | "reply" | "cancel" }>;

type MessageSignal = WireSignal & { readonly type: "message" };

/** A local pid that other nodes may know. */
interface Exported {
  readonly pid: Pid<unknown>;
  readonly address: PidAddress;
}

export class Remote implements RemotePort {
  readonly #transport: Transport;
  readonly #kernel: Kernel;
  /** Local pids that other nodes may know, by number. An entry stays until its process ends. */
  readonly #exported = new Map<number, Exported>();
  /** The other nodes, with their pids. Local pids whose process has ended are there, too. */
  readonly peers: Peers;
  /** The links that a process has ended, and whose other ends have not acknowledged it yet: the numbers of these ends. */
  readonly #inactive = new Map<Pid, Map<Pid, number>>();
  #lastUnlink = 0;

  readonly calls: RemoteCalls;
  readonly losses: NodeLosses;
  /** The watches of code outside of all processes, which waits for the end of foreign processes. */
  readonly watches: Map<number, ExitWatch> = new Map();

  constructor(kernel: Kernel, transport: Transport) {
    this.#kernel = kernel;
    this.#transport = transport;
    this.peers = new Peers(kernel);
    this.calls = new RemoteCalls(kernel, this);
    this.losses = new NodeLosses(kernel, this);
  }

  /** How many processes wait for the acknowledgement of an unlink. For tests. */
  get unlinking(): number {
    return this.#inactive.size;
  }

  sessions(): readonly SessionView[] {
    return this.#transport.view?.() ?? [];
  }

  // ── out ───────────────────────────────────────────────────────────────────────────────────────────────────────

  send(to: Pid, message: unknown, from?: Process): void {
    if (from !== undefined && !this.#isReady(from)) return;
    const { taps } = this.#kernel;
    const signal: WireSignal = { type: "message", to: this.address(to), message };
    if (this.emit(to.node, taps === undefined ? signal : withTrace(signal, taps.leaving(message)))) return;
    this.#kernel.deadLetter(to, message, "noconnection");
  }

  request(to: Pid, request: Request): void {
    const { owner } = request;
    if (owner === undefined || this.#isReady(owner)) this.calls.request(to, request);
    else request.abandon(exitedError(owner));
  }

  /** A process is about to act on another node: losses come first. False when it has ended by that. */
  #isReady(process: Process): boolean {
    this.losses.catchUp(process);
    return process.alive;
  }

  link(process: Process, to: Pid): void {
    this.#link(process, to, { type: "link" });
  }

  unlink(process: Process, from: Pid): void {
    this.#link(process, from, { type: "unlink", id: ++this.#lastUnlink });
  }

  /** Something happens to the link of a process with one of another node. */
  #link(process: Process, other: Pid, event: LinkEvent): void {
    const { pid } = process;
    const before: LinkEnd = includes(process.links, other)
      ? "active"
      : (this.#inactive.get(pid)?.get(other) ?? "none");
    const [end, effects] = decide(before, event);
    if (end !== "none") this.losses.relate(pid, other.node.id);
    if (typeof end === "number") this.#leave(pid, other, end);
    else if (typeof before === "number") this.#forgetEnd(pid, other);
    // An exit signal takes the link away itself, as it does between local processes.
    if (end === "active") process.links = include(process.links, other);
    else if (event.type !== "exited") process.links = exclude(process.links, other);
    for (const effect of effects) this.#carryOut(process, other, effect);
  }

  #carryOut({ pid }: Process, other: Pid, effect: LinkEffect): void {
    switch (effect.type) {
      case "link":
        if (this.emit(other.node, { type: "link", from: this.address(pid), to: this.address(other) })) return;
        this.#kernel.links.exit(other, pid, NOCONNECTION, "link");
        return;
      case "unlink":
        // Out of reach, the other end hears of it by the loss of the connection.
        if (!this.#tellEnd("unlink", pid, other, effect.id)) this.#forgetEnd(pid, other);
        return;
      case "acknowledge":
        this.#tellEnd("unlinked", pid, other, effect.id);
        return;
      case "exit":
        this.#kernel.links.exit(other, pid, effect.reason, "link");
        return;
      default:
        effect satisfies never;
    }
  }

  #tellEnd(type: "unlink" | "unlinked", from: Pid, to: Pid, id: number): boolean {
    return this.emit(to.node, { type, id, from: this.address(from), to: this.address(to) });
  }

  #leave(pid: Pid, other: Pid, id: number): void {
    const ends = this.#inactive.get(pid) ?? new Map<Pid, number>();
    this.#inactive.set(pid, ends.set(other, id));
  }

  #forgetEnd(pid: Pid, other: Pid): void {
    const ends = this.#inactive.get(pid);
    if (ends?.delete(other) && ends.size === 0) this.#inactive.delete(pid);
  }

  exit(from: Pid, to: Pid, reason: ExitReason, source: ExitSource): void {
    const { process } = from;
    if (process !== undefined && !this.#isReady(process as Process)) return;
    this.emit(to.node, { type: "exit", from: this.address(from), to: this.address(to), reason, source });
  }

  monitor(monitor: Monitor): void {
    const { id: ref, watcher, target } = monitor;
    if (watcher.process !== undefined) this.losses.relate(watcher, target.node.id);
    const sent = this.emit(target.node, {
      type: "monitor",
      ref,
      from: this.address(watcher),
      to: this.address(target),
    });
    if (!sent) this.#kernel.links.down(monitor, NOCONNECTION);
  }

  watch(watch: ExitWatch): void {
    this.watches.set(watch.id, watch);
    this.monitor(watch);
  }

  unwatch(watch: ExitWatch): void {
    if (this.watches.delete(watch.id)) this.demonitor(watch);
  }

  watched(watch: ExitWatch): void {
    this.watches.delete(watch.id);
  }

  demonitor(monitor: Monitor): void {
    const { id: ref, watcher, target } = monitor;
    this.emit(target.node, {
      type: "demonitor",
      ref,
      from: this.address(watcher),
      to: this.address(target),
    });
  }

  down(monitor: Monitor, reason: ExitReason): void {
    const { id: ref, watcher, target } = monitor;
    this.emit(watcher.node, {
      type: "down",
      ref,
      from: this.address(target),
      to: this.address(watcher),
      reason,
    });
  }

  /** False: the node is out of reach. */
  emit(node: RemoteNode, signal: WireSignal): boolean {
    try {
      return this.#transport.send(node, signal) === true;
    } catch (error) {
      // The sender of a message can handle the error. Any other signal may be part of an exit, and the exit has to
      // complete.
      if (signal.type === "message" || signal.type === "call") throw error;
      this.#report(node, error);
      // A reply that cannot travel: its caller learns why.
      return signal.type === "reply" && this.#sendError(node, signal, error);
    }
  }

  #sendError(node: RemoteNode, signal: WireSignal & { readonly type: "reply" }, error: unknown): boolean {
    try {
      return this.#transport.send(node, { ...signal, outcome: { ok: false, error } }) === true;
    } catch {
      return false;
    }
  }

  #report(node: RemoteNode, error: unknown): void {
    const { reports } = this.#kernel;
    const text = `the transport threw at a signal to ${node.name}: ${show(error)}`;
    if (reports.admits("transport"))
      reports.write({ level: "error", event: "transport", path: this.#kernel.node.name, error, text });
  }

  // ── in ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Handles one signal that another node sent to this node. @throws OptionError when it is none */
  deliver(signal: WireSignal): void {
    const kernel = this.#kernel;
    checkSignal(signal, kernel.node);
    switch (signal.type) {
      case "message":
        this.#message(signal);
        return;
      case "call":
        this.#call(signal);
        return;
      case "reply":
        this.calls.replied(signal);
        return;
      case "cancel":
        this.calls.cancelled(signal.replyTo);
        return;
      default:
        this.#tie(signal);
    }
  }

  #message(signal: MessageSignal): void {
    const kernel = this.#kernel;
    const to = this.#receiver(signal);
    if (kernel.taps === undefined) post(kernel, to, signal.message);
    else tappedMessage(kernel, kernel.taps, to, signal);
  }

  #call(signal: CallSignal): void {
    const to = this.#receiver(signal);
    const { taps } = this.#kernel;
    if (taps === undefined) this.calls.called(signal, to);
    else tappedCall(this.calls, taps, to, signal);
  }

  /** The process that a signal is for, once it knows of all losses. */
  #receiver({ to }: { readonly to: PidAddress }): Pid<unknown> {
    const pid = this.pid(to);
    const { process } = pid;
    if (process !== undefined) this.losses.catchUp(process as Process);
    return pid;
  }

  /** A link or a monitor begins or ends, or a process exits. */
  #tie(signal: Tie): void {
    const kernel = this.#kernel;
    const to = this.#receiver(signal);
    kernel.interception?.met(to);
    const from = this.pid(signal.from);
    const target = to.process;
    switch (signal.type) {
      case "link":
        if (target === undefined) this.exit(to, from, NOPROC, "link");
        else this.#link(target, from, { type: "linked" });
        return;
      case "unlink":
        if (target === undefined) this.#tellEnd("unlinked", to, from, signal.id);
        else this.#link(target, from, { type: "unlinked", id: signal.id });
        return;
      case "unlinked":
        if (target !== undefined) this.#link(target, from, { type: "acknowledged", id: signal.id });
        return;
      case "exit":
        if (signal.source !== "link")
          kernel.links.exit(from, to, receivedReason(signal.reason), signal.source);
        else if (target !== undefined)
          this.#link(target, from, { type: "exited", reason: receivedReason(signal.reason) });
        return;
      case "monitor": {
        const monitor = new Monitor(signal.ref, from, to);
        if (target === undefined) this.down(monitor, NOPROC);
        else {
          this.losses.relate(to, from.node.id);
          target.watchers = include(target.watchers, monitor);
        }
        return;
      }
      case "demonitor":
        for (const monitor of members(target?.watchers)) {
          if (target && monitor.watcher === from && monitor.id === signal.ref)
            target.watchers = exclude(target.watchers, monitor);
        }
        return;
      case "down": {
        const watch = to === kernel.outside ? this.watches.get(signal.ref) : undefined;
        if (watch?.target === from) kernel.links.down(watch, receivedReason(signal.reason));
        for (const monitor of members(target?.watching)) {
          if (monitor.target === from && monitor.id === signal.ref)
            kernel.links.down(monitor, receivedReason(signal.reason));
        }
        return;
      }
      default:
        signal satisfies never;
    }
  }

  /** The connection to a node is lost: all links, monitors and calls between the two nodes end with `noconnection`. */
  nodeDown(id: string): void {
    const { interception } = this.#kernel;
    if (interception !== undefined) for (const { pid } of this.#kernel.processes()) interception.met(pid);
    for (const watch of [...this.watches.values()])
      if (watch.target.node.id === id) this.#kernel.links.down(watch, NOCONNECTION);
    this.losses.begin(id);
    this.peers.release(id);
  }

  /** Ends links and monitors between a process and a node that is lost, at most so many. Returns how many. */
  untie(process: Process, id: string, most: number): number {
    const { pid } = process;
    let ended = 0;
    for (const watcher of each(process.watchers)) {
      if (watcher.watcher.node.id !== id) continue;
      if (ended++ === most) return most;
      process.watchers = exclude(process.watchers, watcher);
    }
    for (const other of [...(this.#inactive.get(pid)?.keys() ?? [])])
      if (other.node.id === id) this.#forgetEnd(pid, other);
    for (const monitor of each(process.watching)) {
      if (monitor.target.node.id !== id) continue;
      if (ended++ === most) return most;
      this.#kernel.links.down(monitor, NOCONNECTION);
    }
    for (const other of each(process.links)) {
      if (other.node.id !== id) continue;
      if (ended++ === most) return most;
      this.#link(process, other, { type: "exited", reason: NOCONNECTION });
    }
    return ended;
  }

  catchUp(process: Process): void {
    this.losses.catchUp(process);
  }

  abandon(error: Error): void {
    this.losses.finish();
    this.calls.abandon(error);
  }

  /** The system has stopped and accepts no more signals. */
  close(): void {
    for (const watch of this.watches.values()) watch.lost(new SystemStoppedError(this.#kernel.node.name));
    this.watches.clear();
  }

  adopt<T extends Request>(request: T, address: ReplyAddress): T {
    return this.calls.adopt(request, address);
  }

  // ── addresses ─────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * A pid in the form that travels between nodes. A local pid is stored, so that signals from other nodes find the
   * process.
   */
  address(pid: Pid): PidAddress {
    const { id, node } = pid;
    const known = this.#exported.get(id);
    if (known !== undefined && known.pid === pid) return known.address;
    const address: PidAddress = { node, id };
    if (pid.process?.kernel === this.#kernel) this.#exported.set(id, { pid: pid as Pid<unknown>, address });
    else if (node === this.#kernel.node) this.peers.remember(pid as Pid<unknown>);
    return address;
  }

  expose(number: number, pid: Pid<unknown>): void {
    this.#exported.set(number, { pid, address: { node: pid.node, id: pid.id } });
  }

  replyAddress(replyTo: ReplyTo<never>): ReplyAddress {
    return this.calls.replyAddress(replyTo);
  }

  replyAt(address: ReplyAddress): ReplyTo<unknown> {
    return this.calls.replyAt(address);
  }

  /**
   * The pid for an address. The same address always gives the same object. A foreign pid that is known without a label, because a signal
   * came from it, takes the label that comes with it later.
   */
  pid(address: PidAddress, label?: string): Pid<unknown> {
    const { node, id } = address;
    const here = node.id === this.#kernel.node.id;
    const exported = here ? this.#exported.get(id) : undefined;
    if (exported !== undefined) return exported.pid;
    const known = this.peers.known(node, id);
    if (known === undefined) return this.peers.made(address, label);
    if (!here && label !== undefined && known.label === undefined) (known as { label: string }).label = label;
    return known;
  }

  /** The process of this pid has ended. */
  forget(pid: Pid): void {
    this.#inactive.delete(pid);
    this.losses.forget(pid);
    if (this.#exported.size > 0 && this.#exported.delete(pid.id)) this.peers.remember(pid as Pid<unknown>);
  }
}

// Functions of their own: one that makes a closure allocates for it at each call, whether or not it makes the closure then.

function tappedMessage(kernel: Kernel, taps: Taps, to: Pid, { message, trace }: MessageSignal): void {
  taps.arriving(trace?.text, () => {
    taps.arrived(message, undefined, trace);
    post(kernel, to, message);
  });
}

function tappedCall(calls: RemoteCalls, taps: Taps, to: Pid<unknown>, signal: CallSignal): void {
  taps.arriving(signal.trace?.text, () => calls.called(signal, to));
}

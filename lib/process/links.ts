// Links, monitors and exit signals: which processes are notified of an exit, exactly once, and with which reason.

import { isEntry, type Signal, SignalEntry } from "./entries.js";
import { type ExitSource, exitAction } from "./exit-signal.js";
import type { InterceptedProcess } from "./interception.js";
import type { Kernel } from "./kernel.js";
import { ExitWatch, Monitor } from "./monitor.js";
import { exclude, include, includes, members } from "./one-or-many.js";
import type { Pid } from "./pid.js";
import type { Process } from "./process.js";
import { type ExitReason, KILLED, NOPROC } from "./reason.js";

interface PendingExit {
  readonly to: Pid;
  readonly from: Pid;
  readonly reason: ExitReason;
}

export class Links {
  private readonly kernel: Kernel;
  private lastMonitor = 0;
  /** Exit signals along links that are not yet applied. A queue, because a chain of a million links must not recurse. */
  private outbox: PendingExit[] = [];
  private draining = false;
  private reported = false;

  constructor(kernel: Kernel) {
    this.kernel = kernel;
  }

  /**
   * Links two processes. Linking twice, or linking a process to itself, has no effect.
   *
   * @param gone - the EXIT that comes if `address` is dead
   */
  link(process: Process, address: Pid, gone: ExitReason = NOPROC): void {
    const other = address.process;
    const to = other?.pid ?? address;
    this.used(process.pid, to);
    if (to.node !== this.kernel.node) this.kernel.remote.catchUp(process);
    if (!process.alive || to === process.pid || includes(process.links, to)) return;
    if (other !== undefined && other.kernel === this.kernel) {
      process.links = include(process.links, to);
      other.links = include(other.links, process.pid);
    } else if (to.node === this.kernel.node) {
      process.links = include(process.links, to);
      this.exit(to, process.pid, gone, "link");
    } else this.kernel.remote.link(process, to);
    this.kernel.shared?.listeners("read");
    if (this.kernel.events.wants.link) this.kernel.events.publish("link", { from: process.pid, to });
  }

  /** Ends the link at once. Exit signals that arrive along it from now on are dropped. */
  unlink(process: Process, address: Pid): void {
    const other = address.process;
    const from = other?.pid ?? address;
    this.used(process.pid, from);
    if (from.node !== this.kernel.node) this.kernel.remote.catchUp(process);
    if (!includes(process.links, from)) return;
    if (from.node !== this.kernel.node) {
      this.kernel.remote.unlink(process, from);
      return;
    }
    process.links = exclude(process.links, from);
    if (other !== undefined && other.kernel === this.kernel) other.links = exclude(other.links, process.pid);
  }

  /** @param gone - the reason of the DOWN that comes if `address` is dead */
  monitor(process: Process, address: Pid, gone: ExitReason = NOPROC): Monitor {
    const other = address.process;
    const target = other?.pid ?? address;
    this.kernel.shared?.process(target, "read");
    if (target.node !== this.kernel.node) this.kernel.remote.catchUp(process);
    const monitor = new Monitor(this.number(), process.pid, target);
    if (other !== undefined && other.kernel === this.kernel) {
      process.watching = include(process.watching, monitor);
      other.watchers = include(other.watchers, monitor);
    } else if (target.node === this.kernel.node) {
      notify(process, { type: "down", ref: monitor, pid: target, reason: gone });
    } else if (process.alive) {
      process.watching = include(process.watching, monitor);
      this.kernel.remote.monitor(monitor);
    }
    return monitor;
  }

  /** Watches a process for code outside of all processes. */
  watch(address: Pid, ended: (reason: ExitReason) => void, lost: (error: Error) => void): ExitWatch {
    const { kernel } = this;
    const other = address.process;
    const target = other?.pid ?? address;
    kernel.shared?.process(target, "read");
    const watch = new ExitWatch(this.number(), kernel.outside, target, ended, lost);
    if (other !== undefined && other.kernel === kernel) other.watchers = include(other.watchers, watch);
    else if (target.node === kernel.node) ended(NOPROC);
    else kernel.remote.watch(watch);
    return watch;
  }

  unwatch(watch: ExitWatch): void {
    const { target } = watch;
    this.kernel.shared?.process(target, "read");
    const other = target.process;
    if (other !== undefined && other.kernel === this.kernel) other.watchers = exclude(other.watchers, watch);
    else if (target.node !== this.kernel.node) this.kernel.remote.unwatch(watch);
  }

  /** Ends a monitor of `process`. With `flush`, a DOWN that is queued goes too. */
  demonitor(process: Process, monitor: Monitor, flush: boolean): void {
    if (monitor.watcher !== process.pid) return;
    process.watching = exclude(process.watching, monitor);
    this.release(monitor);
    if (flush) removeSignal(process, (signal) => signal.type === "down" && signal.ref === monitor);
  }

  /** The target of a monitor does not report its end any more. */
  private release(monitor: Monitor): void {
    const { kernel } = this;
    const { target } = monitor;
    kernel.shared?.process(target, "read");
    const other = target.process;
    if (other !== undefined && other.kernel === kernel) other.watchers = exclude(other.watchers, monitor);
    else if (target.node !== kernel.node) kernel.remote.demonitor(monitor);
  }

  /** Two ends of a link are looked at or changed, or one of them gets an exit signal. */
  private used(one: Pid, other: Pid): void {
    const { shared } = this.kernel;
    if (shared === undefined) return;
    shared.process(other, "read");
    shared.links(one);
    shared.links(other);
  }

  /** The number of a monitor, or of a call to another node. */
  number(): number {
    const { interception } = this.kernel;
    return interception === undefined ? ++this.lastMonitor : interception.number("monitor");
  }

  /** Applies one exit signal to its receiver, by the table in exit-signal.ts. */
  exit(from: Pid, to: Pid, reason: ExitReason, source: ExitSource): void {
    this.used(from, to);
    const target = to.process;
    if (target === undefined || target.kernel !== this.kernel) {
      if (to.node !== this.kernel.node) this.kernel.remote.exit(from, to, reason, source);
      return;
    }
    const linked = source === "link" && includes(target.links, from);
    if (linked) target.links = exclude(target.links, from);
    const verdict = exitAction(source, linked, reason, target.trapping, from === to);
    if (verdict === "die") this.kernel.shared?.process(to, "write");
    switch (verdict) {
      case "drop":
        return;
      case "die":
        // An orderly stop by the parent: the process may have something to finish.
        if (
          source === "exit" &&
          reason.type === "shutdown" &&
          from === (target.parent ?? this.kernel.outside)
        ) {
          const { behaviour } = target;
          if (typeof behaviour !== "function" && behaviour.shutdown?.(target.ctx, reason) === true) return;
        }
        this.kernel.taps?.felled(target, from);
        this.kernel.end(target, reason, undefined, source === "link");
        return;
      case "killed":
        this.kernel.taps?.felled(target, from);
        this.kernel.end(target, KILLED);
        return;
      case "message":
        notify(target, { type: "exit", from, reason });
        return;
      default:
        verdict satisfies never;
    }
  }

  /** Notifies all processes that are linked to `process` or monitor it, and ends the monitors of `process`. */
  announce(process: Process, reason: ExitReason): void {
    const { pid, links, watchers, watching } = process;
    if (watching !== undefined) {
      process.watching = undefined;
      for (const monitor of members(watching)) this.release(monitor);
    }
    if (watchers !== undefined) {
      process.watchers = undefined;
      if (watchers instanceof Set) for (const monitor of watchers) this.down(monitor, reason);
      else this.down(watchers, reason);
    }
    if (links !== undefined) {
      process.links = undefined;
      if (links instanceof Set) for (const to of links) this.outbox.push({ to, from: pid, reason });
      else if (this.draining) this.outbox.push({ to: links, from: pid, reason });
      else {
        this.draining = true;
        try {
          this.exit(pid, links, reason, "link");
        } finally {
          this.drain();
        }
        return;
      }
      if (!this.draining) this.drain();
    }
  }

  /** Whether the failure that spreads along links now was not reported yet. The caller reports it when true. */
  isFirstReport(): boolean {
    const first = !this.reported;
    this.reported = this.draining;
    return first;
  }

  /** Fires one monitor. */
  down(monitor: Monitor, reason: ExitReason): void {
    const watcher = monitor.watcher.process;
    if (watcher !== undefined && watcher.kernel === this.kernel) {
      watcher.watching = exclude(watcher.watching, monitor);
      notify(watcher, { type: "down", ref: monitor, pid: monitor.target, reason });
    } else if (monitor instanceof ExitWatch) {
      this.kernel.remote.watched(monitor);
      monitor.ended(reason);
    } else if (monitor.watcher.node !== this.kernel.node) this.kernel.remote.down(monitor, reason);
  }

  /** An exit that throws, for example because the stack is used up, must not block other exits, now or later. */
  private drain(): void {
    this.draining = true;
    let failure: { readonly error: unknown } | undefined;
    for (let i = 0; i < this.outbox.length; i++) {
      const { to, from, reason } = this.outbox[i] as PendingExit;
      try {
        this.exit(from, to, reason, "link");
      } catch (error) {
        failure ??= { error };
      }
    }
    if (this.outbox.length > 0) this.outbox.length = 0;
    this.draining = false;
    this.reported = false;
    if (failure !== undefined) throw failure.error;
  }
}

function notify(process: Process, signal: Signal): void {
  process.deliverSignal(new SignalEntry(signal));
}

/** Takes the first queued signal that fits out of a mailbox. */
export function removeSignal(process: Process, flushed: (signal: Signal) => boolean): void {
  process.kernel.shared?.process(process.pid, "write");
  process.kernel.shared?.mailbox(process.pid, "write");
  const fits = (entry: unknown): boolean =>
    isEntry(entry) && entry instanceof SignalEntry && flushed(entry.signal);
  for (let index = 0; index < process.length; index++) {
    if (fits(process.peek(index))) {
      process.removeAt(index);
      return;
    }
  }
  process.kernel.interception?.recall(process as InterceptedProcess, fits);
}

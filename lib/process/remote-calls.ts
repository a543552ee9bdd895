// Calls between nodes. The caller's node has its open calls in a table, and sends `call`; the callee's node makes a request of it that
// is in the mailbox and in the open calls of its callee like any other, and sends `reply` when it has ended. A caller that gives up
// sends `cancel`, which ends the request at the callee.
//
//     caller's node                               callee's node
//     request ── call ───────────────────────────> request of the callee
//     answered, refused, callee exited <── reply ── its end, whichever it is
//     timeout, abort, caller exited ── cancel ────> withdrawn
//
// Each side forgets a call as it ends. A reply that finds no call is late: it is counted, and discarded.

import { CallTable, TableEntry } from "./call-table.js";
import { isEntry } from "./entries.js";
import { type CalleeExitedError, LateReplyError, MailboxFullError, OptionError } from "./errors.js";
import type { DiscardedReply } from "./events.js";
import type { Kernel } from "./kernel.js";
import type { Peers } from "./peers.js";
import type { Pid, RemoteNode } from "./pid.js";
import type { FarCall, Process } from "./process.js";
import { NOCONNECTION, NOPROC, receivedReason } from "./reason.js";
import { type FarEnd, type ReplyTo, Request, replyAddress } from "./request.js";
import type { CallOutcome } from "./taps.js";
import type { PidAddress, ReplyAddress, ReplyOutcome, WireSignal } from "./wire-signal.js";
import { withTrace } from "./wire-trace.js";

/** What calls use of the connection to other nodes. */
interface CallPort {
  readonly peers: Peers;
  emit(node: RemoteNode, signal: WireSignal): boolean;
  address(pid: Pid): PidAddress;
  pid(address: PidAddress): Pid<unknown>;
  /** Before a process hears from a node, it learns of losses of which it has not been told. */
  catchUp(process: Process): void;
}

export type CallSignal = WireSignal & { readonly type: "call" };
type ReplySignal = WireSignal & { readonly type: "reply" };

export class RemoteCalls {
  readonly #kernel: Kernel;
  readonly #port: CallPort;
  readonly #peers: Peers;

  constructor(kernel: Kernel, port: CallPort) {
    this.#kernel = kernel;
    this.#port = port;
    this.#peers = port.peers;
  }

  /** How many calls of this node wait for a reply of another one. For tests. */
  get open(): number {
    let count = 0;
    for (const { calls } of this.#peers.all()) count += calls.size;
    return count;
  }

  /** How many calls of other nodes are open here. For tests. */
  get answering(): number {
    let count = 0;
    for (const { requests } of this.#peers.all()) count += requests.size;
    return count;
  }

  // ── the caller's node ─────────────────────────────────────────────────────────────────────────────────────────

  /** Sends a call. What the transport throws, such as a message that cannot be encoded, goes to the caller. */
  request(to: Pid, request: Request): void {
    const { owner, message } = request;
    const end = this.#callerEnd(request, this.#peers.of(to.node).calls);
    end.callee = to;
    if (owner !== undefined && request.open) end.enlist(owner);
    const signal: CallSignal = {
      type: "call",
      from: owner && this.#port.address(owner.pid),
      to: this.#port.address(to),
      replyTo: replyAddress(request),
      message,
    };
    const { taps } = this.#kernel;
    try {
      if (this.#port.emit(to.node, taps === undefined ? signal : withTrace(signal, taps.leaving(request))))
        return;
    } catch (error) {
      end.table?.delete(end);
      throw error;
    }
    end.table?.delete(end);
    this.#kernel.deadLetter(to, message, "noconnection");
    request.calleeExited(NOCONNECTION);
  }

  /** Puts a call into a table. Its reply address may have travelled before. */
  #callerEnd(request: Request, table: CallTable<CallerEnd>): CallerEnd {
    const before = request.away;
    const end =
      before instanceof CallerEnd ? before : new CallerEnd(this, this.#kernel.links.number(), request);
    if (end === before) end.table?.delete(end);
    else request.away = end;
    if (request.open) table.add(end);
    return end;
  }

  get node(): RemoteNode {
    return this.#kernel.node;
  }

  /** The caller of a call to another node has given up. */
  cancel(to: Pid, ref: number): void {
    this.#port.emit(to.node, {
      type: "cancel",
      to: this.#port.address(to),
      replyTo: { node: this.node, ref },
    });
  }

  /** A reply has come. Any node to which the reply address has travelled may send it. */
  replied({ from, to: { ref }, outcome }: ReplySignal): void {
    const calls = this.#peers.get(from.node.id)?.calls;
    const end = calls?.get(ref);
    // The request at the callee has ended, and needs no `cancel`. It is still there when code of that node answers that got the
    // reply address in another way before the call: its replies come from number 0.
    if (end !== undefined && from.id !== 0) calls?.delete(end);
    const answered = end?.request ?? this.#callOf(ref);
    if (answered?.owner !== undefined) this.#port.catchUp(answered.owner);
    if (answered !== undefined) settle(answered, outcome);
    else if ("ok" in outcome) this.#discard(from, outcome);
  }

  #callOf(ref: number): Request | undefined {
    for (const { calls } of this.#peers.all()) {
      const end = calls.get(ref);
      if (end !== undefined) return end.request;
    }
    return undefined;
  }

  #discard(from: PidAddress, reply: DiscardedReply["reply"]): void {
    this.#kernel.discardReply(() => {
      const callee = this.#port.pid(from);
      const error = new LateReplyError(String(callee), undefined);
      return { callee, caller: undefined, reply, error };
    });
  }

  // ── the callee's node ─────────────────────────────────────────────────────────────────────────────────────────

  /** A call has come for the process of this pid. */
  called(signal: CallSignal, to: Pid<unknown>): void {
    const end = this.#arriving(signal);
    if (end === undefined) return;
    const { request } = end;
    const kernel = this.#kernel;
    kernel.shared?.process(to, "read");
    end.callee = to;
    end.from = signal.from;
    request.message = signal.message;
    const { process } = to;
    const target = process?.kernel === kernel ? process : undefined;
    request.begin(kernel, undefined, to, target, Number.POSITIVE_INFINITY);
    if (target === undefined) {
      request.calleeExited(NOPROC);
      return;
    }
    this.#peers.of(end.node).requests.add(end);
    kernel.taps?.arrived(signal.message, request, signal.trace);
    try {
      target.deliverRequest(request);
    } catch (error) {
      request.fail(error, "undelivered");
    }
  }

  /**
   * The request of a call that has come: the reply address that the transport has made of the caller's, or a new one for a transport
   * within this thread, which passes the caller's own. Undefined for a call that was delivered before.
   */
  #arriving({ replyTo }: CallSignal): AnswerEnd | undefined {
    const request = requestAt("signal.replyTo", replyTo);
    const { away } = request;
    if (away === undefined || away.node.id === this.node.id)
      throw new OptionError("signal.replyTo", replyTo, "a reply address of another node");
    if (away instanceof AnswerEnd && away.calls === this)
      return request.callee === undefined && request.open ? away : undefined;
    const end = this.#answerEnd(new Request(), away.node, away.ref);
    if (request.isKept) endWith(end.request, request);
    return end;
  }

  /** The caller has given up. A copy of a call has the same number. */
  cancelled({ node, ref }: ReplyAddress): void {
    const requests = this.#peers.get(node.id)?.requests;
    for (let end = requests?.get(ref); end !== undefined; end = requests?.get(ref)) {
      requests?.delete(end);
      end.request.fail(undefined, "caller-exited");
    }
  }

  /** A request of another node has ended here. */
  answered(end: AnswerEnd, outcome: ReplyOutcome): void {
    const { node, ref } = end;
    const from = this.#port.address(end.callee ?? this.#kernel.outside);
    this.#port.emit(node, { type: "reply", from, to: { node, ref }, outcome });
  }

  /** Makes a fresh request answer at an address of another node. */
  adopt<T extends Request>(request: T, { node, ref }: ReplyAddress): T {
    const { name, id } = node;
    this.#answerEnd(request, this.#peers.get(id)?.node ?? { name, id }, ref);
    return request;
  }

  #answerEnd(request: Request, node: RemoteNode, ref: number): AnswerEnd {
    request.kernel = this.#kernel;
    this.#kernel.shared?.created(request);
    const end = new AnswerEnd(this, node, ref, request);
    request.away = end;
    return end;
  }

  /** The caller of a request, once its call has come. */
  callerOf({ from }: AnswerEnd): Pid | undefined {
    return from && this.#port.pid(from);
  }

  // ── addresses ─────────────────────────────────────────────────────────────────────────────────────────────────

  replyAddress(replyTo: ReplyTo<never>): ReplyAddress {
    const request = requestAt("replyTo", replyTo);
    const { node, ref } = request.away ?? this.#callerEnd(request, this.#peers.of(this.node).calls);
    return { node, ref };
  }

  replyAt(address: ReplyAddress): ReplyTo<unknown> {
    const { node, ref } = address;
    if (node.id !== this.node.id) {
      const known = this.#peers.get(node.id)?.requests.get(ref)?.request;
      return replyAddress(known ?? this.adopt(new Request(), address));
    }
    return replyAddress(this.#callOf(ref) ?? this.#ended(ref));
  }

  /** A call of this node that has ended, and is not known any more. */
  #ended(ref: number): Request {
    const request = new Request();
    request.kernel = this.#kernel;
    request.to = `the callee of call ${ref}`;
    request.fail(undefined, "caller-exited");
    return request;
  }

  // ── ends ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The connection to a node is lost. Calls between the two nodes from now on belong to the next connection. */
  lose(id: string): LostCalls {
    const peer = this.#peers.get(id);
    const lost = new LostCalls(peer?.calls ?? new CallTable(), peer?.requests ?? new CallTable());
    if (peer !== undefined) {
      peer.calls = new CallTable();
      peer.requests = new CallTable();
    }
    return lost;
  }

  /** Ends the lost calls that a process has made or has to answer. */
  endOf(process: Process, { calls, requests }: LostCalls): void {
    for (const end of ownedBy(process)) if (end.table === (calls as CallTable)) loseCall(calls, end);
    for (let request = process.requests; request !== undefined; ) {
      const { next, away } = request;
      if (away instanceof AnswerEnd && away.table === (requests as CallTable)) loseRequest(requests, away);
      request = next;
    }
  }

  /** The system has stopped: nothing answers its calls any more. */
  abandon(error: Error): void {
    for (const { calls } of this.#peers.all()) {
      for (let end = calls.first; end !== undefined; end = calls.first) end.request.abandon(error);
    }
  }
}

/** The calls of a connection that is lost: those made here end with `noconnection`, those made there are withdrawn. */
export class LostCalls {
  readonly calls: CallTable<CallerEnd>;
  readonly requests: CallTable<AnswerEnd>;

  constructor(calls: CallTable<CallerEnd>, requests: CallTable<AnswerEnd>) {
    this.calls = calls;
    this.requests = requests;
  }

  /** Ends one of them. False when there are none left. */
  endNext(): boolean {
    const call = this.calls.first;
    const request = this.requests.first;
    if (call !== undefined) loseCall(this.calls, call);
    else if (request !== undefined) loseRequest(this.requests, request);
    else return false;
    return true;
  }
}

function loseCall(calls: CallTable<CallerEnd>, end: CallerEnd): void {
  // Not in its table any more, the call sends no `cancel` as it ends.
  calls.delete(end);
  end.request.calleeExited(NOCONNECTION);
}

function loseRequest(requests: CallTable<AnswerEnd>, end: AnswerEnd): void {
  requests.delete(end);
  end.request.fail(undefined, "caller-exited");
}

/** The far end of a call that was made here, and whose reply address is known to other nodes. */
export class CallerEnd extends TableEntry implements FarEnd, FarCall {
  readonly caller: undefined = undefined;
  /** The process of another node that was called. */
  callee: Pid | undefined = undefined;
  /** The process that has the call in its list. */
  owner: Process | undefined = undefined;
  /** The calls of its owner are in a circle, the oldest first. */
  previousOwned: CallerEnd = this;
  nextOwned: CallerEnd = this;
  readonly #calls: RemoteCalls;

  constructor(calls: RemoteCalls, ref: number, request: Request) {
    super(ref, request);
    this.#calls = calls;
  }

  get node(): RemoteNode {
    return this.#calls.node;
  }

  /** From now on the exit of this process ends the call. */
  enlist(owner: Process): void {
    const { extras } = owner;
    const first = extras.farCalls as CallerEnd | undefined;
    this.owner = owner;
    if (first === undefined) {
      extras.farCalls = this;
      return;
    }
    const last = first.previousOwned;
    this.previousOwned = last;
    this.nextOwned = first;
    last.nextOwned = this;
    first.previousOwned = this;
  }

  #delist({ extras }: Process): void {
    const { previousOwned, nextOwned } = this;
    if (extras.farCalls === this) extras.farCalls = nextOwned === this ? undefined : nextOwned;
    previousOwned.nextOwned = nextOwned;
    nextOwned.previousOwned = previousOwned;
    this.owner = undefined;
    this.previousOwned = this;
    this.nextOwned = this;
  }

  closed(): void {
    const { callee, owner, table } = this;
    if (owner !== undefined) this.#delist(owner);
    if (table?.delete(this) && callee !== undefined && !this.request.isKept)
      this.#calls.cancel(callee, this.ref);
  }
}

/** The open calls of a process to other nodes, oldest first. */
function ownedBy({ rare }: Process): CallerEnd[] {
  const first = rare?.farCalls as CallerEnd | undefined;
  const ends: CallerEnd[] = [];
  for (let end = first; end !== undefined; end = end.nextOwned === first ? undefined : end.nextOwned)
    ends.push(end);
  return ends;
}

/** The far end of a request that answers a call of another node. */
export class AnswerEnd extends TableEntry implements FarEnd {
  readonly calls: RemoteCalls;
  readonly node: RemoteNode;
  callee: Pid | undefined = undefined;
  from: PidAddress | undefined = undefined;

  constructor(calls: RemoteCalls, node: RemoteNode, ref: number, request: Request) {
    super(ref, request);
    this.calls = calls;
    this.node = node;
  }

  get caller(): Pid | undefined {
    return this.calls.callerOf(this);
  }

  closed(outcome: CallOutcome, value: unknown): void {
    this.table?.delete(this);
    const told = replyOf(outcome, value);
    if (told !== undefined) this.calls.answered(this, told);
  }
}

/** What the caller's node learns of the end. Nothing when the caller ended it. */
function replyOf(outcome: CallOutcome, value: unknown): ReplyOutcome | undefined {
  switch (outcome) {
    case "replied":
      return { ok: true, value };
    case "refused":
    case "undelivered":
      return { ok: false, error: value };
    case "callee-exited": {
      const { reason, request } = value as CalleeExitedError;
      return { exited: reason, isUntaken: request === "withdrawn" };
    }
    case "timeout":
    case "aborted":
    case "caller-exited":
      return undefined;
    default:
      return outcome satisfies never;
  }
}

/** Ends a call as the callee's node says. */
function settle(request: Request, outcome: ReplyOutcome): void {
  if ("exited" in outcome) {
    request.isUntaken = outcome.isUntaken;
    request.calleeExited(receivedReason(outcome.exited), true);
  } else if (outcome.ok) request.answer(outcome.value);
  else request.fail(outcome.error, outcome.error instanceof MailboxFullError ? "undelivered" : "refused");
}

/** The request at the callee ends with the caller's own, but is handled anyway: no `cancel` tells of an end that withdraws nothing. */
function endWith(request: Request, own: Request): void {
  const { onClose } = own;
  request.isKept = true;
  own.onClose = (ok, value) => {
    onClose?.(ok, value);
    request.fail(undefined, "caller-exited");
  };
}

function requestAt(path: string, replyTo: ReplyTo<never>): Request {
  const request: unknown = replyTo;
  if (isEntry(request) && request instanceof Request) return request;
  throw new OptionError(path, replyTo, "a reply address, as the message of a call carries it");
}

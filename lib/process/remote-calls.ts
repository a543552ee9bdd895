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

import { isEntry } from "./entries.js";
import { type CalleeExitedError, LateReplyError, MailboxFullError, OptionError } from "./errors.js";
import type { DiscardedReply } from "./events.js";
import type { Kernel } from "./kernel.js";
import { members } from "./one-or-many.js";
import type { Pid, RemoteNode } from "./pid.js";
import type { Process } from "./process.js";
import { NOCONNECTION, NOPROC, receivedReason } from "./reason.js";
import { type FarEnd, type ReplyTo, Request, replyAddress } from "./request.js";
import type { CallOutcome } from "./taps.js";
import type { PidAddress, ReplyAddress, ReplyOutcome, WireSignal } from "./wire-signal.js";

/** What calls use of the connection to other nodes. */
interface CallPort {
  emit(node: RemoteNode, signal: WireSignal): boolean;
  address(pid: Pid): PidAddress;
  pid(address: PidAddress): Pid<unknown>;
  node(node: RemoteNode): RemoteNode;
  /** Before a process hears from a node, it learns of losses of which it has not been told. */
  catchUp(process: Process): void;
}

type CallSignal = WireSignal & { readonly type: "call" };
type ReplySignal = WireSignal & { readonly type: "reply" };

/** The calls between this node and another one, by their numbers at the caller's node. */
interface CallTables {
  /** Made here: to processes there, or, for this node itself, to its own processes, when their reply addresses have travelled. */
  readonly calls: Map<number, Request>;
  /** Made there. */
  readonly requests: Map<number, Request>;
}

export class RemoteCalls {
  readonly #kernel: Kernel;
  readonly #port: CallPort;
  readonly #tables = new Map<string, CallTables>();

  constructor(kernel: Kernel, port: CallPort) {
    this.#kernel = kernel;
    this.#port = port;
  }

  /** How many calls of this node wait for a reply of another one. For tests. */
  get open(): number {
    return this.#count(({ calls }) => calls);
  }

  /** How many calls of other nodes are open here. For tests. */
  get answering(): number {
    return this.#count(({ requests }) => requests);
  }

  #count(table: (tables: CallTables) => Map<number, Request>): number {
    let count = 0;
    for (const tables of this.#tables.values()) count += table(tables).size;
    return count;
  }

  #tablesOf(id: string): CallTables {
    const known = this.#tables.get(id);
    if (known !== undefined) return known;
    const tables: CallTables = { calls: new Map(), requests: new Map() };
    this.#tables.set(id, tables);
    return tables;
  }

  // ── the caller's node ─────────────────────────────────────────────────────────────────────────────────────────

  /** Sends a call. What the transport throws, such as a message that cannot be encoded, goes to the caller. */
  request(to: Pid, request: Request): void {
    const { calls } = this.#tablesOf(to.node.id);
    const end = this.#callerEnd(request, calls);
    end.callee = to;
    const { owner, message } = request;
    const from = owner === undefined ? undefined : this.#port.address(owner.pid);
    const signal: CallSignal = {
      type: "call",
      from,
      to: this.#port.address(to),
      replyTo: replyAddress(request),
      message,
    };
    try {
      if (this.#port.emit(to.node, signal)) return;
    } catch (error) {
      calls.delete(end.ref);
      throw error;
    }
    calls.delete(end.ref);
    this.#kernel.deadLetter(to, message, "noconnection");
    request.calleeExited(NOCONNECTION);
  }

  /** Puts a call into a table. Its reply address may have travelled before. */
  #callerEnd(request: Request, table: Map<number, Request>): CallerEnd {
    const before = request.away;
    const end =
      before instanceof CallerEnd ? before : new CallerEnd(this, this.#kernel.links.number(), table);
    if (end === before) {
      end.table.delete(end.ref);
      end.table = table;
    } else request.away = end;
    if (request.open) table.set(end.ref, request);
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
    const calls = this.#tables.get(from.node.id)?.calls;
    const request = calls?.get(ref);
    // The callee's node knows the end of the call, and needs no `cancel`.
    if (request !== undefined) calls?.delete(ref);
    const answered = request ?? this.#callOf(ref);
    if (answered?.owner !== undefined) this.#port.catchUp(answered.owner);
    if (answered !== undefined) settle(answered, outcome);
    else if ("ok" in outcome) this.#discard(from, outcome);
  }

  #callOf(ref: number): Request | undefined {
    for (const { calls } of this.#tables.values()) {
      const request = calls.get(ref);
      if (request !== undefined) return request;
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

  /** A call has come. */
  called(signal: CallSignal): void {
    const request = this.#arriving(signal);
    if (request === undefined) return;
    const kernel = this.#kernel;
    const to = this.#port.pid(signal.to);
    kernel.shared?.process(to, "read");
    const end = request.away as AnswerEnd;
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
    this.#tablesOf(end.address.node.id).requests.set(end.address.ref, request);
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
  #arriving({ replyTo }: CallSignal): Request | undefined {
    const request = requestAt("signal.replyTo", replyTo);
    const { away } = request;
    if (away === undefined || away.address.node.id === this.node.id)
      throw new OptionError("signal.replyTo", replyTo, "a reply address of another node");
    if (away instanceof AnswerEnd && away.calls === this)
      return request.callee === undefined && request.open ? request : undefined;
    const made = this.adopt(new Request(), away.address);
    if (request.isKept) endWith(made, request);
    return made;
  }

  /** The caller has given up. */
  cancelled({ node, ref }: ReplyAddress): void {
    this.#tables.get(node.id)?.requests.get(ref)?.fail(undefined, "caller-exited");
  }

  /** A request of another node has ended here. */
  answered(request: Request, end: AnswerEnd, outcome: ReplyOutcome | undefined): void {
    const { node, ref } = end.address;
    const requests = this.#tables.get(node.id)?.requests;
    if (requests?.get(ref) === request) requests.delete(ref);
    if (outcome === undefined) return;
    const from = this.#port.address(end.callee ?? this.#kernel.outside);
    this.#port.emit(node, { type: "reply", from, to: end.address, outcome });
  }

  /** Makes a fresh request answer at an address of another node. */
  adopt<T extends Request>(request: T, address: ReplyAddress): T {
    request.kernel = this.#kernel;
    this.#kernel.shared?.created(request);
    request.away = new AnswerEnd(this, { node: this.#port.node(address.node), ref: address.ref });
    return request;
  }

  /** The caller of a request, once its call has come. */
  callerOf({ from }: AnswerEnd): Pid | undefined {
    return from && this.#port.pid(from);
  }

  // ── addresses ─────────────────────────────────────────────────────────────────────────────────────────────────

  replyAddress(replyTo: ReplyTo<never>): ReplyAddress {
    const request = requestAt("replyTo", replyTo);
    return (request.away ?? this.#callerEnd(request, this.#tablesOf(this.node.id).calls)).address;
  }

  replyAt(address: ReplyAddress): ReplyTo<unknown> {
    const { node, ref } = address;
    if (node.id !== this.node.id) {
      const known = this.#tables.get(node.id)?.requests.get(ref);
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
    const tables = this.#tables.get(id);
    this.#tables.delete(id);
    return new LostCalls(tables?.calls ?? new Map(), tables?.requests ?? new Map());
  }

  /** Ends the lost calls that a process has made or has to answer. */
  endOf(process: Process, { calls, requests }: LostCalls): void {
    for (const wait of members(process.rare?.waits)) {
      if (wait instanceof Request && wait.away instanceof CallerEnd && wait.away.table === calls)
        loseCall(calls, wait.away.ref, wait);
    }
    for (let request = process.requests; request !== undefined; ) {
      const { next, away } = request;
      if (away instanceof AnswerEnd && requests.get(away.address.ref) === request)
        loseRequest(requests, away.address.ref, request);
      request = next;
    }
  }

  /** The system has stopped: nothing answers its calls any more. */
  abandon(error: Error): void {
    for (const { calls } of this.#tables.values())
      for (const request of [...calls.values()]) request.abandon(error);
  }
}

/** The calls of a connection that is lost: those made here end with `noconnection`, those made there are withdrawn. */
export class LostCalls {
  readonly calls: Map<number, Request>;
  readonly requests: Map<number, Request>;

  constructor(calls: Map<number, Request>, requests: Map<number, Request>) {
    this.calls = calls;
    this.requests = requests;
  }

  /** Ends one of them. False when there are none left. */
  endNext(): boolean {
    for (const [ref, request] of this.calls) {
      loseCall(this.calls, ref, request);
      return true;
    }
    for (const [ref, request] of this.requests) {
      loseRequest(this.requests, ref, request);
      return true;
    }
    return false;
  }
}

function loseCall(calls: Map<number, Request>, ref: number, request: Request): void {
  // Not in its table any more, the call sends no `cancel` as it ends.
  calls.delete(ref);
  request.calleeExited(NOCONNECTION);
}

function loseRequest(requests: Map<number, Request>, ref: number, request: Request): void {
  requests.delete(ref);
  request.fail(undefined, "caller-exited");
}

/** The far end of a call that was made here, and whose reply address is known to other nodes. */
class CallerEnd implements FarEnd {
  readonly caller: undefined = undefined;
  readonly ref: number;
  /** Where the call is while it is open. */
  table: Map<number, Request>;
  /** The process of another node that was called. */
  callee: Pid | undefined = undefined;
  readonly #calls: RemoteCalls;

  constructor(calls: RemoteCalls, ref: number, table: Map<number, Request>) {
    this.#calls = calls;
    this.ref = ref;
    this.table = table;
  }

  get address(): ReplyAddress {
    return { node: this.#calls.node, ref: this.ref };
  }

  closed(request: Request): void {
    const { callee } = this;
    if (this.table.delete(this.ref) && callee !== undefined && !request.isKept)
      this.#calls.cancel(callee, this.ref);
  }
}

/** The far end of a request that answers a call of another node. */
class AnswerEnd implements FarEnd {
  readonly calls: RemoteCalls;
  readonly address: ReplyAddress;
  callee: Pid | undefined = undefined;
  from: PidAddress | undefined = undefined;

  constructor(calls: RemoteCalls, address: ReplyAddress) {
    this.calls = calls;
    this.address = address;
  }

  get caller(): Pid | undefined {
    return this.calls.callerOf(this);
  }

  closed(request: Request, outcome: CallOutcome, value: unknown): void {
    this.calls.answered(request, this, replyOf(outcome, value));
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

// Signals between two nodes as text. The text of a signal is a JSON array: a number for its type, its addresses, and a value if it has
// one. So the texts of a frame, joined by commas between brackets, are parsed at once.
//
//     [0, to, value…]                     message
//     [1, from, to]                       link
//     [2, from, to, id]                   unlink; 3: unlinked
//     [4, from, to, source, reason…]      exit
//     [5, from, to, ref]                  monitor; 6: demonitor
//     [7, from, to, ref, reason…]         down
//     [8, from or null, to, ref, value…]  call
//     [9, from, ref, outcome, value…]     reply
//     [10, to, ref]                       cancel
//     [11, trace, …]                      a message or a call whose own span is `trace`
//     [12, trace, …]                      a message or a call of a sender whose span is `trace`
//
// `from` and `to` are numbers of processes: `from` lives on the node that sends, `to` on the one that receives. A value is its JSON,
// followed by the number of its form unless it is plain (values.ts). A message of a behaviour has two more parts, the name of its class and
// a text; and a third one, its reply address, if it is a call that somebody passes on. A value that is plain but for pids has a list of their
// places behind the number of its form (placed.ts). A trace goes only to nodes that are known to read it. A trace that cannot be read
// is ignored, as HTTP servers do.

import type { ErrorClass } from "../../host/payload/error-record.js";
import { UnstorableValueError } from "../../host/payload/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { count } from "../../process/options.js";
import type { RemoteNode } from "../../process/pid.js";
import type { ExitReason } from "../../process/reason.js";
import { Request, replyAddress, requestOf } from "../../process/request.js";
import { show } from "../../process/show.js";
import type { PidAddress, ReplyAddress, ReplyOutcome, WireSignal } from "../../process/wire-signal.js";
import { traceText, type WireTrace, withTrace } from "../../process/wire-trace.js";
import { Addresses, idOf } from "./addresses.js";
import { FrameError, SignalTooLargeError, UnsendableError } from "./errors.js";
import { CODEC_DEFAULTS } from "./limits.js";
import { PLACED } from "./placed.js";
import { describeError, describeReason, readReason, wireReason } from "./reasons.js";
import { knownClasses, WireValues } from "./values.js";
import { areCalls, wireMessageNamed, wireMessageOf } from "./wire-messages.js";

/** Options of a codec. */
export interface SignalCodecOptions {
  /** Your classes of errors. Errors of other classes arrive as `Error`, with the name of their class. Default none. */
  readonly errors?: readonly ErrorClass[] | undefined;
  /** The largest message, call or reply, in bytes as it is sent. Default 16 MiB. */
  readonly maxBytes?: number | undefined;
}

const MESSAGE = 0;
const LINK = 1;
const UNLINK = 2;
const UNLINKED = 3;
const EXIT = 4;
const MONITOR = 5;
const DEMONITOR = 6;
const DOWN = 7;
const CALL = 8;
const REPLY = 9;
const CANCEL = 10;
const OF_SPAN = 11;
const WITHIN_SPAN = 12;

/** The capability of a node that reads traces. */
export const TRACES = "signalbox.traces";

/** The outcomes of a call. */
const VALUE = 0;
const ERROR = 1;
const EXITED = 2;
const EXITED_UNTAKEN = 3;

/** Most bytes of one character of a text. */
const MOST_BYTES = 3;

/**
 * Checks the options of codecs.
 *
 * @throws OptionError
 */
export function checkCodec(path: string, options: SignalCodecOptions): SignalCodecOptions {
  const prefix = path === "" ? "" : `${path}.`;
  only(path, options, ["errors", "maxBytes"]);
  if (options.maxBytes !== undefined) count(`${prefix}maxBytes`, options.maxBytes, 1);
  knownClasses(options.errors ?? [], `${prefix}errors`);
  return options;
}

const CHANGES = "a value that changes while it is read";
const COPY = "send a copy";

/** Encodes the signals of one node for another one, and decodes those that the other one sends. */
export class SignalCodec {
  /** The other node reads the traces of messages and calls. */
  #carriesTraces = false;
  readonly #kernel: Kernel;
  readonly #here: RemoteNode;
  readonly #peer: RemoteNode;
  readonly #addresses: Addresses;
  readonly #replies: ReturnType<Addresses["replies"]>;
  readonly #values: WireValues;
  readonly #maxBytes: number;

  /** @throws OptionError */
  constructor(kernel: Kernel, peer: RemoteNode, options: SignalCodecOptions = {}) {
    checkCodec("", options);
    this.#kernel = kernel;
    this.#here = kernel.node;
    this.#peer = peer;
    this.#addresses = new Addresses(kernel, peer);
    this.#replies = this.#addresses.replies();
    this.#values = new WireValues(options.errors ?? [], {
      Pid: this.#addresses.pids,
      ReplyTo: this.#replies,
    });
    this.#maxBytes = options.maxBytes ?? CODEC_DEFAULTS.maxBytes;
  }

  /** The capabilities that both nodes have. */
  agreed(capabilities: readonly string[]): void {
    this.#carriesTraces = capabilities.includes(TRACES);
  }

  // ── out ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * The text of a signal. Only messages, calls and replies can be refused. Their sender gets the error, and can send another value.
   *
   * @throws UnsendableError, SignalTooLargeError
   */
  encode(signal: WireSignal): string {
    switch (signal.type) {
      case "message":
        return `${this.#start(signal.trace)}${MESSAGE},${signal.to.id},${this.#message(signal.message)}]`;
      case "call": {
        const { from, to, replyTo, message, trace } = signal;
        const call = requestOf(replyTo);
        const { ref } = call.away ?? this.#kernel.remote.replyAddress(replyTo);
        return `${this.#start(trace)}${CALL},${from?.id ?? null},${to.id},${ref},${this.#message(message, call)}]`;
      }
      case "reply":
        return `[${REPLY},${signal.from.id},${signal.to.ref},${this.#outcome(signal.outcome)}]`;
      case "cancel":
        return `[${CANCEL},${signal.to.id},${signal.replyTo.ref}]`;
      case "link":
        return `[${LINK},${ends(signal)}]`;
      case "unlink":
        return `[${UNLINK},${ends(signal)},${signal.id}]`;
      case "unlinked":
        return `[${UNLINKED},${ends(signal)},${signal.id}]`;
      case "exit":
        return `[${EXIT},${ends(signal)},"${signal.source}",${this.#reason(signal.reason)}]`;
      case "monitor":
        return `[${MONITOR},${ends(signal)},${signal.ref}]`;
      case "demonitor":
        return `[${DEMONITOR},${ends(signal)},${signal.ref}]`;
      case "down":
        return `[${DOWN},${ends(signal)},${signal.ref},${this.#reason(signal.reason)}]`;
      default:
        return signal satisfies never;
    }
  }

  /** How the text of a signal begins that may have a trace. */
  #start(trace: WireTrace | undefined): string {
    if (trace === undefined || !this.#carriesTraces || traceText(trace.text) === undefined) return "[";
    return `[${trace.isOwn ? OF_SPAN : WITHIN_SPAN},${JSON.stringify(trace.text)},`;
  }

  /** @param call - the call that the message belongs to */
  #message(message: unknown, call?: Request): string {
    const form = typeof message === "object" && message !== null ? wireMessageOf(message) : undefined;
    if (form === undefined) return this.#sendable("message", message, false, call);
    const head: unknown = form.head(message as object);
    if (typeof head !== "string") throw new UnsendableError(`${form.root}.type`, show(head), "use a text");
    const text = this.#sendable(form.root, form.value(message as object), true);
    const named = `${text},${JSON.stringify(form.name)},${JSON.stringify(head)}`;
    if (!areCalls(form) || message === call) return named;
    return `${named},${JSON.stringify(this.#addresses.replyWord(message as Request))}`;
  }

  #outcome(outcome: ReplyOutcome): string {
    if ("exited" in outcome)
      return `${outcome.isUntaken ? EXITED_UNTAKEN : EXITED},${this.#reason(outcome.exited)}`;
    if (outcome.ok) return `${VALUE},${this.#sendable("reply", outcome.value)}`;
    return `${ERROR},${this.#always(
      () => outcome.error,
      () => describeError(outcome.error),
    )}`;
  }

  /** The value of a message, call or reply, which may be refused. @throws UnsendableError, SignalTooLargeError */
  #sendable(root: string, value: unknown, isMarked = false, call?: Request): string {
    const text = this.#text(root, value, isMarked, call);
    // Counting the bytes of each text would cost more than writing it.
    const bytes = text.length * MOST_BYTES <= this.#maxBytes ? 0 : Buffer.byteLength(text);
    if (bytes > this.#maxBytes) throw new SignalTooLargeError(root, bytes, this.#maxBytes);
    return text;
  }

  #text(root: string, value: unknown, isMarked: boolean, call: Request | undefined): string {
    try {
      return isMarked ? this.#values.marked(value) : this.#values.text(value, call);
    } catch (error) {
      // The text would be longer than V8 allows.
      if (error instanceof RangeError)
        throw new SignalTooLargeError(root, Number.POSITIVE_INFINITY, this.#maxBytes);
      const { path, found, advice, cause } =
        error instanceof UnstorableValueError
          ? error
          : new UnstorableValueError("", CHANGES, COPY, { cause: error });
      throw new UnsendableError(`${root}${path}`, found, advice, cause === undefined ? {} : { cause });
    }
  }

  #reason(reason: ExitReason): string {
    return this.#always(
      () => wireReason(reason),
      () => describeReason(reason),
    );
  }

  /** The reason of an exit or a refusal. Its signal must always go out, so a value that cannot be sent becomes a description. */
  #always(value: () => unknown, describe: () => unknown): string {
    try {
      return this.#sendable("reason", value());
    } catch {
      return this.#values.text(describe());
    }
  }

  // ── in ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The signal of a text. @throws FrameError */
  decode(text: string): WireSignal {
    try {
      return this.#read(JSON.parse(text));
    } catch (error) {
      throw new FrameError(this.#peer.name, error);
    }
  }

  /** The signals of a frame: texts, joined by commas, between brackets. @throws FrameError */
  decodeAll(frame: string): WireSignal[] {
    try {
      const parsed: unknown = JSON.parse(frame);
      if (!Array.isArray(parsed)) throw new TypeError("a frame that is no list");
      return parsed.map((one) => this.#read(one));
    } catch (error) {
      throw new FrameError(this.#peer.name, error);
    }
  }

  /** @throws Error */
  #read(parsed: unknown): WireSignal {
    if (!Array.isArray(parsed)) throw new TypeError("a signal that is no list");
    const parts = parsed as readonly unknown[];
    switch (parts[0]) {
      case MESSAGE:
        return { type: "message", to: this.#to(parts[1]), message: this.#messageIn(parts, 2) };
      case CALL:
        return this.#call(parts);
      case REPLY:
        return {
          type: "reply",
          from: this.#from(parts[1]),
          to: { node: this.#here, ref: idOf(parts[2]) },
          outcome: this.#outcomeIn(parts),
        };
      case CANCEL:
        if (parts.length !== 3) throw new TypeError("a signal with too many parts or too few");
        return { type: "cancel", to: this.#to(parts[1]), replyTo: this.#replyTo(parts[2]) };
      case LINK:
        return { type: "link", ...this.#ends(parts, 3) };
      case UNLINK:
      case UNLINKED:
        return {
          type: parts[0] === UNLINK ? "unlink" : "unlinked",
          ...this.#ends(parts, 4),
          id: idOf(parts[3]),
        };
      case EXIT: {
        const source = parts[3];
        if (source !== "link" && source !== "exit") throw new TypeError("an exit without a source");
        return { type: "exit", ...this.#ends(parts), source, reason: this.#reasonIn(parts, 4) };
      }
      case MONITOR:
      case DEMONITOR:
        return {
          type: parts[0] === MONITOR ? "monitor" : "demonitor",
          ...this.#ends(parts, 4),
          ref: idOf(parts[3]),
        };
      case DOWN:
        return {
          type: "down",
          ...this.#ends(parts),
          ref: idOf(parts[3]),
          reason: this.#reasonIn(parts, 4),
        };
      case OF_SPAN:
      case WITHIN_SPAN:
        return this.#traced(parts);
      default:
        throw new TypeError("a type of signals that is not known");
    }
  }

  #traced([type, given, ...parts]: readonly unknown[]): WireSignal {
    if (parts[0] !== MESSAGE && parts[0] !== CALL)
      throw new TypeError("a trace of a signal that is neither a message nor a call");
    const text = traceText(given);
    return withTrace(this.#read(parts), text === undefined ? undefined : { text, isOwn: type === OF_SPAN });
  }

  #call(parts: readonly unknown[]): WireSignal {
    const from = parts[1] === null ? undefined : this.#from(parts[1]);
    const to = this.#to(parts[2]);
    const address = this.#replyTo(parts[3]);
    const form = parts.length === 8 ? wireMessageNamed(parts[6]) : undefined;
    if (form !== undefined && areCalls(form)) {
      const message = this.#kernel.remote.adopt(this.#made(parts, 4) as Request, address);
      return { type: "call", from, to, replyTo: replyAddress(message), message };
    }
    const call = this.#kernel.remote.adopt(new Request(), address);
    this.#replies.call = call;
    try {
      const message = this.#messageIn(parts, 4, call);
      return { type: "call", from, to, replyTo: replyAddress(call), message };
    } finally {
      this.#replies.call = undefined;
    }
  }

  #outcomeIn(parts: readonly unknown[]): ReplyOutcome {
    switch (parts[3]) {
      case VALUE:
        return { ok: true, value: this.#valueIn(parts, 4) };
      case ERROR:
        return { ok: false, error: this.#valueIn(parts, 4) };
      case EXITED:
      case EXITED_UNTAKEN:
        return { exited: this.#reasonIn(parts, 4), isUntaken: parts[3] === EXITED_UNTAKEN };
      default:
        throw new TypeError("an outcome of a call that is not known");
    }
  }

  #from(id: unknown): PidAddress {
    return { node: this.#peer, id: idOf(id) };
  }

  /** A call that the other node made. */
  #replyTo(ref: unknown): ReplyAddress {
    return { node: this.#peer, ref: idOf(ref) };
  }

  #to(id: unknown): PidAddress {
    return { node: this.#here, id: idOf(id) };
  }

  /** @param length - how many parts the signal has, if it has no value */
  #ends(parts: readonly unknown[], length = parts.length): { from: PidAddress; to: PidAddress } {
    if (parts.length !== length) throw new TypeError("a signal with too many parts or too few");
    return { from: this.#from(parts[1]), to: this.#to(parts[2]) };
  }

  /** The value that begins at a part, and ends the signal. */
  #valueIn(parts: readonly unknown[], at: number, call?: Request): unknown {
    const most = parts[at + 1] === PLACED ? at + 3 : at + 2;
    if (parts.length <= at || parts.length > most) throw new TypeError("a signal without its value");
    return this.#values.read(parts, at, call);
  }

  #messageIn(parts: readonly unknown[], at: number, call?: Request): unknown {
    if (parts.length < at + 4) return this.#valueIn(parts, at, call);
    const message = this.#made(parts, at);
    const isCall = message instanceof Request;
    if (parts.length !== at + (isCall ? 5 : 4))
      throw new TypeError("a message with too many parts or too few");
    return isCall ? this.#passedOn(message, this.#addresses.reply(parts[at + 4])) : message;
  }

  /** A message of a class of the library. */
  #made(parts: readonly unknown[], at: number): object {
    const head = parts[at + 3];
    if (typeof head !== "string") throw new TypeError("a message without its name");
    return wireMessageNamed(parts[at + 2]).make(head, this.#values.read(parts, at));
  }

  /** A call that a third process passes on. It is to be answered here, or has come back to the node that made it. */
  #passedOn(message: Request, address: ReplyAddress): Request {
    if (address.node.id !== this.#here.id) return this.#kernel.remote.adopt(message, address);
    const made = requestOf(this.#kernel.remote.replyAt(address));
    if (made.constructor === message.constructor) return made;
    // The call has ended meanwhile. Nobody handles it, and an answer would be a late reply.
    message.kernel = this.#kernel;
    message.fail(undefined, "caller-exited");
    return message;
  }

  #reasonIn(parts: readonly unknown[], at: number): ExitReason {
    return readReason(this.#valueIn(parts, at));
  }
}

function ends({ from, to }: { readonly from: PidAddress; readonly to: PidAddress }): string {
  return `${from.id},${to.id}`;
}

// Signals between two nodes as text. The text of a signal is a JSON array: a number for its type, its addresses, and a value if it has
// one. So the texts of a frame, joined by commas between brackets, are parsed at once.
//
//     [0, to, value…]                     message
//     [1, from, to]                       link
//     [2, from, to, id]                   unlink; 3: unlinked
//     [4, from, to, source, reason…]      exit
//     [5, from, to, ref]                  monitor; 6: demonitor
//     [7, from, to, ref, reason…]         down
//
// `from` and `to` are numbers of processes: `from` lives on the node that sends, `to` on the one that receives. A value is its JSON,
// followed by the number of its form unless it is plain (values.ts), and for a message of a behaviour by the name of its class and a text.

import type { ErrorClass } from "../../host/payload/error-record.js";
import { UnstorableValueError } from "../../host/payload/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { count } from "../../process/options.js";
import type { RemoteNode } from "../../process/pid.js";
import type { ExitReason } from "../../process/reason.js";
import type { PidAddress, WireSignal } from "../../process/remote.js";
import { Addresses, idOf } from "./addresses.js";
import { FrameError, SignalTooLargeError, UnsendableError } from "./errors.js";
import { CODEC_DEFAULTS } from "./limits.js";
import { describeReason, readReason, wireReason } from "./reasons.js";
import { WireValues } from "./values.js";
import { type WireMessage, wireMessageNamed, wireMessageOf } from "./wire-messages.js";

/** Options of a codec. */
export interface SignalCodecOptions {
  /** Classes of errors of yours. Errors of other classes arrive as `Error`, with the name of their class. Default none. */
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

/** Most bytes of one character of a text. */
const MOST_BYTES = 3;

/** Encodes the signals of one node for another one, and decodes those that the other one sends. */
export class SignalCodec {
  readonly #here: RemoteNode;
  readonly #peer: RemoteNode;
  readonly #values: WireValues;
  readonly #maxBytes: number;

  /** @throws OptionError */
  constructor(kernel: Kernel, peer: RemoteNode, options: SignalCodecOptions = {}) {
    only("", options, ["errors", "maxBytes"]);
    this.#here = kernel.node;
    this.#peer = peer;
    this.#values = new WireValues(options.errors ?? [], { Pid: new Addresses(kernel, peer).pids });
    this.#maxBytes = count("maxBytes", options.maxBytes ?? CODEC_DEFAULTS.maxBytes, 1);
  }

  // ── out ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * The text of a signal. Only a message, which code can send again without what is wrong with it, is ever refused.
   *
   * @throws UnsendableError, SignalTooLargeError
   */
  encode(signal: WireSignal): string {
    switch (signal.type) {
      case "message":
        return `[${MESSAGE},${signal.to.id},${this.#message(signal.message)}]`;
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

  #message(message: unknown): string {
    const form = typeof message === "object" && message !== null ? wireMessageOf(message) : undefined;
    if (form === undefined) return this.#sendable("message", message);
    const text = this.#sendable(form.root, form.value(message as object), true);
    return `${text},${JSON.stringify(form.name)},${JSON.stringify(form.head(message as object))}`;
  }

  /** A value that its sender can give in another form. @throws UnsendableError, SignalTooLargeError */
  #sendable(root: string, value: unknown, isMarked = false): string {
    const text = this.#text(root, value, isMarked);
    // Counting the bytes of each text would cost more than writing it.
    const bytes = text.length * MOST_BYTES <= this.#maxBytes ? 0 : Buffer.byteLength(text);
    if (bytes > this.#maxBytes) throw new SignalTooLargeError(root, bytes, this.#maxBytes);
    return text;
  }

  #text(root: string, value: unknown, isMarked: boolean): string {
    try {
      return isMarked ? this.#values.marked(value) : this.#values.text(value);
    } catch (error) {
      // The only other error is that of a text longer than the longest one.
      if (!(error instanceof UnstorableValueError))
        throw new SignalTooLargeError(root, Number.POSITIVE_INFINITY, this.#maxBytes);
      const { path, found, advice, cause } = error;
      throw new UnsendableError(`${root}${path}`, found, advice, cause === undefined ? {} : { cause });
    }
  }

  /** The exit has happened, and its signal must go out. */
  #reason(reason: ExitReason): string {
    try {
      return this.#sendable("reason", wireReason(reason));
    } catch {
      return this.#values.text(describeReason(reason));
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
      default:
        throw new TypeError("a type of signals that is not known");
    }
  }

  #to(id: unknown): PidAddress {
    return { node: this.#here, id: idOf(id) };
  }

  /** @param length - how many parts the signal has, if it has no value */
  #ends(parts: readonly unknown[], length = parts.length): { from: PidAddress; to: PidAddress } {
    if (parts.length !== length) throw new TypeError("a signal with too many parts or too few");
    return { from: { node: this.#peer, id: idOf(parts[1]) }, to: this.#to(parts[2]) };
  }

  /** The value that begins at a part, and ends the signal. */
  #valueIn(parts: readonly unknown[], at: number): unknown {
    if (parts.length <= at || parts.length > at + 2) throw new TypeError("a signal without its value");
    return this.#values.read(parts[at], parts[at + 1]);
  }

  #messageIn(parts: readonly unknown[], at: number): unknown {
    if (parts.length !== at + 4) return this.#valueIn(parts, at);
    const form = wireMessageNamed(parts[at + 2]);
    const head = parts[at + 3];
    if (typeof head !== "string") throw new TypeError("a message without its name");
    return form.make(head, this.#values.read(parts[at], parts[at + 1]));
  }

  #reasonIn(parts: readonly unknown[], at: number): ExitReason {
    return readReason(this.#valueIn(parts, at));
  }
}

function ends({ from, to }: { readonly from: PidAddress; readonly to: PidAddress }): string {
  return `${from.id},${to.id}`;
}

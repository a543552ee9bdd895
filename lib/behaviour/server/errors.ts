// Errors of servers: an unknown method, and a result of a handler that is not allowed.

import { SignalboxError } from "../../process/errors.js";
import { kindOf } from "../../process/show.js";

/**
 * A server got a call or cast that its definition does not have. The handle probably belongs to another
 * kind of server. A call rejects with this error; a cast is a dead letter that carries it.
 *
 * @remedy Use the handle that `start` or `at` of the right definition returned.
 */
export class UnknownRequestError extends SignalboxError {
  static override readonly name: string = "UnknownRequestError";
  /** Stable across versions: match on this rather than on the text. */
  readonly code = "ERR_UNKNOWN_REQUEST";
  /** The library creates these errors. */
  constructor(kind: string, method: string, known: readonly string[]) {
    super(`this server has no ${kind} "${method}"; it has ${known.length === 0 ? "none" : known.join(", ")}`);
  }
}

/**
 * A handler of a server returned, or threw, a result that only another kind of handler may return: a reply
 * from a cast, for example. The server crashes with this error, as a gen_server does with `bad_return_value`.
 *
 * @remedy Return what the message allows: `reply`, `defer`, `refuse` and `replyAndStop` from a call, `ready`
 * from `init`, and `noReply` or `stop` from any other handler. `idleMs` needs the handler `idle`.
 */
export class BadReturnError extends SignalboxError {
  static override readonly name: string = "BadReturnError";
  readonly code = "ERR_BAD_RETURN";
  /** The handler, such as `casts.restock`. */
  readonly handler: string;
  /** The value that it returned. */
  readonly value: unknown;
  /** The library creates these errors. */
  constructor(handler: string, value: unknown, allowed: string) {
    super(`${handler} returned ${kindOf(value)}; it may return ${allowed}`);
    this.handler = handler;
    this.value = value;
  }
}

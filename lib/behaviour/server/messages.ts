// The messages in a server's mailbox: calls, casts and the request to stop.

import { anError } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import type { ExitReason } from "../../process/reason.js";
import { Request } from "../../process/request.js";
import { Cast } from "../handle/methods.js";
import type { Caller } from "./replies.js";

/** A call as the server receives it: the request itself is the message. */
export class CallMessage extends Request {
  /** A handler has taken its caller, or put the answer off: others may answer. Circles of calls do not count on it. */
  isPassedOn = false;
  readonly method: string;
  readonly args: readonly unknown[];
  constructor(method: string, args: readonly unknown[]) {
    super();
    this.method = method;
    this.args = args;
    this.message = this;
  }
}

/** A cast as the server receives it. */
export class CastMessage extends Cast {
  readonly method: string;
  readonly args: readonly unknown[];
  constructor(method: string, args: readonly unknown[]) {
    super();
    this.method = method;
    this.args = args;
  }
}

/** The request of a handle to stop the server. */
export class StopMessage {
  readonly reason: ExitReason;
  constructor(reason: ExitReason) {
    this.reason = reason;
  }
}

/** The server's end of a call. */
export class OpenCall implements Caller<unknown> {
  readonly #call: CallMessage;
  constructor(call: CallMessage) {
    this.#call = call;
    call.isPassedOn = true;
  }
  get pid(): Pid | undefined {
    return this.#call.caller;
  }
  get open(): boolean {
    return this.#call.open;
  }
  reply(value: unknown): void {
    this.#call.answer(value);
  }
  refuse(error: Error): void {
    anError("error", error);
    this.#call.refuse(error);
  }
}

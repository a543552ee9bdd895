// The errors with which an observer answers a request.

import { SignalboxError } from "../../process/errors.js";

/**
 * A request to an observer was refused before anything was done for it: its host, its origin, its token, its type or its length is wrong.
 *
 * @remedy The message says which. Open the address that the observer has printed, or list the host in the option `hosts`.
 */
export class ObserverRefusedError extends SignalboxError {
  static override readonly name: string = "ObserverRefusedError";
  readonly code = "ERR_OBSERVER_REFUSED";
}

/**
 * A request to an observer is malformed: no JSON, or not what the path takes. Or its body was read before the observer got it.
 *
 * @remedy Reload the page: it may be that of another version of signalbox. Mount `observerHandler` before what parses bodies.
 */
export class ObserverRequestError extends SignalboxError {
  static override readonly name: string = "ObserverRequestError";
  readonly code = "ERR_OBSERVER_REQUEST";
}

/**
 * An operation that changes something was asked for at an observer that only shows.
 *
 * @remedy Start the observer with `actions: true`, or use the command `signalbox`.
 */
export class ObserverReadOnlyError extends SignalboxError {
  static override readonly name: string = "ObserverReadOnlyError";
  readonly code = "ERR_OBSERVER_READ_ONLY";
  /** The operation. */
  readonly operation: string;
  constructor(operation: string) {
    super(`${operation} changes something, and this observer only shows: start it with actions: true`);
    this.operation = operation;
  }
}

/**
 * An observer has as many viewers, views or requests as it may have, or is being restarted.
 *
 * @remedy Close other pages of the observer, and try again.
 */
export class ObserverBusyError extends SignalboxError {
  static override readonly name: string = "ObserverBusyError";
  readonly code = "ERR_OBSERVER_BUSY";
}

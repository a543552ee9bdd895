// The handle of a state machine, with its calls and casts as methods.

import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import { type ExitInput, toReason } from "../../process/reason.js";
import {
  askMethods,
  type CallerOptions,
  callMethods,
  castMethods,
  checkCaller,
  type Methods,
  OptionedMethods,
  pidOf,
  sendCast,
  type Target,
  tellToStop,
} from "../handle/methods.js";
import { CallEvent, CastEvent, StopMachine } from "./machine-process.js";
import type { TypedEvent } from "./moves.js";
import { checkEvent } from "./moves.js";
import type { MachineAsks, MachineCalls, MachineCasts, Sendable } from "./types.js";

/** The methods of the handles of one definition. */
export function methodsOf(types: readonly string[]): Methods {
  return {
    calls: callMethods(
      types,
      (type, go) =>
        function (this: never, payload?: object) {
          return go(this, new CallEvent({ ...payload, type }));
        },
    ),
    casts: castMethods(types, (type, go) => {
      const bare: TypedEvent = Object.freeze({ type });
      return function (this: never, payload?: object) {
        go(this, new CastEvent(payload === undefined ? bare : { ...payload, type }));
      };
    }),
    asks: askMethods(types, (type, [payload]) => new CallEvent({ ...(payload as object | undefined), type })),
  };
}

/** The calls and casts of a machine, with options. See {@link StateMachineRef.with}. */
export interface MachineCaller<V extends TypedEvent> {
  /** The calls of the machine, made with these options. */
  readonly call: MachineCalls<V>;
  /** The casts of the machine, made on behalf of `from` if given. */
  readonly cast: MachineCasts<V>;
  /** Sends an event, on behalf of `from` if given. */
  send(event: Sendable<V>): void;
}

/** The same on behalf of a process. See {@link StateMachineRef.with}. */
export interface MachineAsker<V extends TypedEvent> extends MachineCaller<V> {
  /**
   * The calls of the machine with a callback as their last argument, for a process made from callbacks. The process goes on, and
   * gets the reply between two of its messages, exactly once unless it exits first. It takes a fraction of an awaited call's time.
   */
  readonly ask: MachineAsks<V>;
}

class OptionedMachine<V extends TypedEvent> extends OptionedMethods<
  MachineCalls<V>,
  MachineCasts<V>,
  MachineAsks<V>
> {
  readonly send: (event: Sendable<V>) => void;
  constructor(kernel: Kernel, to: Target, methods: Methods, options: CallerOptions) {
    super(kernel, to, methods, options);
    this.send = (event) => sendCast(kernel, to, options.from, new CastEvent(checkEvent(event)));
  }
}

/** A running state machine, by pid or by name. */
export class StateMachineRef<V extends TypedEvent> {
  /**
   * The calls of the machine as methods: `await payment.call.pay({ card })`. A call rejects with CallTimeoutError after 5,000 ms,
   * with CalleeExitedError when the machine exits first, and with the error of a refusal.
   */
  readonly call: MachineCalls<V>;
  /** The casts of the machine as methods: `payment.cast.cancel()`. A cast to a machine that has exited is a dead letter. */
  readonly cast: MachineCasts<V>;
  readonly #address: Target;
  readonly #kernel: Kernel;
  readonly #methods: Methods;

  /** @internal */
  constructor(address: Target, kernel: Kernel, methods: Methods) {
    this.#address = address;
    this.#kernel = kernel;
    this.#methods = methods;
    this.call = methods.calls(kernel, address, undefined) as MachineCalls<V>;
    this.cast = methods.casts(kernel, address, undefined) as MachineCasts<V>;
  }

  /**
   * The pid of the machine. For a handle by name: of the process that has the name now.
   *
   * @throws NoProcessError when no process has it
   */
  get pid(): Pid<never> {
    return pidOf(this.#kernel, this.#address);
  }

  /** Sends an event that is no call, as a whole: `payment.send({ type: "cancel" })`. Does the same as the methods of `cast`. */
  send(event: Sendable<V>): void {
    sendCast(this.#kernel, this.#address, undefined, new CastEvent(checkEvent(event)));
  }

  /**
   * The same calls and casts with another timeout, with an AbortSignal, or on behalf of a process. The result can be kept and used
   * for many calls. With `from` it also has `ask`: calls that are answered by a callback.
   *
   * @throws OptionError
   * @example await payment.with({ timeoutMs: 100, signal }).call.pay({ card });
   */
  with(options: CallerOptions & Required<Pick<CallerOptions, "from">>): MachineAsker<V>;
  with(options: CallerOptions): MachineCaller<V>;
  with(options: CallerOptions): MachineCaller<V> {
    return new OptionedMachine<V>(this.#kernel, this.#address, this.#methods, checkCaller(options));
  }

  /**
   * Tells the machine to stop, with reason `shutdown` unless given. The machine handles the messages that are already in its
   * mailbox, runs its `terminate` and exits; postponed events are not handled. Has no effect when the machine has exited.
   *
   * @throws OptionError when the reason is none
   */
  stop(reason: ExitInput = "shutdown"): void {
    tellToStop(this.#kernel, this.#address, new StopMachine(toReason(reason)));
  }

  /** The pid or the name of the machine. */
  toString(): string {
    return String(this.#address);
  }
}

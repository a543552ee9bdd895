// The calls of handles to their hosts. A handle outlives the process of its host: when that ends, the operation goes on with the next host
// of the same definition, within the caller's own timeout and signal. call-machine.ts decides.

import { checkCallOptions } from "../../process/calls.js";
import { CalleeExitedError, CallTimeoutError, type RequestFate } from "../../process/errors.js";
import { waitForExit } from "../../process/exited.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import { crash, type ExitReason, SHUTDOWN } from "../../process/reason.js";
import type { CallOptions, ReplyTo } from "../../process/request.js";
import { StoreError, type StoreSource } from "../../store/index.js";
import { decide, type HostCall, type HostCallEvent, initial, type Repeat } from "./call-machine.js";
import { HostGoneError, isHostOver } from "./errors.js";
import type { RunningHosts } from "./running-hosts.js";

/** How long a handle waits for the next host at most, in milliseconds. */
const NEXT_HOST_MS = 60_000;
/** How long a store without a server may take, in milliseconds: another program may hold its lock. */
const STORE_MS = 30_000;
/** The time that a host takes beside its store, in milliseconds. */
const HOST_MS = 5_000;

/** A handle's view of its host. */
export interface HandleOf {
  readonly kernel: Kernel;
  readonly address: Pid<never> | string;
  readonly hosts: RunningHosts;
  /** The kind of host, for errors: `flow host`. */
  readonly what: string;
  /** The store that the next host goes on with. Undefined: what this host has ends with it. */
  readonly store: Pick<StoreSource, "unreachableMs"> | undefined;
}

/** The rules for an operation whose host ends. */
export interface CallRules {
  /** Default `always`. */
  readonly repeat?: Repeat;
  /** The error when it is not known whether the operation took place. Default: the error of the last host. */
  readonly unknown?: (cause: unknown) => Error;
  /** It answers with errors of user code: none of them speaks of the host. */
  readonly isUserCode?: boolean;
}

/** Asks a host, or the host after it. */
export type HostCaller<Request> = <R>(
  build: (replyTo: ReplyTo<R>) => Request,
  options?: CallOptions,
  rules?: CallRules,
) => Promise<R>;

export class HostCalls<Request> {
  readonly #of: HandleOf;

  constructor(of: HandleOf) {
    this.#of = of;
  }

  /** @throws OptionError, HostGoneError, CalleeExitedError, CallTimeoutError, what the host answers, and `rules.unknown` */
  readonly call: HostCaller<Request> = (build, given, rules = {}) => {
    checkCallOptions(given);
    const options = { timeoutMs: this.#operationMs(), ...given };
    const { kernel } = this.#of;
    const asked = this.#target();
    const began = options.timeoutMs === Number.POSITIVE_INFINITY ? 0 : kernel.env.now();
    return kernel.calls
      .call(undefined, asked, build, options)
      .catch((error: unknown) => this.#goOn(build, { options, rules, began, asked, error }));
  };

  /** Stops the host of the handle. Fulfilled when it has ended. */
  async stop(): Promise<void> {
    const { kernel, address } = this.#of;
    const pid = typeof address === "string" ? kernel.names.find(address)?.pid : address;
    if (pid === undefined) return;
    const gone = waitForExit(kernel, pid, undefined);
    kernel.links.exit(kernel.outside, pid, SHUTDOWN, "exit");
    await gone;
  }

  /** How long an operation waits for its answer, in milliseconds: longer than its store waits for the server. */
  #operationMs(): number {
    const { kernel, store } = this.#of;
    return store === undefined ? kernel.limits.callTimeoutMs : (store.unreachableMs ?? STORE_MS) + HOST_MS;
  }

  /** The host of the handle while it runs; after it, the newest of its definition. */
  #target(): Pid<never> | string {
    const { kernel, address, hosts } = this.#of;
    if (typeof address === "string")
      return kernel.names.find(address) === undefined ? (hosts.current(kernel) ?? address) : address;
    const isThere = address.node !== kernel.node || address.process !== undefined;
    return isThere && !hosts.isOver(address) ? address : (hosts.current(kernel) ?? address);
  }

  async #goOn<R>(build: (replyTo: ReplyTo<R>) => Request, failed: FailedCall): Promise<R> {
    const { kernel, hosts } = this.#of;
    const { options, rules } = failed;
    let { asked, error } = failed;
    let state = initial(rules.repeat ?? "always");
    let event = this.#eventOf(error, asked, rules);
    for (;;) {
      const [next, [effect]] = decide(state, event);
      state = next;
      switch (effect?.type) {
        case "ask":
          asked = this.#target();
          try {
            return await kernel.calls.call<R>(undefined, asked, build, this.#rest(failed));
          } catch (thrown) {
            error = thrown;
            event = this.#eventOf(thrown, asked, rules);
          }
          break;
        case "wait":
          try {
            const { timeoutMs } = this.#rest(failed);
            const late = (): Error => new CallTimeoutError(String(asked), options.timeoutMs, fateOf(state));
            const wait = { mostMs: NEXT_HOST_MS, timeoutMs, late, signal: options.signal };
            event = { type: await hosts.next(kernel, wait) };
          } catch (thrown) {
            error = thrown;
            event = { type: "abandoned" };
          }
          break;
        case "gone":
          throw this.#told(state, rules, this.#gone(state, error));
        default:
          throw this.#told(state, rules, error);
      }
    }
  }

  /** The rest of the caller's time. */
  #rest({ options, began }: FailedCall): CallOptions & { readonly timeoutMs: number } {
    const { timeoutMs } = options;
    if (timeoutMs === Number.POSITIVE_INFINITY) return options;
    return { ...options, timeoutMs: Math.max(0, timeoutMs - (this.#of.kernel.env.now() - began)) };
  }

  #eventOf(error: unknown, asked: Pid<never> | string, { isUserCode }: CallRules): HostCallEvent {
    const { kernel, hosts, store } = this.#of;
    if (error instanceof CalleeExitedError)
      return {
        type: "exited",
        request: error.request,
        prospect: store === undefined ? "never" : hosts.prospect(kernel),
      };
    if (isUserCode !== true && isHostOver(error) && store !== undefined) {
      // Nothing of the operation was written, and the host is about to end.
      const pid = typeof asked === "string" ? kernel.names.find(asked)?.pid : asked;
      if (pid !== undefined) hosts.over(kernel, pid as Pid<never>, crash(error));
      return { type: "exited", request: "withdrawn", prospect: hosts.prospect(kernel) };
    }
    return { type: "failed" };
  }

  #gone(state: HostCall, error: unknown): unknown {
    const { kernel, hosts, what, store } = this.#of;
    if (store === undefined || !hosts.isKnown(kernel) || kernel.stopped) return error;
    return new HostGoneError(what, reasonOf(error) ?? hosts.reason(kernel), fateOf(state));
  }

  /** Says so when it is not known whether the operation took place. */
  #told({ isTaken }: HostCall, { unknown }: CallRules, error: unknown): unknown {
    return unknown !== undefined && isUnknown(error, isTaken) ? unknown(error) : error;
  }
}

/** A call whose first attempt has failed. */
interface FailedCall {
  readonly options: CallOptions & { readonly timeoutMs: number };
  readonly rules: CallRules;
  readonly began: number;
  readonly asked: Pid<never> | string;
  readonly error: unknown;
}

const fateOf = ({ isTaken }: HostCall): RequestFate => (isTaken ? "taken" : "withdrawn");

function reasonOf(error: unknown): ExitReason | undefined {
  if (isHostOver(error)) return crash(error);
  return error instanceof CalleeExitedError && error.reason.type !== "noproc" ? error.reason : undefined;
}

/**
 * A request that a host had taken, or a commit whose answer was lost. One that was withdrawn never takes place.
 *
 * @param isTaken - a host that has ended since had taken it
 */
function isUnknown(error: unknown, isTaken: boolean): boolean {
  if (
    error instanceof CallTimeoutError ||
    error instanceof CalleeExitedError ||
    error instanceof HostGoneError
  )
    return isTaken || error.request !== "withdrawn";
  return (
    error instanceof StoreError && (isTaken || (error as { readonly known?: unknown }).known === "unknown")
  );
}

// Consumers that do what a test wants of them, and the fate of a dispatch.

import {
  type ConsumerGroup,
  type ConsumerView,
  type Delivery,
  type Envelope,
  type ExitInput,
  type JoinOptions,
  type Pid,
  type RouteContext,
  type System,
  stop,
} from "signalbox";
import { pressureOf } from "../../lib/dispatch/member.js";

/** A consumer that keeps what it is given, until the test settles it. */
export interface Desk<T> {
  readonly pid: Pid<Delivery<T>>;
  readonly deliveries: Delivery<T>[];
  /** The payloads, in order of arrival. */
  readonly payloads: T[];
  /** The delivery it was given last. */
  readonly last: Delivery<T>;
}

export function desk<T>(system: System, group: ConsumerGroup<T>, options?: JoinOptions): Desk<T> {
  const deliveries: Delivery<T>[] = [];
  const pid = system.spawn<Delivery<T>>({ handle: (_ctx, delivery) => void deliveries.push(delivery) });
  group.join(pid, options);
  return {
    pid,
    deliveries,
    get payloads() {
      return deliveries.map((delivery) => delivery.payload);
    },
    get last() {
      const last = deliveries.at(-1);
      if (last === undefined) throw new Error("nothing was delivered");
      return last;
    },
  };
}

/** A consumer that ends with this reason on every envelope. */
export function doomed<T>(
  system: System,
  group: ConsumerGroup<T>,
  id: string,
  reason: ExitInput,
): Pid<Delivery<T>> {
  const pid = system.spawn<Delivery<T>>({ handle: () => stop(reason) });
  group.join(pid, { id });
  return pid;
}

/** How a promise ended, once it has. */
export interface Fate<T> {
  done: boolean;
  value: T | undefined;
  error: unknown;
  /** The `code` of the error. */
  readonly code: unknown;
}

/** Follows a promise, so that a test may look at it without waiting for it. */
export function fate<T>(promise: Promise<T>): Fate<T> {
  const seen: Fate<T> = {
    done: false,
    value: undefined,
    error: undefined,
    get code() {
      return (this.error as { code?: unknown } | undefined)?.code;
    },
  };
  promise.then(
    (value) => {
      seen.done = true;
      seen.value = value;
    },
    (error) => {
      seen.done = true;
      seen.error = error;
    },
  );
  return seen;
}

/** A consumer as a routing function sees it, without a process behind it. */
export function view(
  id: string,
  of: Partial<Omit<ConsumerView, "id" | "pressure" | "pid">> = {},
): ConsumerView {
  const {
    inFlight = 0,
    maxInFlight = 10,
    bufferDepth = 0,
    maxBuffer = 10,
    weight = 1,
    tags = {},
    delivered = 0,
  } = of;
  const pressure = pressureOf(inFlight, maxInFlight, bufferDepth, maxBuffer);
  return {
    id,
    pid: undefined as unknown as Pid,
    inFlight,
    maxInFlight,
    bufferDepth,
    maxBuffer,
    pressure,
    weight,
    tags,
    delivered,
  };
}

export function envelopeOf<T>(payload: T): Envelope<T> {
  return { id: "e", payload, timestamp: 0 };
}

export function context(of: Partial<RouteContext> = {}): RouteContext {
  return { turn: 0, roll: 0, previous: undefined, ...of };
}

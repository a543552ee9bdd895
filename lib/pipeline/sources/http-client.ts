// Requests behind the policies of services: a time limit and retries. Circuit breakers belong to routes.

import type { Backoff } from "../../process/backoff.js";
import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { count } from "../../process/options.js";
import { retryPolicy } from "../../service/protection/retry.js";
import { perKernel } from "../definition/per-kernel.js";
import { exchange, type Fetch, type HttpCall, type HttpReply } from "./http-exchange.js";

/** The defaults of requests over HTTP. */
export const HTTP_DEFAULTS: {
  /** How long one attempt may take, in milliseconds. */
  readonly timeoutMs: number;
  /** How often a request is made, the first time included. */
  readonly attempts: number;
  /** The waits between attempts. */
  readonly backoff: Backoff;
  /** Most bytes of a response's body. */
  readonly maxBytes: number;
  /** The header that has the idempotency key. */
  readonly idempotencyHeader: string;
} = {
  timeoutMs: 10_000,
  attempts: 3,
  backoff: { minMs: 200, maxMs: 10_000, jitter: 0.5 },
  maxBytes: 1_048_576,
  idempotencyHeader: "Idempotency-Key",
};

/** How requests are protected. */
export interface HttpPolicy {
  /** An attempt that takes longer is cancelled, and repeated. Default 10,000. */
  readonly timeoutMs?: number;
  /** How often a request is made at most within one attempt at the message. Default 3. */
  readonly attempts?: number;
  /** The waits between attempts. `Retry-After`, in seconds or as a date, is respected, up to a minute. Default 200 to 10,000 ms. */
  readonly backoff?: Backoff;
  /** Most bytes of a response's body, after it was unpacked. Default 1,048,576. */
  readonly maxBytes?: number;
  /** Makes the requests. Default: the global `fetch`. */
  readonly fetch?: Fetch;
}

/** Names of {@link HttpPolicy}. */
export const HTTP_POLICY: readonly (keyof HttpPolicy)[] = [
  "timeoutMs",
  "attempts",
  "backoff",
  "maxBytes",
  "fetch",
];

/** Makes requests on a system. */
export type HttpClient = (kernel: Kernel, call: HttpCall, signal: AbortSignal) => Promise<HttpReply>;

/** Found at each request: a program may replace it, or a test. */
const usualFetch: Fetch = (url, init) => fetch(url, init);

/** @throws OptionError */
export function httpClient(policy: HttpPolicy, usualBytes: number = HTTP_DEFAULTS.maxBytes): HttpClient {
  const maxBytes = count("maxBytes", policy.maxBytes ?? usualBytes, 1);
  const { fetch: send = usualFetch } = policy;
  if (typeof send !== "function") throw new OptionError("fetch", send, "a function like fetch");
  const retries = retryPolicy({
    timeoutMs: policy.timeoutMs ?? HTTP_DEFAULTS.timeoutMs,
    attempts: policy.attempts ?? HTTP_DEFAULTS.attempts,
    backoff: policy.backoff ?? HTTP_DEFAULTS.backoff,
    retryIf: mayHelp,
  });
  const guardedOf = perKernel((system) => {
    const work = ({ signal }: { readonly signal: AbortSignal }, call: HttpCall): Promise<HttpReply> =>
      exchange(send, call, maxBytes, signal, () => system.kernel.env.wallTime());
    return retries.local(system)(work);
  });
  return (kernel, call, signal) => {
    const headers = { ...kernel.taps?.carrier(), ...call.headers };
    return guardedOf(kernel).with({ signal })({ ...call, headers });
  };
}

function mayHelp(error: unknown): boolean {
  return (error as { readonly retriable?: unknown } | undefined)?.retriable !== false;
}

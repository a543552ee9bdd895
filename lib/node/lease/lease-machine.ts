// A contender for a lease, as a pure state machine: it asks until it holds, renews while it holds, and ends before its lease does.
//
//              refused, failed              its time, less a margin, is over
//            ┌───────────────┐              or its source says so
//            ▼               │                    ┌──────▶ lost ──────┐ vacated
//   waiting ───▶ acquiring ──┴─▶ held ────────────┤                   ▼
//      ▲                                          └─────────────▶ releasing ──▶ stopped
//      └─────────────────────────────────────────── vacated ─────────┘
//
// `now` is the contender's own monotone clock. A lease cannot begin before the contender asked for it. The contender
// counts the time of the lease from that moment, so it ends before the source gives the lease to another one, as long as both clocks run at
// the same rate. Where they do not (a virtual machine that was suspended), writes of the old holder are refused by their token.
//
// Only the compare-and-set of the source decides who holds a lease. A read of the holder decides nothing.

import { type Backoff, backoffMs } from "../../process/backoff.js";

/** The durations that the machine decides by, in milliseconds. */
export interface LeaseTimes {
  /** How long a lease holds without renewal. */
  readonly ttlMs: number;
  /** The time from the request of a renewal to the request of the next one. */
  readonly renewMs: number;
  /** How long a renewal may take. Then another one is requested, and the answer to either counts. */
  readonly answerMs: number;
  /** How long an acquisition or a release may take. Then the request is given up. */
  readonly requestMs: number;
  /** The time from a failed renewal to the request of the next one. */
  readonly retryMs: number;
  /** A lease that is not renewed counts as lost so long before its end. */
  readonly marginMs: number;
  /** How long a contender waits while another one holds the lease. */
  readonly refused: Backoff;
  /** How long a contender waits after its source has failed. */
  readonly failed: Backoff;
}

/** The times of a lease that holds for `ttlMs`. */
export function leaseTimes(ttlMs: number): LeaseTimes {
  const part = (divisor: number): number => Math.ceil(ttlMs / divisor);
  return {
    ttlMs,
    renewMs: part(5),
    answerMs: part(8),
    requestMs: part(2),
    retryMs: part(16),
    marginMs: part(4),
    refused: { minMs: part(8), maxMs: part(8) },
    failed: { minMs: part(16), maxMs: ttlMs },
  };
}

interface Renewal {
  readonly request: number;
  readonly askedAt: number;
}

/** The state of a contender. */
export type LeasePhase =
  | { readonly type: "waiting"; readonly at: number; readonly failures: number }
  | {
      readonly type: "acquiring";
      readonly request: number;
      readonly askedAt: number;
      readonly failures: number;
      /** The lease was given back while this request was in flight, so a refusal may be out of date. */
      readonly isFreed: boolean;
    }
  | {
      readonly type: "held";
      readonly token: number;
      /** When the lease ends, unless it is renewed. */
      readonly until: number;
      readonly renewAt: number;
      /** Renewals without an answer, the oldest first. */
      readonly renewals: readonly Renewal[];
      readonly isStopping: boolean;
    }
  | { readonly type: "lost"; readonly token: number; readonly isStopping: boolean }
  | {
      readonly type: "releasing";
      readonly request: number;
      readonly overdueAt: number;
      readonly isStopping: boolean;
    }
  | { readonly type: "stopped" };

export interface LeaseState {
  readonly times: LeaseTimes;
  readonly phase: LeasePhase;
  /** The number of the next request. */
  readonly next: number;
  /** When the machine wants its next `tick`. */
  readonly wakeAt: number | undefined;
}

/** What happens to a contender, at `now` of its own clock. `roll` is a random number in [0, 1). */
export type LeaseEvent = { readonly now: number; readonly roll: number } & (
  | { readonly type: "start" | "tick" }
  | { readonly type: "acquired"; readonly request: number; readonly token: number }
  /** Another contender holds the lease. */
  | { readonly type: "refused"; readonly request: number }
  | { readonly type: "renewed"; readonly request: number }
  /** This contender no longer holds the lease. */
  | { readonly type: "gone"; readonly token: number }
  | { readonly type: "released"; readonly request: number }
  | { readonly type: "failed"; readonly request: number }
  /** A notice that the lease may be free. The contender asks for the lease; the notice decides nothing. */
  | { readonly type: "freed" }
  /** The process under the lease has ended. */
  | { readonly type: "vacated" }
  /** Gives the lease back and contends no more. */
  | { readonly type: "stop" }
);

/** An effect that the process around the machine carries out. */
export type LeaseEffect =
  | { readonly type: "acquire" | "renew" | "release"; readonly request: number }
  /** The answers to these requests are no longer needed. */
  | { readonly type: "abandon"; readonly requests: readonly number[] }
  /** The acquisition succeeded too late, or after it was given up. The lease goes back. */
  | { readonly type: "give-back"; readonly request: number }
  /** The lease is held: the process under it may start. */
  | { readonly type: "occupy"; readonly token: number }
  /** The process under the lease must end, and `vacated` follows. The lease is held until `until`. `Infinity`: there is no limit. */
  | { readonly type: "vacate"; readonly isLost: boolean; readonly until: number }
  | { readonly type: "wake"; readonly at: number | undefined }
  | { readonly type: "stopped" };

type Decision = readonly [LeaseState, readonly LeaseEffect[]];
type At = Pick<LeaseEvent, "now" | "roll">;
type PhaseOf<T extends LeasePhase["type"]> = Extract<LeasePhase, { readonly type: T }>;

export function initial(times: LeaseTimes): LeaseState {
  return { times, phase: { type: "waiting", at: 0, failures: 0 }, next: 1, wakeAt: undefined };
}

/** Whether a contender may act as the holder at `now` of its own clock. */
export function isHeld({ phase }: LeaseState, now: number): boolean {
  return phase.type === "held" && now < phase.until;
}

export function decide(state: LeaseState, event: LeaseEvent): Decision {
  const [next, effects] = decided(state, event);
  const wakeAt = wakeOf(next);
  if (wakeAt === next.wakeAt) return [next, effects];
  return [{ ...next, wakeAt }, [...effects, { type: "wake", at: wakeAt }]];
}

function decided(state: LeaseState, event: LeaseEvent): Decision {
  const { phase } = state;
  switch (phase.type) {
    case "waiting":
      return waiting(state, phase, event);
    case "acquiring":
      return acquiring(state, phase, event);
    case "held":
      return held(state, phase, event);
    case "lost":
      if (event.type === "vacated") return release(state, phase.isStopping, event);
      if (event.type === "stop") return enter(state, { ...phase, isStopping: true });
      return late(state, event);
    case "releasing":
      return releasing(state, phase, event);
    case "stopped":
      return late(state, event);
    default:
      return phase satisfies never;
  }
}

function waiting(state: LeaseState, phase: PhaseOf<"waiting">, event: LeaseEvent): Decision {
  switch (event.type) {
    case "start":
    case "freed":
      return acquire(state, phase.failures, event);
    case "tick":
      return event.now < phase.at ? [state, []] : acquire(state, phase.failures, event);
    case "stop":
      return enter(state, { type: "stopped" }, { type: "stopped" });
    default:
      return late(state, event);
  }
}

function acquire(state: LeaseState, failures: number, { now }: At): Decision {
  const request = state.next;
  return enter(
    { ...state, next: request + 1 },
    { type: "acquiring", request, askedAt: now, failures, isFreed: false },
    { type: "acquire", request },
  );
}

function acquiring(state: LeaseState, phase: PhaseOf<"acquiring">, event: LeaseEvent): Decision {
  const { times } = state;
  const { request, askedAt, failures } = phase;
  switch (event.type) {
    case "acquired": {
      if (event.request !== request) return late(state, event);
      const until = askedAt + times.ttlMs;
      // The answer took so long that the lease is nearly over: it does not count as acquired.
      if (event.now >= until - times.marginMs) {
        const [next, effects] = wait(state, times.failed, failures + 1, event);
        return [next, [{ type: "give-back", request }, ...effects]];
      }
      const renewAt = Math.max(event.now, askedAt + times.renewMs);
      const { token } = event;
      return enter(
        state,
        { type: "held", token, until, renewAt, renewals: [], isStopping: false },
        { type: "occupy", token },
      );
    }
    case "refused":
      if (event.request !== request) return [state, []];
      return phase.isFreed ? acquire(state, 0, event) : wait(state, times.refused, 0, event);
    case "failed":
      return event.request === request ? wait(state, times.failed, failures + 1, event) : [state, []];
    case "freed":
      return enter(state, { ...phase, isFreed: true });
    case "tick": {
      if (event.now < askedAt + times.requestMs) return [state, []];
      const [next, effects] = wait(state, times.failed, failures + 1, event);
      return [next, [{ type: "abandon", requests: [request] }, ...effects]];
    }
    case "stop":
      return enter(state, { type: "stopped" }, { type: "abandon", requests: [request] }, { type: "stopped" });
    default:
      return late(state, event);
  }
}

function wait(state: LeaseState, backoff: Backoff, failures: number, { now, roll }: At): Decision {
  const at = now + backoffMs(backoff, Math.max(1, failures), roll);
  return enter(state, { type: "waiting", at, failures: backoff === state.times.failed ? failures : 0 });
}

/** The clock decides first: when the lease has expired in a long pause, an answer that waited through the pause does not revive it. */
function held(state: LeaseState, before: PhaseOf<"held">, event: LeaseEvent): Decision {
  const phase = event.type === "renewed" ? renewed(state, before, event.request, event.now) : before;
  const { token, until, renewals } = phase;
  const abandoned = before.renewals.filter((one) => !renewals.includes(one)).map(({ request }) => request);
  const abandon: LeaseEffect[] = abandoned.length === 0 ? [] : [{ type: "abandon", requests: abandoned }];
  if (event.now >= until - state.times.marginMs) return lose({ ...state, phase }, phase, abandon);
  switch (event.type) {
    case "gone":
      return event.token === token ? lose({ ...state, phase }, phase, abandon) : [state, []];
    case "failed": {
      const left = renewals.filter(({ request }) => request !== event.request);
      if (left.length === renewals.length) return [state, []];
      const renewAt = Math.min(phase.renewAt, event.now + state.times.retryMs);
      return enter(state, { ...phase, renewals: left, renewAt: Math.max(event.now, renewAt) });
    }
    case "tick":
      return event.now < phase.renewAt ? [state, []] : renew(state, phase, event.now);
    case "vacated":
      return release(state, phase.isStopping, event, renewals);
    case "stop":
      if (phase.isStopping) return [state, []];
      // Renewals go on, so that the process under the lease has time to end in order.
      return enter(
        state,
        { ...phase, isStopping: true },
        { type: "vacate", isLost: false, until: Number.POSITIVE_INFINITY },
      );
    case "renewed":
      return enter(state, phase, ...abandon);
    default:
      return late(state, event);
  }
}

/** A renewal counts from the moment of its request. Older requests without an answer are no longer needed. */
function renewed(
  { times }: LeaseState,
  phase: PhaseOf<"held">,
  request: number,
  now: number,
): PhaseOf<"held"> {
  const renewal = phase.renewals.find((one) => one.request === request);
  if (renewal === undefined) return phase;
  const renewals = phase.renewals.filter(({ askedAt }) => askedAt > renewal.askedAt);
  return {
    ...phase,
    renewals,
    until: Math.max(phase.until, renewal.askedAt + times.ttlMs),
    renewAt: Math.max(now, renewal.askedAt + times.renewMs),
  };
}

function renew(state: LeaseState, phase: PhaseOf<"held">, now: number): Decision {
  const request = state.next;
  return enter(
    { ...state, next: request + 1 },
    {
      ...phase,
      renewals: [...phase.renewals, { request, askedAt: now }],
      renewAt: now + state.times.answerMs,
    },
    { type: "renew", request },
  );
}

function lose(state: LeaseState, phase: PhaseOf<"held">, effects: readonly LeaseEffect[]): Decision {
  const { token, until, renewals, isStopping } = phase;
  const requests = renewals.map(({ request }) => request);
  return enter(
    state,
    { type: "lost", token, isStopping },
    ...effects,
    ...(requests.length === 0 ? [] : [{ type: "abandon", requests } as const]),
    { type: "vacate", isLost: true, until },
  );
}

/** Also after a loss, since the source may still count the lease as held. The source compares the token, so it cannot release the lease of another holder. */
function release(
  state: LeaseState,
  isStopping: boolean,
  { now }: At,
  renewals: readonly Renewal[] = [],
): Decision {
  const request = state.next;
  const requests = renewals.map((one) => one.request);
  return enter(
    { ...state, next: request + 1 },
    { type: "releasing", request, overdueAt: now + state.times.requestMs, isStopping },
    ...(requests.length === 0 ? [] : [{ type: "abandon", requests } as const]),
    { type: "release", request },
  );
}

function releasing(state: LeaseState, phase: PhaseOf<"releasing">, event: LeaseEvent): Decision {
  const { request, overdueAt, isStopping } = phase;
  switch (event.type) {
    case "released":
    case "failed":
      return event.request === request ? afterRelease(state, isStopping, event) : [state, []];
    case "tick": {
      if (event.now < overdueAt) return [state, []];
      const [next, effects] = afterRelease(state, isStopping, event);
      return [next, [{ type: "abandon", requests: [request] }, ...effects]];
    }
    case "stop":
      return enter(state, { ...phase, isStopping: true });
    default:
      return late(state, event);
  }
}

function afterRelease(state: LeaseState, isStopping: boolean, event: At): Decision {
  return isStopping
    ? enter(state, { type: "stopped" }, { type: "stopped" })
    : wait(state, state.times.failed, 1, event);
}

/** An event that changes nothing. A lease that was acquired too late goes back. */
function late(state: LeaseState, event: LeaseEvent): Decision {
  return [state, event.type === "acquired" ? [{ type: "give-back", request: event.request }] : []];
}

function enter(state: LeaseState, phase: LeasePhase, ...effects: readonly LeaseEffect[]): Decision {
  return [{ ...state, phase }, effects];
}

function wakeOf({ times, phase }: LeaseState): number | undefined {
  switch (phase.type) {
    case "waiting":
      return phase.at;
    case "acquiring":
      return phase.askedAt + times.requestMs;
    case "held":
      return Math.min(phase.renewAt, phase.until - times.marginMs);
    case "releasing":
      return phase.overdueAt;
    case "lost":
    case "stopped":
      return undefined;
    default:
      return phase satisfies never;
  }
}

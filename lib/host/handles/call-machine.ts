// Decides about an operation of a handle whose host ends meanwhile: ask the next host, wait for one, or give up.

import type { RequestFate } from "../../process/errors.js";

/**
 * Whether an operation is asked again of the next host, although the one that ended may have carried it out. `always`: it reads, or a
 * repeat finds what the first did. `if untaken`: only when the host that ended had not begun with it.
 */
export type Repeat = "always" | "if untaken";

/**
 * The prospect of a next host. `now`: one runs. `perhaps`: one may be started soon. `never`: the process that could start one has ended,
 * or there is no store that it could go on with.
 */
export type Prospect = "now" | "perhaps" | "never";

/** Where an operation is. */
export interface HostCall {
  readonly phase: "asking" | "waiting" | "ended";
  readonly repeat: Repeat;
  /** A host that has ended had begun with it, so it may have taken place. */
  readonly isTaken: boolean;
}

export type HostCallEvent =
  /** The host answered with an error, or the caller waits no longer. */
  | { readonly type: "failed" }
  /** The host has ended, or lost its claim. `request` says what became of the request. */
  | { readonly type: "exited"; readonly request: RequestFate; readonly prospect: Prospect }
  /** A host runs that was not asked yet. */
  | { readonly type: "host" }
  /** The caller waits no longer. */
  | { readonly type: "abandoned" }
  /** No host came within the bound, or none can come any more. */
  | { readonly type: "alone" };

export type HostCallEffect =
  | { readonly type: "ask" }
  /** Waits for the next host. */
  | { readonly type: "wait" }
  /** With the error at hand. */
  | { readonly type: "reject" }
  /** The host had begun with what must not be repeated. */
  | { readonly type: "unknown" }
  /** There is no host any more. */
  | { readonly type: "gone" };

/** An operation that a host was asked for. */
export function initial(repeat: Repeat): HostCall {
  return { phase: "asking", repeat, isTaken: false };
}

export function decide(call: HostCall, event: HostCallEvent): [HostCall, HostCallEffect[]] {
  const end = (type: HostCallEffect["type"]): [HostCall, HostCallEffect[]] => [
    { ...call, phase: "ended" },
    [{ type }],
  ];
  if (call.phase === "ended") return [call, []];
  if (call.phase === "waiting") {
    switch (event.type) {
      case "host":
        return [{ ...call, phase: "asking" }, [{ type: "ask" }]];
      case "abandoned":
        return end("reject");
      case "alone":
        return end("gone");
      default:
        return [call, []];
    }
  }
  switch (event.type) {
    case "failed":
      return end("reject");
    case "exited":
      return exited({ ...call, isTaken: call.isTaken || event.request !== "withdrawn" }, event.prospect);
    default:
      return [call, []];
  }
}

function exited(call: HostCall, prospect: Prospect): [HostCall, HostCallEffect[]] {
  if (call.isTaken && call.repeat === "if untaken")
    return [{ ...call, phase: "ended" }, [{ type: "unknown" }]];
  switch (prospect) {
    case "now":
      return [call, [{ type: "ask" }]];
    case "perhaps":
      return [{ ...call, phase: "waiting" }, [{ type: "wait" }]];
    case "never":
      return [{ ...call, phase: "ended" }, [{ type: "gone" }]];
    default:
      return prospect satisfies never;
  }
}

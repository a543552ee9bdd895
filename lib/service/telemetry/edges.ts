// The edges of a system, as telemetry sees them: requests over HTTP, and jobs of threads. See process/taps.ts.

import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import type { Carrier } from "../../process/taps.js";

/** The headers of a request, as Node has them. */
export type ReceivedHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** How a request ended. `gone`: its client went away, or the server ended, before the response was complete. */
export type RequestOutcome = "answered" | "gone";

/** Follows one request. */
export interface RequestTap {
  /** Runs the handler. */
  around<R>(run: () => R): R;
  /**
   * The response is complete, or never will be. Called once.
   *
   * @param status - undefined when no response was begun
   */
  ended(outcome: RequestOutcome, status: number | undefined, route: string | undefined): void;
}

/** The trace of a job, for a thread that has OpenTelemetry of its own. */
export interface JobTrace {
  readonly headers: Carrier;
  /** The span that is the parent of what the job does. */
  readonly span: { readonly traceId: string; readonly spanId: string; readonly traceFlags: number };
}

declare module "../../process/taps.js" {
  interface Taps {
    /** @param process - that of the request */
    requested(
      process: Process,
      server: Pid,
      method: string,
      headers: ReceivedHeaders,
    ): RequestTap | undefined;
    /** The trace of the running code. Undefined when it is not traced. */
    jobTrace(): JobTrace | undefined;
  }
}

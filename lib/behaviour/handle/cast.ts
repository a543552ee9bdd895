// A cast as its receiver gets it.

/** A cast of a server or a state machine. */
export abstract class Cast {
  /** What telemetry notes about the cast. */
  tap: unknown = undefined;
  /** The name of the cast. */
  abstract readonly method: string;
}

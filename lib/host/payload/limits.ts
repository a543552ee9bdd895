// Every limit of payloads, with its name and default, in one table.

/** The limits of what flows store. */
export interface PayloadLimits {
  /** The largest value, in bytes as the codec encodes it. A larger one is refused with PayloadTooLargeError. */
  readonly maxBytes: number;
  /** A value of more bytes is stored apart from the journal, which holds a reference to it. */
  readonly apartBytes: number;
}

/** The default of every limit of payloads. */
export const PAYLOAD_DEFAULTS: PayloadLimits = {
  maxBytes: 4 * 1_024 * 1_024,
  apartBytes: 16 * 1_024,
};

/** Most levels of a value: objects in objects. Deeper ones are refused before they exhaust the stack. */
export const MAX_DEPTH = 500;

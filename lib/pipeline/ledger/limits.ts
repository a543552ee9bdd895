// Every limit of a ledger, with its name and default, in one table.

/** The limits of the ledger of an execution. Durations are milliseconds. */
export interface LedgerLimits {
  /** Most messages that a commit settles and publishes; a step that alone has more is a commit of its own. */
  readonly batchMessages: number;
  /**
   * Most bytes, or characters of texts, of the messages that a commit writes; a step of one message may have more. A step of several
   * messages that has more by itself is refused with {@link StepTooLargeError}.
   */
  readonly commitSize: number;
  /** Most messages that are read from the store at a time. */
  readonly readRows: number;
  /** How often a host that waits for messages looks into a store that others write to as well. */
  readonly pollMs: number;
}

/** The default of every limit of a ledger. */
export const LEDGER_DEFAULTS: LedgerLimits = {
  batchMessages: 400,
  commitSize: 8_388_608,
  readRows: 1_000,
  pollMs: 250,
};

/**
 * Most bytes that `maxMessageBytes` of a pipeline with a store may be: a write set holds a message, and may hold the one that it came of as
 * a dead letter.
 */
export const MOST_MESSAGE_BYTES = 12_582_912;

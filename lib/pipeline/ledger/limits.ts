// Every limit of a ledger, with its name and default, in one table.

/** The limits of the ledger of an execution. Durations are milliseconds. */
export interface LedgerLimits {
  /** Most messages that a commit settles and publishes; a step that alone has more is a commit of its own. */
  readonly batchMessages: number;
  /** Most messages that are read from the store at a time. */
  readonly readRows: number;
  /** How often a host that waits for messages looks into a store that others write to as well. */
  readonly pollMs: number;
}

/** The default of every limit of a ledger. */
export const LEDGER_DEFAULTS: LedgerLimits = { batchMessages: 400, readRows: 1_000, pollMs: 250 };

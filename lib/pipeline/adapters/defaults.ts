// Limits and defaults of the adapters that come with the library.

/** The limits of all adapters, with their defaults. */
export const ADAPTER_DEFAULTS = {
  /** Messages of one call of an aggregate or of an upsert. */
  batchSize: 100,
  /** A batch that is not full is processed after this time, in milliseconds. */
  batchEveryMs: 1_000,
  /** Keys of a throttle that are in use at once. */
  throttleKeys: 10_000,
  /** Messages that wait for a throttle, over all keys. */
  throttleWaiting: 10_000,
  /** Lines that a file writer writes at once. */
  writeAtOnce: 1_000,
  /** Most values of one statement of an upsert: SQLite's limit for its parameters. */
  sqlParameters: 32_766,
} as const;

// Limits and defaults of the sources.

/** The limits of all sources, with their defaults. */
export const SOURCE_DEFAULTS = {
  /** Most bytes of a line or of a CSV record, its line end included. */
  maxRecordBytes: 1_048_576,
  /** How much of a file is read at a time. */
  chunkBytes: 65_536,
  /** How much of a damaged record is kept, in bytes. */
  damageBytes: 256,
  /** Most bytes of a page over HTTP. */
  maxPageBytes: 16_777_216,
} as const;

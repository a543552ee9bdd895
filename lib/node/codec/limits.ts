// Every limit of the codec, with its name and default, in one table.

/** The limits of what nodes send to each other. */
export interface CodecLimits {
  /** The largest message, call or reply, in bytes as it is sent. */
  readonly maxBytes: number;
}

/** The default of every limit of the codec: docs/decisions/0224 has the reasons. */
export const CODEC_DEFAULTS: CodecLimits = {
  maxBytes: 16 * 1_024 * 1_024,
};

// Limits of a file. A file beyond them is refused before it costs more: the parser needs at most a few seconds for a file within them.

/** The limits, which a pipeline by hand never meets. */
export const YAML_LIMITS = {
  /** Most characters of a file. */
  characters: 262_144,
  /** Most words and signs of a file, as the lexer counts them. */
  tokens: 50_000,
  /** Most levels of objects and lists within each other. The parser would end the whole program at some thousands. */
  depth: 64,
  /** Most values, those counted again that aliases repeat. */
  values: 20_000,
  /** Most faults that are listed. */
  faults: 1_000,
} as const;

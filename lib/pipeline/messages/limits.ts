// The limits of messages, and of operations on dead letters.

/** Fixed limits: no option sets them. */
export const MESSAGE_LIMITS = {
  /** Most messages of one publication, and most that a subscriber holds. */
  portion: 10_000,
  /** How often it is looked for what others have left behind, and for what came without a notification. */
  lookMs: 5_000,
  /** The wait before a failed store or broker is asked again. */
  again: { minMs: 100, maxMs: 5_000 },
} as const;

/** Fixed limits: no option sets them. */
export const DEAD_LIMITS = {
  /** Dead letters of one operation by a filter, unless the caller says otherwise. */
  letters: 1_000,
  /** Most of them. */
  most: 10_000,
  /** Most ids of one operation. */
  ids: 1_000,
  /** Most letters that a filter looks at in one operation, those that it does not let pass included. */
  examined: 20_000,
  /** Letters of one commit. */
  page: 200,
  /** How often one letter is tried when others change it at the same time. */
  attempts: 10,
  /** Most characters of a reason, and of the name of its author. */
  textCharacters: 1_000,
} as const;

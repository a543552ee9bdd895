// The messages between the two flows of a session. Each message is mail with an id of its own: a store delivers it at least once, and a
// session puts what comes twice or early into order.

/** A message of a session. `V` is a value of the user, `E` an error as it is stored. */
export type SessionMessage<V, E> =
  /** The initiator asks for an answer to its protocol. It takes `window` values before it grants more. */
  | { readonly type: "initiate"; readonly protocol: string; readonly window: number }
  /** The responder answers, and takes `window` values before it grants more. */
  | { readonly type: "confirm"; readonly window: number }
  /** No flow answers. */
  | { readonly type: "reject"; readonly why: string }
  /** The value with this number, counted from 0 in each direction. */
  | { readonly type: "data"; readonly number: number; readonly value: V }
  /** The sender of this takes values with numbers below `below`. */
  | { readonly type: "grant"; readonly below: number }
  /** The sender is done, after `count` values. Without `count` its flow has ended, and only what has arrived by now counts. */
  | { readonly type: "end"; readonly count?: number }
  /** The flow of the sender failed or was killed. Only what has arrived by now counts. */
  | { readonly type: "error"; readonly error: E };

// Ids of messages. An id is the path of the message's descent: the number of its source, its number there, then for each hop its
// number among its parent's children. So ids are ordered as their parents are, a child cannot be made twice under two ids, and the
// ancestors of a message are the beginnings of its id: no table holds the parents.
//
// Each number is written as its count of base-36 digits (1 to 9, a to b) and its digits: texts compare as the numbers do.

import { InvariantError, OptionError } from "../../process/errors.js";

/** An ordered text, such as `10.13.11`: the second child of message 3 of source 0. */
export type MessageId = string;

/** A number as texts that compare like the numbers. */
function ordered(n: number): string {
  if (!(Number.isSafeInteger(n) && n >= 0))
    throw new InvariantError(`${n} is no number of a message: it has to be a whole number, 0 or more`);
  const digits = n.toString(36);
  return digits.length.toString(36) + digits;
}

const MESSAGE_ID = /^[1-9ab][0-9a-z]+(\.[1-9ab][0-9a-z]+)+$/;

/** Whether a text has the form of an id. */
export function isMessageId(text: unknown): text is MessageId {
  return typeof text === "string" && MESSAGE_ID.test(text);
}

/** @throws OptionError */
export function checkMessageId(path: string, id: unknown): MessageId {
  if (isMessageId(id)) return id;
  throw new OptionError(path, id, "the id of a message, such as 10.13");
}

/** Most messages that one call names. */
const MOST_NAMED = 1_000;

/** Ids that one call names, each once. @throws OptionError */
export function checkMessageIds(path: string, ids: unknown): readonly MessageId[] {
  if (!Array.isArray(ids) || ids.length === 0 || ids.length > MOST_NAMED)
    throw new OptionError(path, ids, `a list of 1 to ${MOST_NAMED} ids of messages`);
  return [...new Set(ids.map((id: unknown, i) => checkMessageId(`${path}[${i}]`, id)))];
}

/** The id of a source's message. @param n - counts the source's messages from 0 */
export function sourceId(source: number, n: number): MessageId {
  return `${ordered(source)}.${ordered(n)}`;
}

/** The id of a message that the adapters of a route made of `parent`. @param n - counts the parent's children from 0 */
export function childId(parent: MessageId, n: number): MessageId {
  return `${parent}.${ordered(n)}`;
}

/** The ancestors of a message, the oldest first, without itself. The first one came from a source. */
export function ancestorsOf(id: MessageId): MessageId[] {
  const ancestors: MessageId[] = [];
  // The first dot divides the source from the message's number there.
  let at = id.indexOf(".");
  for (at = id.indexOf(".", at + 1); at >= 0; at = id.indexOf(".", at + 1)) ancestors.push(id.slice(0, at));
  return ancestors;
}

/** How many routes a message has left behind: 0 for a source's message. */
export function hopsOf(id: MessageId): number {
  let dots = 0;
  for (let i = 0; i < id.length; i++) if (id.charCodeAt(i) === 46) dots++;
  return dots - 1;
}

/** The bounds of the ids of all descendants: from `from`, below `below`. */
export function descendantsOf(id: MessageId): { readonly from: MessageId; readonly below: MessageId } {
  // "/" is the character behind ".".
  return { from: `${id}.`, below: `${id}/` };
}

// Listeners that look on: a history notes what happens, and handles nothing. Code that complains when nobody handles an event does not count them.

import type { SystemEventMap, SystemEvents } from "./events.js";

type Name = keyof SystemEventMap;

/** As the events call them. */
const onlookers = new WeakSet<object>();

/** Adds a listener that handles nothing of what it is told. Returns the call that removes it. */
export function overhear<T extends Name>(
  events: SystemEvents,
  event: T,
  listener: (...args: SystemEventMap[T]) => void,
): () => void {
  events.on(event, listener);
  // The events wrap each listener, to contain its errors.
  const wrapped = events.listeners(event).at(-1);
  if (wrapped !== undefined) onlookers.add(wrapped);
  return () => events.off(event, listener);
}

/** Whether anybody listens who may handle the event. */
export function isHeard(events: SystemEvents, event: Name): boolean {
  return events.listeners(event).some((one) => !onlookers.has(one));
}

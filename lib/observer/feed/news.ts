// What is new to one viewer of a view: a change if it can take one, else the whole value.

import type { FeedEvent, Seat } from "./feed-state.js";

/** What is new to one viewer of a view. From then on the viewer has it. */
export function newsOf(seat: Seat): readonly FeedEvent[] {
  const { key, view } = seat;
  const { revision, value, patch, fault } = view;
  if (fault !== undefined) {
    if (seat.fault === fault) return [];
    seat.fault = fault;
    return [{ type: "fault", key, error: fault }];
  }
  if (value === undefined || seat.revision === revision) return [];
  const before = seat.revision;
  const hadFault = seat.fault !== undefined;
  seat.revision = revision;
  seat.fault = undefined;
  if (before === revision - 1 && patch !== undefined && !hadFault)
    return [{ type: "change", key, revision, from: before, patch }];
  const whole: FeedEvent = { type: "whole", key, revision, value };
  return before === 0 || hadFault || patch === undefined ? [whole] : [{ type: "reset", key }, whole];
}

// The options of a replay.

import { OptionError } from "../../process/errors.js";
import { flag, text } from "../../process/options.js";
import { checkMessageIds, type MessageId } from "../definition/message-id.js";
import { checkDeed, type Deed, type DeedOptions } from "../messages/dead-options.js";
import { type OperationWaitOptions, WAIT } from "./waits.js";

/** Which messages are replayed: `messages`, `dead`, `route`, or `dead` and `route` together. */
export interface ReplayOptions extends DeedOptions, OperationWaitOptions {
  /** The id of the new execution. A second replay under it attaches to the first. Default: a new id. */
  readonly id?: string;
  /** These messages, at most 1,000. */
  readonly messages?: readonly MessageId[];
  /** The dead letters, or those of `route`. They go over to the new execution: another replay does not find them. */
  readonly dead?: boolean;
  /** Also those of the chosen dead letters that were replayed before. Default false. */
  readonly again?: boolean;
  /**
   * All messages that this route took: the settled ones, if the route keeps values; its dead letters; and those that were left when an
   * execution failed or was cancelled.
   */
  readonly route?: string;
  /** With `route`: replays what can be had when the values of others are gone. Default false: then nothing is replayed. */
  readonly partial?: boolean;
}

/** The options of a replay, checked. */
export type ReplayRequest = ReplayOf & {
  /** Also dead letters that were replayed before. */
  readonly again: boolean;
  /** Author and reason of the replay: for the records of dead letters. */
  readonly deed: Deed;
};

/** Which messages. */
export type ReplayOf =
  | { readonly type: "messages"; readonly ids: readonly MessageId[] }
  | { readonly type: "dead"; readonly route: string | undefined }
  | { readonly type: "route"; readonly route: string; readonly partial: boolean };

const OPTIONS = ["id", "messages", "dead", "again", "route", "partial", ...WAIT];

/** @throws OptionError */
export function checkReplay(options: ReplayOptions): ReplayRequest {
  const deed = checkDeed(options, OPTIONS);
  return { ...checkOf(options), again: flag("again", options.again ?? false), deed };
}

function checkOf(options: ReplayOptions): ReplayOf {
  const { messages, route } = options;
  if (options.id !== undefined) text("id", options.id);
  if (route !== undefined) text("route", route);
  const dead = flag("dead", options.dead ?? false);
  const partial = flag("partial", options.partial ?? false);
  if (messages !== undefined) {
    if (dead || route !== undefined)
      throw new OptionError("messages", messages, "absent beside `dead` and `route`");
    return { type: "messages", ids: checkMessageIds("messages", messages) };
  }
  if (dead) return { type: "dead", route };
  if (route === undefined)
    throw new OptionError("replay", options, "an object with `messages`, `dead: true` or `route`");
  return { type: "route", route, partial };
}

// Options by which people give up and move messages of an execution, checked.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, flag, text } from "../../process/options.js";
import { checkMessageIds, type MessageId } from "../definition/message-id.js";
import { checkDeed, checkDrop, type DeedOptions } from "../messages/dead-options.js";
import { type OperationWaitOptions, WAIT } from "./waits.js";

/** Author and reason of a change. */
export interface ChangeOptions extends DeedOptions, OperationWaitOptions {
  /** Most messages of one call, 1 to 100,000. Default 10,000. */
  readonly limit?: number;
}

/** The choice of what to give up: `messages`, `queues`, `sources`, or queues and sources together; or `stranded`; or `all`. */
export interface GiveUpOptions extends ChangeOptions {
  /** Why, for people who look at the execution later. */
  readonly reason: string;
  /** These messages, at most 1,000. Each must be in a queue. */
  readonly messages?: readonly MessageId[];
  /** All messages of these queues. */
  readonly queues?: readonly string[];
  /** These sources: they give nothing more. */
  readonly sources?: readonly string[];
  /** All that the execution needs and its pipeline does not have. */
  readonly stranded?: boolean;
  /** Everything that is left: the execution completes. */
  readonly all?: boolean;
}

/** The result of giving up. It is durable. */
export interface GivenUp {
  /** Messages that have ended. */
  readonly messages: number;
  /** Sources that give nothing more. */
  readonly sources: number;
  /** The limit was reached, or hosts were faster again and again: ask once more for the rest. */
  readonly more: boolean;
}

/** The choice of what to move: `messages`, or `queues`; else all messages that no route of the pipeline takes. */
export interface MoveOptions extends ChangeOptions {
  /** The route of the pipeline, as it is now, that takes the messages from here on. */
  readonly to: string;
  /** These messages, at most 1,000. Each must be in a queue. */
  readonly messages?: readonly MessageId[];
  /** All messages of these queues. Default: of all queues that no route of the pipeline takes from. */
  readonly queues?: readonly string[];
}

/** The result of a move. It is durable. */
export interface Moved {
  /** Messages that wait for another route now. */
  readonly messages: number;
  /** The limit was reached, or hosts were faster again and again: ask once more for the rest. */
  readonly more: boolean;
}

/** The choice of a move, checked. */
export interface MoveRequest {
  readonly to: string;
  readonly by: string;
  readonly reason: string | undefined;
  readonly of:
    | { readonly type: "messages"; readonly ids: readonly MessageId[] }
    | { readonly type: "queues"; readonly names: readonly string[] }
    | { readonly type: "stranded" };
  readonly limit: number;
}

/** Messages and sources of an execution. */
export type ChangeSelection =
  | { readonly type: "messages"; readonly ids: readonly MessageId[] }
  | { readonly type: "named"; readonly queues: readonly string[]; readonly sources: readonly string[] }
  | { readonly type: "stranded" }
  | { readonly type: "all" };

/** The choice of what to give up, checked. */
export interface GiveUpRequest {
  readonly by: string;
  readonly reason: string;
  readonly of: ChangeSelection;
  readonly limit: number;
}

/** Most queues or sources that one call names. */
const MOST_NAMED = 1_000;
const LIMIT = 10_000;
const MOST = 100_000;

/** @throws OptionError */
export function checkMove(options: MoveOptions): MoveRequest {
  only("", options, ["to", "by", "reason", "messages", "queues", "limit", ...WAIT]);
  const { messages, queues, limit } = options;
  if (messages !== undefined && queues !== undefined)
    throw new OptionError("queues", queues, "absent beside `messages`");
  const { by, reason } = checkDeed(deedOf(options));
  const of: MoveRequest["of"] =
    messages !== undefined
      ? { type: "messages", ids: checkMessageIds("messages", messages) }
      : queues !== undefined
        ? { type: "queues", names: names("queues", queues) }
        : { type: "stranded" };
  return { to: text("to", options.to), by, reason: reason ?? undefined, of, limit: limitOf(limit) };
}

/** @throws OptionError */
export function checkGiveUp(options: GiveUpOptions): GiveUpRequest {
  only("", options, ["by", "reason", "messages", "queues", "sources", "stranded", "all", "limit", ...WAIT]);
  const { messages, queues, sources, limit } = options;
  const stranded = flag("stranded", options.stranded ?? false);
  const all = flag("all", options.all ?? false);
  const isNamed = queues !== undefined || sources !== undefined;
  const kinds = [messages !== undefined, isNamed, stranded, all].filter((one) => one).length;
  if (kinds !== 1)
    throw new OptionError(
      "giveUp",
      options,
      "an object with one of `messages`, `queues` and `sources`, `stranded: true` or `all: true`",
    );
  const of: ChangeSelection =
    messages !== undefined
      ? { type: "messages", ids: checkMessageIds("messages", messages) }
      : isNamed
        ? { type: "named", queues: names("queues", queues ?? []), sources: names("sources", sources ?? []) }
        : { type: stranded ? "stranded" : "all" };
  const { by, reason } = checkDrop(deedOf(options));
  return { by, reason, of, limit: limitOf(limit) };
}

const deedOf = ({ by, reason }: ChangeOptions): DeedOptions => ({
  ...(by !== undefined && { by }),
  ...(reason !== undefined && { reason }),
});

function limitOf(limit: number | undefined): number {
  const most = count("limit", limit ?? LIMIT, 1);
  if (most > MOST) throw new OptionError("limit", limit, `1 to ${MOST}`);
  return most;
}

function names(path: string, all: readonly string[]): readonly string[] {
  if (!Array.isArray(all) || all.length > MOST_NAMED)
    throw new OptionError(path, all, `a list of at most ${MOST_NAMED} names`);
  return [...new Set(all.map((name, i) => text(`${path}[${i}]`, name)))];
}

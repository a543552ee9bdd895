// The operations on pipelines over the protocol of admin sockets: as a host offers them, and as a client asks for them.

import type { Json } from "../../admin/json-view.js";
import type { AdminService } from "../../admin/post.js";
import {
  type AdminOperation,
  type Args,
  type Ask,
  askedAgain,
  pageLimit,
  pageOf,
  pendingAfter,
} from "../../admin/protocol.js";
import type { GiveUpOptions, MoveOptions } from "../changes/options.js";
import { checkWait, type OperationWaitOptions } from "../changes/waits.js";
import type { DeedOptions, DropOptions } from "../dead/options.js";
import type { ReplayOptions } from "../replay/options.js";
import { ExecutionWaitTimeoutError } from "./errors.js";
import type {
  DeadChoice,
  DeadFilter,
  DeadMessage,
  DeadMessageRecord,
  DeadRecordFilter,
  ExecutionListOptions,
  ExecutionSummary,
  MessageFilter,
  MessageRange,
  MessageRecord,
  PipelineOperations,
} from "./operations.js";

type Run = (on: PipelineOperations, args: Args, signal: AbortSignal) => Promise<unknown>;

const id = (args: Args): string => args.id as string;
const message = (args: Args): string => args.message as string;
const which = (args: Args): string | DeadChoice => args.which as string | DeadChoice;

/** The arguments without those that are given by their place. The operations check them. */
function rest<T>(args: Args, ...placed: readonly string[]): T {
  return Object.fromEntries(Object.entries(args).filter(([name]) => !placed.includes(name))) as T;
}

interface Page {
  readonly items: readonly Json[];
  readonly more: boolean;
}

/** A page of a list. The client goes on behind its last item. */
async function page(args: Args, list: (limit: number) => AsyncIterable<unknown>): Promise<Page> {
  const limit = pageLimit(args);
  const { shown, isFull } = await pageOf(list(limit), limit);
  return { items: shown, more: isFull };
}

const LIST = ["status", "pipeline", "idPrefix", "createdFrom", "createdBelow", "order", "limit", "cursor"];

/** All operations, by name. */
const OPERATIONS: Readonly<Record<string, { readonly args: readonly string[]; readonly run: Run }>> = {
  list: { args: LIST, run: (on, args) => on.list(args as ExecutionListOptions) },
  status: { args: ["id"], run: (on, args) => on.status(id(args)) },
  inspect: { args: ["id"], run: (on, args) => on.inspect(id(args)) },
  lineage: { args: ["id", "message"], run: (on, args) => on.lineage(id(args), message(args)) },
  children: {
    args: ["id", "message", "after", "limit"],
    run: (on, args) => {
      const range = rest<MessageRange>(args, "id", "message");
      return page(args, (limit) => on.children(id(args), message(args), { ...range, limit }));
    },
  },
  batch: {
    args: ["id", "message", "after", "limit"],
    run: (on, args) => {
      const range = rest<MessageRange>(args, "id", "message");
      return page(args, (limit) => on.batch(id(args), message(args), { ...range, limit }));
    },
  },
  messages: {
    args: ["id", "route", "after", "limit"],
    run: (on, args) =>
      page(args, (limit) => on.messages(id(args), { ...rest<MessageFilter>(args, "id"), limit })),
  },
  failures: {
    args: ["id", "route", "after", "limit"],
    run: (on, args) =>
      page(args, (limit) => on.failures(id(args), { ...rest<MessageFilter>(args, "id"), limit })),
  },
  deadLetters: {
    args: ["id", "route", "behind", "limit"],
    run: (on, args) =>
      page(args, (limit) => on.deadLetters(id(args), { ...rest<DeadFilter>(args, "id"), limit })),
  },
  deadRecords: {
    args: ["id", "message", "behind", "limit"],
    run: (on, args) =>
      page(args, (limit) => on.deadRecords(id(args), { ...rest<DeadRecordFilter>(args, "id"), limit })),
  },
  retryDead: {
    args: ["id", "which", "by", "reason"],
    run: (on, args) => on.retryDead(id(args), which(args), rest<DeedOptions>(args, "id", "which")),
  },
  editDead: {
    args: ["id", "message", "value", "by", "reason"],
    run: (on, args) =>
      on.editDead(id(args), message(args), args.value, rest<DeedOptions>(args, "id", "message", "value")),
  },
  dropDead: {
    args: ["id", "which", "by", "reason"],
    run: (on, args) => on.dropDead(id(args), which(args), rest<DropOptions>(args, "id", "which")),
  },
  outcome: {
    args: ["id", "timeoutMs"],
    run: (on, args, signal) =>
      pendingAfter<ExecutionSummary>(args, "ERR_PIPELINE_WAIT_TIMEOUT", (timeoutMs) =>
        on.outcome(id(args), { timeoutMs, signal }),
      ),
  },
  pause: { args: ["id"], run: (on, args) => on.pause(id(args)) },
  resume: { args: ["id"], run: (on, args) => on.resume(id(args)) },
  cancel: { args: ["id"], run: (on, args) => on.cancel(id(args)) },
  giveUp: {
    args: ["id", "by", "reason", "messages", "queues", "sources", "stranded", "all", "limit", "timeoutMs"],
    run: (on, args, signal) => on.giveUp(id(args), { ...rest<GiveUpOptions>(args, "id"), signal }),
  },
  move: {
    args: ["id", "to", "by", "reason", "messages", "queues", "limit", "timeoutMs"],
    run: (on, args, signal) => on.move(id(args), { ...rest<MoveOptions>(args, "id"), signal }),
  },
  replay: {
    args: ["id", "newId", "messages", "dead", "again", "route", "partial", "by", "reason", "timeoutMs"],
    run: (on, args, signal) => {
      const options = { ...rest<ReplayOptions>(args, "id", "newId"), signal };
      return on.replay(
        id(args),
        args.newId === undefined ? options : { ...options, id: args.newId as string },
      );
    },
  },
};

/** The names of the operations on the socket begin so: a host of flows may share it. */
const PREFIX = "pipelines.";

/**
 * The operations of a host of pipelines, for its admin socket.
 *
 * @param has - whether the host has the pipeline of this name: of several hosts, that one changes its executions
 */
export function pipelineService(on: PipelineOperations, has: (pipeline: string) => boolean): AdminService {
  const mine = async (args: Args): Promise<boolean> => has((await on.status(id(args))).pipeline);
  const bound = Object.entries(OPERATIONS).map(([name, { args, run }]): [string, AdminOperation] => [
    PREFIX + name,
    {
      args,
      run: (given, signal) => run(on, given, signal),
      ...(args.includes("id") && { mine }),
    },
  ]);
  return { name: "pipelines", shares: true, operations: new Map(bound) };
}

/** Operations at the other end of a connection. Values are shown as JSON. */
export function remoteOperations(ask: Ask): PipelineOperations {
  const gives = async <T>(op: string, args: object, signal?: AbortSignal): Promise<T> =>
    (await ask(PREFIX + op, args, signal)) as T;
  const each = <T>(op: string, args: object, limit: number | undefined, behind: (last: T) => object) =>
    pages<T>((place, size) => gives(op, { ...args, ...place, ...size }), limit, behind);
  // The host counts the time. No limit is no argument: JSON has no Infinity.
  const inTime = async <T>(op: string, options: OperationWaitOptions, placed: object): Promise<T> => {
    const { timeoutMs, signal } = checkWait(options);
    const { timeoutMs: _time, signal: _signal, ...args } = options;
    return gives<T>(op, { ...args, ...placed, ...(Number.isFinite(timeoutMs) && { timeoutMs }) }, signal);
  };
  const afterId = ({ id: after }: { readonly id: string }): object => ({ after });
  const list: PipelineOperations["list"] = (options = {}) => gives("list", options);
  return {
    list,
    async *executions(options = {}) {
      for (let { cursor } = options; ; ) {
        const found = await list(cursor === undefined ? options : { ...options, cursor });
        yield* found.executions;
        cursor = found.next;
        if (cursor === undefined) return;
      }
    },
    status: (of) => gives("status", { id: of }),
    inspect: (of) => gives("inspect", { id: of }),
    lineage: (of, one) => gives("lineage", { id: of, message: one }),
    children: (of, one, { limit, ...range } = {}) =>
      each<MessageRecord>("children", { ...range, id: of, message: one }, limit, afterId),
    batch: (of, one, { limit, ...range } = {}) =>
      each<MessageRecord>("batch", { ...range, id: of, message: one }, limit, afterId),
    messages: (of, { limit, ...filter } = {}) =>
      each<MessageRecord>("messages", { ...filter, id: of }, limit, afterId),
    failures: (of, { limit, ...filter } = {}) =>
      each<MessageRecord>("failures", { ...filter, id: of }, limit, afterId),
    deadLetters: (of, { limit, ...filter } = {}) =>
      each<DeadMessage>("deadLetters", { ...filter, id: of }, limit, ({ queue, id: last }) => ({
        behind: { queue, id: last },
      })),
    deadRecords: (of, { limit, ...filter } = {}) =>
      each<DeadMessageRecord>("deadRecords", { ...filter, id: of }, limit, ({ queue, id: last, turn }) => ({
        behind: { queue, id: last, turn },
      })),
    retryDead: (of, which, options = {}) => gives("retryDead", { ...options, id: of, which }),
    editDead: (of, one, value, options = {}) =>
      gives("editDead", { ...options, id: of, message: one, value }),
    dropDead: (of, which, options) => gives("dropDead", { ...options, id: of, which }),
    outcome: (of, { timeoutMs = Number.POSITIVE_INFINITY, signal } = {}) =>
      askedAgain<ExecutionSummary>(
        timeoutMs,
        (wait) => gives("outcome", { id: of, timeoutMs: wait }, signal),
        () => new ExecutionWaitTimeoutError(of, timeoutMs),
      ),
    pause: (of) => gives("pause", { id: of }),
    resume: (of) => gives("resume", { id: of }),
    cancel: (of) => gives("cancel", { id: of }),
    move: (of, options) => inTime("move", options, { id: of }),
    giveUp: (of, options) => inTime("giveUp", options, { id: of }),
    replay: (of, { id: newId, ...options }) =>
      inTime("replay", options, { id: of, ...(newId !== undefined && { newId }) }),
  };
}

/** The items of all pages. @param behind - the arguments that name the place behind an item */
async function* pages<T>(
  ask: (place: object, size: object) => Promise<Page>,
  limit: number | undefined,
  behind: (last: T) => object,
): AsyncGenerator<T, void, undefined> {
  let place = {};
  for (let left = limit ?? Number.POSITIVE_INFINITY; left > 0; ) {
    const { items, more } = await ask(place, Number.isFinite(left) ? { limit: left } : {});
    const found = items as unknown as readonly T[];
    yield* found;
    left -= found.length;
    const last = found.at(-1);
    if (!more || last === undefined) return;
    place = behind(last);
  }
}

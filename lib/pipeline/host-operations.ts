// The operations of a host's handle: they read its store, and change executions through its process.

import { passedOn } from "../admin/operations/passing.js";
import { type CallRules, type HostCaller, isHostOver } from "../host/index.js";
import type { Kernel } from "../process/kernel.js";
import type { CallOptions, ReplyTo } from "../process/request.js";
import { storeContext } from "../store/open-store.js";
import { checkGiveUp, checkMove } from "./operations/change-options.js";
import { ExecutionOutcomeUnknownError, NoLineageError } from "./operations/errors.js";
import type { PipelineOperations } from "./operations/operations.js";
import { PIPELINE_TABLE } from "./operations/operations-table.js";
import { checkReplay } from "./operations/replay-options.js";
import { StoreOperations } from "./operations/store-operations.js";
import { checkWait } from "./operations/waits.js";
import type { OpenTables } from "./runtime/catalogue.js";
import type { HostRequest, RoutesHere } from "./runtime/host-process.js";

/** Asks a host. */
export type Caller = HostCaller<HostRequest>;

/** Rules of an operation that changes an execution: it is not repeated, unless a repeat finds the result of the first call. */
export const changing = (
  operation: string,
  executionId: string,
  repeat: NonNullable<CallRules["repeat"]> = "if untaken",
): CallRules => ({
  repeat,
  unknown: (cause) => new ExecutionOutcomeUnknownError(operation, executionId, cause),
});

/** Operations through a host. The host says first where its executions are. */
export function hostOperations(kernel: Kernel, call: Caller): PipelineOperations {
  const { after } = storeContext(kernel);
  /** @throws NoLineageError */
  const on = async (): Promise<StoreOperations> => {
    const tables = await call<OpenTables | undefined>((replyTo) => ({ type: "tables", replyTo }));
    if (tables === undefined) throw new NoLineageError();
    return new StoreOperations({ ...tables, after });
  };
  return passedOn(PIPELINE_TABLE, {
    on,
    isOver: isHostOver,
    own: {
      ...changes(kernel, call),
      routes: async (id) => {
        const here = (): Promise<RoutesHere> =>
          call<RoutesHere>((replyTo) => ({ type: "routes", id, replyTo }));
        return (await on()).routesWith(id, here);
      },
    },
  });
}

type Changes = Pick<PipelineOperations, "pause" | "resume" | "cancel" | "giveUp" | "move" | "replay">;

/** The operations that the process of the host carries out. */
function changes(kernel: Kernel, call: Caller): Changes {
  const change = <R>(
    [operation, of]: readonly [operation: string, of: string],
    build: (replyTo: ReplyTo<R>) => HostRequest,
    wait?: CallOptions,
  ): Promise<R> => call<R>(build, wait, changing(operation, of));
  const asked = (type: "pause" | "resume" | "cancel") => (id: string) =>
    change<boolean>([type, id], (replyTo) => ({ type, id, replyTo }));
  return {
    pause: asked("pause"),
    resume: asked("resume"),
    cancel: asked("cancel"),
    giveUp: async (id, options) => {
      const request = checkGiveUp(options);
      const wait = checkWait(options);
      return change(["giveUp", id], (replyTo) => ({ type: "give up", id, request, replyTo }), wait);
    },
    move: async (id, options) => {
      const request = checkMove(options);
      const wait = checkWait(options);
      return change(["move", id], (replyTo) => ({ type: "move", id, request, replyTo }), wait);
    },
    replay: async (id, options) => {
      const request = checkReplay(options);
      const to = options.id ?? kernel.env.id();
      const wait = checkWait(options);
      return change(["replay", to], (replyTo) => ({ type: "replay", id, to, request, replyTo }), wait);
    },
  };
}

export type { CallerOptions } from "./handle/methods.js";
export { KeyTakenError, NotRegisteredError } from "./registry/errors.js";
export {
  Registry,
  type RegistryEntry,
  type RegistryEvent,
  type RegistryOptions,
  type RegistryOwner,
} from "./registry/registry.js";
export { BadReturnError, UnknownRequestError } from "./server/errors.js";
export {
  Answer,
  type Caller,
  Deferred,
  defer,
  type Next,
  NoReply,
  noReply,
  Ready,
  Refusal,
  ready,
  refuse,
  reply,
  replyAndStop,
  StopReply,
} from "./server/replies.js";
export { defineServer, type ServerDefinition, type ServerOptions } from "./server/server.js";
export { type ServerAsker, type ServerCaller, ServerRef } from "./server/server-ref.js";
export type {
  Asks,
  CallScope,
  Calls,
  Casts,
  Handler,
  HandlerScope,
  HandlersOf,
  ReplyOf,
  StateOf,
} from "./server/types.js";
export * from "./state-machine/errors.js";
export {
  type MachineAsker,
  type MachineCaller,
  StateMachineRef,
} from "./state-machine/machine-ref.js";
export type { Action, NamedState, Step, TimeoutKey, TypedEvent } from "./state-machine/moves.js";
export type { MachinePictureOptions } from "./state-machine/picture.js";
export {
  defineStateMachine,
  type StateMachineDefinition,
  type StateMachineOptions,
  startIn,
  to,
} from "./state-machine/state-machine.js";
export type { Transition } from "./state-machine/transition.js";
export type {
  Begun,
  Call,
  CallMoves,
  Cell,
  CommonMoves,
  DeclaredBy,
  EnterMoves,
  EventsOf,
  EventTyped,
  Going,
  InitMoves,
  MachineAsks,
  MachineCalls,
  MachineCasts,
  MachineSnapshot,
  Moves,
  MovesOf,
  NeedsData,
  PayloadArgs,
  PayloadOf,
  ReplyTypeOf,
  Sendable,
  Starting,
  StateDefinition,
  StateHandler,
  StateNamed,
  StatesOf,
  StateWithData,
  TransitionArgs,
} from "./state-machine/types.js";
export {
  TaskAwaitedError,
  TaskExitedError,
  TaskOwnerError,
  TaskRefusedError,
  TaskTimeoutError,
} from "./task/errors.js";
export { TASK_DEFAULTS } from "./task/limits.js";
export type { TaskOwner } from "./task/owner.js";
export {
  TaskStream,
  type TaskStreamOptions,
  type TaskStreamResult,
  taskStream,
} from "./task/stream.js";
export {
  type AwaitOptions,
  Task,
  type TaskFunction,
  type TaskOptions,
  type TaskResult,
  type TaskStopOptions,
  task,
} from "./task/task.js";
export {
  type TaskSupervisorDefinition,
  type TaskSupervisorOptions,
  TaskSupervisorRef,
  taskSupervisor,
} from "./task/task-supervisor.js";

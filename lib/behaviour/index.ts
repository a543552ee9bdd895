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
export { type CallerOptions, ServerRef } from "./server/server-ref.js";
export type { CallScope, Calls, Casts, Handler, HandlerScope, ReplyOf, StateOf } from "./server/types.js";

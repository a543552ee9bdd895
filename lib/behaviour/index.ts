export { KeyTakenError, NotRegisteredError } from "./registry/errors.js";
export {
  Registry,
  type RegistryEntry,
  type RegistryEvent,
  type RegistryOptions,
  type RegistryOwner,
} from "./registry/registry.js";
export { type Caller, Deferred, defer, Refusal, refuse, replyAndStop, StopReply } from "./server/replies.js";
export { defineServer, type ServerDefinition, type ServerOptions } from "./server/server.js";
export { UnknownRequestError } from "./server/server-process.js";
export { type CallerOptions, ServerRef } from "./server/server-ref.js";
export type { Calls, Casts, Handler, ReplyOf, StateOf } from "./server/types.js";

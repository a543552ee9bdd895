export { type Caller, Deferred, defer, Refusal, refuse, replyAndStop, StopReply } from "./replies.js";
export { defineServer, type ServerDefinition, type ServerOptions } from "./server.js";
export { UnknownRequestError } from "./server-process.js";
export { type CallerOptions, ServerRef } from "./server-ref.js";
export type { Calls, Casts, Handler, ReplyOf, StateOf } from "./types.js";

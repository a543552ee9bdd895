/**
 * signalbox/xstate: actors of XState v5 as processes. Needs the peer dependency `xstate`.
 *
 *     from-xstate.ts    any actor logic as a definition that a system starts
 *     actor-process.ts  the process around an actor; actor-ref.ts its handle
 *     from-pid.ts       a process as an actor, which machines invoke and send to
 *     host.ts           the context of the process, for actions; the clock
 *
 * @example
 * const Light = fromXState(
 *   createMachine({
 *     initial: "red",
 *     states: { red: { after: { 1_000: "green" } }, green: { after: { 1_000: "red" } } },
 *   }),
 * );
 * const light = await system.start(Light);
 * await light.waitFor((snapshot) => snapshot.value === "green");
 */

export { type XStateCallOptions, XStateRef } from "./actor-ref.js";
export { NotHostedError, PeerExitedError } from "./errors.js";
export { fromPid, type PeerInput, type PeerSnapshot } from "./from-pid.js";
export { fromXState, type XStateArgs, type XStateDefinition, type XStateOptions } from "./from-xstate.js";
export { contextOf } from "./host.js";

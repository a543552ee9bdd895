// The programs on signalbox, in full size.

import { call, callAwait } from "./calls.js";
import { crashToReroute, dispatchAck, dispatchCrash } from "./dispatch.js";
import { idleLinkedProcesses, linkedCrash, skynet, spawnMonitorExit } from "./lives.js";
import { fanIn, pingPong, ring } from "./messages.js";
import type { Program } from "./program.js";
import { simulatedDispatch, simulatedSteps } from "./simulator.js";
import { SIZES } from "./sizes.js";

export const programs: Readonly<Record<string, Program>> = {
  "ping-pong": pingPong(SIZES.pingPong),
  ring: ring(SIZES.ring.processes, SIZES.ring.rounds),
  "fan-in": fanIn(SIZES.fanIn.senders, SIZES.fanIn.each),
  "spawn-monitor-exit": spawnMonitorExit(SIZES.spawnMonitorExit),
  "linked-crash": linkedCrash(SIZES.linkedCrash),
  call: call(SIZES.call),
  "call-await": callAwait(SIZES.call),
  skynet: skynet(SIZES.skynetLeaves),
  "idle-linked-process": idleLinkedProcesses(SIZES.idle),
  "dispatch-ack": dispatchAck(SIZES.dispatchAck),
  "dispatch-crash": dispatchCrash(SIZES.dispatchCrash),
  "crash-to-reroute": crashToReroute(SIZES.crashToReroute),
  "sim-steps": simulatedSteps(SIZES.simulatedSteps),
  "sim-dispatch": simulatedDispatch(SIZES.simulatedDispatch),
};

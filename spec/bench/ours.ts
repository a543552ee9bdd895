// The programs on signalbox, in full size.

import { hostAwait } from "./awaits.js";
import { call, callAwait } from "./calls.js";
import { codecError, codecPid, codecPlain } from "./codec.js";
import { crashToReroute, dispatchAck, dispatchBytes, dispatchCrash, dispatchWaiting } from "./dispatch.js";
import { programs as flows } from "./flows.js";
import { httpRequest } from "./http.js";
import { importOf } from "./imports.js";
import { idleLinkedProcesses, linkedCrash, skynet, spawnMonitorExit } from "./lives.js";
import { fanIn, pingPong, pingPongContext, ring, selectiveReceive } from "./messages.js";
import { nodeCalls, nodeKill, nodeRoundTrip, nodeSend } from "./nodes.js";
import { observerIdle, observerMemory, observerTurns, observerViewer } from "./observer.js";
import { programs as recoveries } from "./pipeline-recovery.js";
import { programs as pipelines } from "./pipelines.js";
import { poolJob } from "./pool.js";
import type { Program } from "./program.js";
import { programs as queues } from "./queues.js";
import {
  nodeDown,
  remoteCall,
  remoteCallCost,
  remoteSend,
  wireCall,
  wireCallCost,
  wireSend,
  wireServerCall,
  wireServerCallCost,
} from "./remote.js";
import { serverCall, serverCallAwait, serverCallOutside } from "./servers.js";
import { simulatedAsyncSteps, simulatedDispatch, simulatedHostSteps, simulatedSteps } from "./simulator.js";
import { SIZES } from "./sizes.js";
import { stateMachine } from "./state-machine.js";
import { restart, supervisorChildren } from "./supervision.js";
import { taskStream } from "./tasks.js";
import { observed } from "./telemetry.js";
import { threadBolts, threadPair, threadRoundTrip, threadSend } from "./threads.js";
import { acker, topologyLasting, topologyReliable, topologyUnreliable } from "./topology.js";
import { callTraced } from "./traced.js";

export const programs: Readonly<Record<string, Program>> = {
  "ping-pong": pingPong(SIZES.pingPong),
  "ping-pong-context": pingPongContext(SIZES.pingPong),
  ring: ring(SIZES.ring.processes, SIZES.ring.rounds),
  "fan-in": fanIn(SIZES.fanIn.senders, SIZES.fanIn.each),
  "selective-receive": selectiveReceive(SIZES.selectiveReceive.receives, SIZES.selectiveReceive.waiting),
  "spawn-monitor-exit": spawnMonitorExit(SIZES.spawnMonitorExit),
  "linked-crash": linkedCrash(SIZES.linkedCrash),
  "supervisor-children": supervisorChildren(SIZES.supervisorChildren),
  restart: restart(SIZES.restart),
  call: call(SIZES.call),
  "call-await": callAwait(SIZES.call),
  "server-call": serverCall(SIZES.call),
  "server-call-await": serverCallAwait(SIZES.call),
  "server-call-outside": serverCallOutside(SIZES.call),
  "remote-send": remoteSend(SIZES.remote),
  "remote-call": remoteCall(SIZES.remote),
  "remote-call-cost": remoteCallCost(SIZES.remote),
  "wire-send": wireSend(SIZES.remote),
  "wire-call": wireCall(SIZES.remote),
  "wire-call-cost": wireCallCost(SIZES.remote),
  "wire-server-call": wireServerCall(SIZES.remote),
  "wire-server-call-cost": wireServerCallCost(SIZES.remote),
  "node-down": nodeDown(100_000, 0),
  "node-down-of-20k": nodeDown(20_000, 20_000),
  "state-machine": stateMachine(SIZES.stateMachine),
  "host-await": hostAwait(SIZES.hostAwait),
  skynet: skynet(SIZES.skynetLeaves),
  "idle-linked-process": idleLinkedProcesses(SIZES.idle),
  "task-stream": taskStream(SIZES.taskStream),
  "dispatch-ack": dispatchAck(SIZES.dispatchAck),
  ...observed,
  "call-traced": callTraced(SIZES.callTraced),
  "dispatch-bytes": dispatchBytes(SIZES.dispatchBytes),
  "dispatch-crash": dispatchCrash(SIZES.dispatchCrash),
  "dispatch-of-20k": dispatchWaiting(SIZES.dispatchWaiting["20k"]),
  "dispatch-of-100k": dispatchWaiting(SIZES.dispatchWaiting["100k"]),
  "crash-to-reroute": crashToReroute(SIZES.crashToReroute),
  "codec-plain": codecPlain(SIZES.codec.plain),
  "codec-pid": codecPid(SIZES.codec.pid),
  "codec-error": codecError(SIZES.codec.error),
  "pool-job": poolJob(SIZES.poolJob),
  "thread-send": threadSend(SIZES.threads.send),
  "thread-round-trip": threadRoundTrip(SIZES.threads.roundTrips),
  "thread-pair": threadPair(SIZES.threads.rounds),
  "thread-bolts": threadBolts(SIZES.threads.tuples, SIZES.threads.rounds / SIZES.threads.tuples),
  "node-send": nodeSend(SIZES.nodes.send),
  "node-calls": nodeCalls(SIZES.nodes.calls),
  "node-round-trip": nodeRoundTrip(SIZES.nodes.roundTrips),
  "node-round-trip-p99": nodeRoundTrip(SIZES.nodes.roundTrips),
  "node-kill": nodeKill(SIZES.nodes.kills),
  "http-request": httpRequest(SIZES.httpRequest),
  "sim-steps": simulatedSteps(SIZES.simulatedSteps),
  "sim-steps-async": simulatedAsyncSteps(SIZES.simulatedAsyncSteps),
  "sim-steps-host": simulatedHostSteps(SIZES.simulatedHostSteps),
  "sim-dispatch": simulatedDispatch(SIZES.simulatedDispatch),
  "topology-reliable-128": topologyReliable(SIZES.topology, 128),
  "topology-reliable-4096": topologyReliable(SIZES.topology, 4_096),
  "topology-unreliable": topologyUnreliable(SIZES.topology),
  import: importOf("signalbox"),
  acker: acker(SIZES.acker.trees, SIZES.acker.pending),
  "edge-of-10k": topologyLasting(SIZES.topologyLasting["10k"]),
  "edge-of-100k": topologyLasting(SIZES.topologyLasting["100k"]),
  "edge-of-1m": topologyLasting(SIZES.topologyLasting["1m"]),
  "edge-of-10m": topologyLasting(SIZES.topologyLasting["10m"]),
  "heap-after-10m": topologyLasting(SIZES.topologyLasting["10m"]),
  ...flows,
  ...pipelines,
  ...queues,
  ...recoveries,
  "observer-idle": observerIdle(SIZES.observer),
  "observer-viewer": observerViewer(SIZES.observer),
  "observer-turns": observerTurns(SIZES.observer),
  "observer-memory": observerMemory(SIZES.observer),
};

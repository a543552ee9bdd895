// What is measured, against whom, and how good it has to be.

import { SIZES } from "./sizes.js";

/** The figure of a program that is shown and compared. */
export type Unit = "perSecond" | "bytes" | "p99Us" | "ns" | "cpuMs" | "ms" | "times";

/** Others on Node, by their heading; each is measured where it can do the same thing. */
export const PEERS = {
  nact: "nact",
  xstate: "XState",
  node: "Node",
  pqueue: "p-queue",
  plimit: "p-limit",
  piscina: "piscina",
  srvx: "srvx",
  dbos: "DBOS",
  bullmq: "BullMQ",
  disk: "the disk",
  off: "telemetry off",
  sdk: "two spans",
  nats: "bare NATS",
} as const;

export type Peer = keyof typeof PEERS;

export type Target =
  | { readonly type: "times-otp"; readonly times: number }
  | { readonly type: "times-peer"; readonly peer: Peer; readonly times: number }
  | { readonly type: "at-least"; readonly perSecond: number }
  | { readonly type: "at-most" | "below"; readonly value: number };

export interface Entry {
  readonly name: string;
  readonly unit: Unit;
  /** The same program in Erlang, as a call into otp_bench.erl. */
  readonly otp?: string;
  readonly peers: readonly Peer[];
  readonly target?: Target;
  /** Takes many seconds: measured in one turn, and with `--quick` only when it is named. */
  readonly long?: boolean;
  /** Needs a server of PostgreSQL: left out where there is none. */
  readonly postgres?: boolean;
  /** Needs a server of NATS: left out where there is none. */
  readonly nats?: boolean;
}

const otpRate = (name: string, operations: number, work: string): string =>
  `otp_bench:rate("${name}", ${operations}, fun() -> ${work} end)`;

const timesOtp = (times: number): Target => ({ type: "times-otp", times });

const timesPeer = (peer: Peer, times: number): Target => ({ type: "times-peer", peer, times });

/** By how much a System that is alive may slow an `await` of the host: Node 24 names owners without promise hooks. */
const HOST_AWAIT = Number.parseInt(process.versions.node, 10) >= 24 ? 1 / 1.2 : 1 / 1.4;

const HAS_NODE_SQLITE = Number.parseInt(process.versions.node, 10) >= 24;

/** Durable steps a second, on SQLite with a sync at each commit. */
const DURABLE_STEPS = HAS_NODE_SQLITE ? 100_000 : 50_000;

/** Messages a second through three adapters, on SQLite without a sync at each commit. */
const DURABLE_MESSAGES = HAS_NODE_SQLITE ? 40_000 : 25_000;

const { ring, fanIn, selectiveReceive, skynetLeaves } = SIZES;
const skynetSum = (skynetLeaves * (skynetLeaves - 1)) / 2;

export const CATALOGUE: readonly Entry[] = [
  {
    name: "ping-pong",
    unit: "perSecond",
    otp: otpRate("ping-pong", SIZES.pingPong, `otp_bench:ping_pong(${SIZES.pingPong})`),
    peers: ["nact", "xstate"],
    target: timesOtp(10),
  },
  { name: "ping-pong-context", unit: "perSecond", peers: [] },
  {
    name: "ring",
    unit: "perSecond",
    otp: otpRate("ring", ring.processes * ring.rounds, `otp_bench:ring(${ring.processes}, ${ring.rounds})`),
    peers: [],
    target: timesOtp(10),
  },
  {
    name: "fan-in",
    unit: "perSecond",
    otp: otpRate("fan-in", fanIn.senders * fanIn.each, `otp_bench:fan_in(${fanIn.senders}, ${fanIn.each})`),
    peers: [],
    target: timesOtp(5),
  },
  {
    name: "selective-receive",
    unit: "perSecond",
    otp: otpRate(
      "selective-receive",
      selectiveReceive.receives,
      `otp_bench:selective_receive(${selectiveReceive.receives}, ${selectiveReceive.waiting})`,
    ),
    peers: [],
    target: timesOtp(1),
  },
  {
    name: "spawn-monitor-exit",
    unit: "perSecond",
    otp: otpRate(
      "spawn-monitor-exit",
      SIZES.spawnMonitorExit,
      `otp_bench:spawn_monitor_exit(${SIZES.spawnMonitorExit})`,
    ),
    peers: ["nact", "xstate"],
    target: timesOtp(5),
  },
  {
    name: "linked-crash",
    unit: "perSecond",
    otp: otpRate(
      "linked-crash",
      SIZES.linkedCrash,
      `process_flag(trap_exit, true), otp_bench:linked_crash(${SIZES.linkedCrash})`,
    ),
    peers: [],
    target: timesOtp(5),
  },
  {
    name: "supervisor-children",
    unit: "perSecond",
    otp: otpRate(
      "supervisor-children",
      SIZES.supervisorChildren,
      `otp_supervisor:children(${SIZES.supervisorChildren})`,
    ),
    peers: [],
  },
  { name: "restart", unit: "perSecond", peers: ["nact"], target: timesPeer("nact", 1) },
  {
    name: "call",
    unit: "perSecond",
    otp: otpRate("call", SIZES.call, `otp_bench:calls(${SIZES.call})`),
    peers: [],
    target: timesOtp(3),
  },
  {
    name: "call-await",
    unit: "perSecond",
    otp: otpRate("call", SIZES.call, `otp_bench:calls(${SIZES.call})`),
    peers: ["nact"],
    target: timesOtp(3),
  },
  ...(["server-call", "server-call-await", "server-call-outside"] as const).map(
    (name): Entry => ({
      name,
      unit: "perSecond",
      otp: otpRate("server-call", SIZES.call, `otp_server:calls(${SIZES.call})`),
      peers: [],
      target: timesOtp(name === "server-call" ? 5 : 3),
    }),
  ),
  { name: "remote-send", unit: "perSecond", peers: [] },
  { name: "remote-call", unit: "perSecond", peers: [] },
  { name: "remote-call-cost", unit: "times", peers: [], target: { type: "at-most", value: 3 } },
  { name: "wire-send", unit: "perSecond", peers: [] },
  { name: "wire-call", unit: "perSecond", peers: [] },
  { name: "wire-call-cost", unit: "times", peers: [], target: { type: "at-most", value: 3 } },
  { name: "wire-server-call", unit: "perSecond", peers: [] },
  { name: "wire-server-call-cost", unit: "times", peers: [], target: { type: "at-most", value: 3 } },
  { name: "node-down", unit: "ms", peers: [], target: { type: "at-most", value: 2 } },
  { name: "node-down-of-20k", unit: "ms", peers: [], target: { type: "at-most", value: 10 } },
  {
    name: "state-machine",
    unit: "perSecond",
    otp: otpRate("state-machine", SIZES.stateMachine, `otp_statem:flips(${SIZES.stateMachine})`),
    peers: ["xstate"],
    target: timesOtp(5),
  },
  { name: "host-await", unit: "perSecond", peers: ["node"], target: timesPeer("node", HOST_AWAIT) },
  {
    name: "skynet",
    unit: "perSecond",
    otp: otpRate("skynet", 111_111, `${skynetSum} = otp_bench:skynet()`),
    peers: [],
    target: timesOtp(5),
  },
  {
    name: "idle-linked-process",
    unit: "bytes",
    otp: `otp_bench:idle(${SIZES.idle})`,
    peers: [],
    target: { type: "at-most", value: 600 },
  },
  {
    name: "dispatch-ack",
    unit: "perSecond",
    peers: ["pqueue"],
    target: { type: "at-least", perSecond: 700_000 },
  },
  ...["call", "call-await", "server-call-await", "dispatch-ack"].map(
    (name): Entry => ({
      name: `${name}-telemetry`,
      unit: "perSecond",
      peers: ["off"],
      target: timesPeer("off", 1 / 1.3),
    }),
  ),
  {
    name: "server-call-await-kept",
    unit: "perSecond",
    peers: ["off"],
    target: timesPeer("off", 0.9),
  },
  { name: "call-traced", unit: "perSecond", peers: ["sdk"], target: timesPeer("sdk", 1 / 1.5) },
  { name: "dispatch-bytes", unit: "bytes", peers: [], target: { type: "at-most", value: 1_300 } },
  { name: "dispatch-crash", unit: "perSecond", peers: ["pqueue"] },
  { name: "dispatch-of-20k", unit: "ns", peers: [] },
  { name: "dispatch-of-100k", unit: "ns", peers: [], long: true },
  { name: "crash-to-reroute", unit: "p99Us", peers: [], target: { type: "below", value: 100 } },
  { name: "task-stream", unit: "perSecond", peers: ["plimit"], target: timesPeer("plimit", 1) },
  { name: "pool-job", unit: "perSecond", peers: ["piscina"], target: timesPeer("piscina", 1 / 1.2) },
  {
    name: "codec-plain",
    unit: "perSecond",
    peers: ["node"],
    target: { type: "at-least", perSecond: 1_000_000 },
  },
  { name: "codec-pid", unit: "perSecond", peers: [] },
  { name: "codec-error", unit: "perSecond", peers: [] },
  {
    name: "thread-send",
    unit: "perSecond",
    peers: ["node"],
    target: { type: "at-least", perSecond: 1_000_000 },
  },
  { name: "thread-round-trip", unit: "ns", peers: ["node"], target: { type: "at-most", value: 60_000 } },
  // 1.7 times as fast as one thread.
  { name: "thread-pair", unit: "times", peers: ["node"], target: { type: "at-most", value: 1 / 1.7 } },
  { name: "thread-bolts", unit: "times", peers: ["node"], target: { type: "at-most", value: 1 / 1.7 } },
  {
    name: "node-send",
    unit: "perSecond",
    otp: `otp_nodes:send(${SIZES.nodes.send})`,
    peers: ["nats"],
    target: { type: "at-least", perSecond: 300_000 },
    nats: true,
  },
  {
    name: "node-calls",
    unit: "perSecond",
    otp: `otp_nodes:calls(${SIZES.nodes.calls}, 256)`,
    peers: ["nats"],
    target: { type: "at-least", perSecond: 100_000 },
    nats: true,
  },
  {
    name: "node-round-trip",
    unit: "ns",
    otp: `otp_nodes:round_trip(${SIZES.nodes.roundTrips})`,
    peers: ["nats"],
    target: timesPeer("nats", 1 / 1.5),
    nats: true,
  },
  {
    name: "node-round-trip-p99",
    unit: "p99Us",
    otp: `otp_nodes:round_trip_p99(${SIZES.nodes.roundTrips})`,
    peers: ["nats"],
    nats: true,
  },
  {
    name: "node-kill",
    unit: "p99Us",
    otp: `otp_nodes:kill(${SIZES.nodes.kills})`,
    peers: [],
    target: { type: "at-most", value: 50_000 },
    long: true,
    nats: true,
  },
  { name: "http-request", unit: "perSecond", peers: ["srvx"], target: timesPeer("srvx", 0.9) },
  { name: "sim-steps", unit: "perSecond", peers: [], target: { type: "at-least", perSecond: 500_000 } },
  {
    name: "sim-steps-async",
    unit: "perSecond",
    peers: [],
    target: { type: "at-least", perSecond: 150_000 },
  },
  { name: "sim-steps-host", unit: "perSecond", peers: [], target: { type: "at-least", perSecond: 10_000 } },
  { name: "sim-dispatch", unit: "perSecond", peers: [], target: { type: "at-least", perSecond: 1_000 } },
  {
    name: "topology-reliable-128",
    unit: "perSecond",
    peers: [],
    target: { type: "at-least", perSecond: 500_000 },
  },
  {
    name: "topology-reliable-4096",
    unit: "perSecond",
    peers: [],
    target: { type: "at-least", perSecond: 500_000 },
  },
  { name: "topology-unreliable", unit: "perSecond", peers: ["node"], target: timesPeer("node", 0.7) },
  { name: "acker", unit: "perSecond", peers: [], target: { type: "at-least", perSecond: 3_000_000 } },
  { name: "import", unit: "cpuMs", peers: ["nact"], target: timesPeer("nact", 1) },
  { name: "edge-of-10k", unit: "ns", peers: [] },
  { name: "edge-of-100k", unit: "ns", peers: [] },
  { name: "edge-of-1m", unit: "ns", peers: [] },
  { name: "edge-of-10m", unit: "ns", peers: [], long: true },
  {
    name: "heap-after-10m",
    unit: "bytes",
    peers: [],
    target: { type: "at-most", value: 1_000_000 },
    long: true,
  },
  {
    name: "flow-steps",
    unit: "perSecond",
    peers: [],
    target: { type: "at-least", perSecond: DURABLE_STEPS },
  },
  {
    name: "flow-steps-postgres",
    unit: "perSecond",
    peers: ["dbos"],
    target: timesPeer("dbos", 20),
    postgres: true,
  },
  { name: "flow-lonely-step", unit: "ns", peers: ["disk"], target: timesPeer("disk", 1 / 3) },
  { name: "flow-recovery", unit: "ms", peers: [], target: { type: "at-most", value: 500 } },
  { name: "flow-recovery-postgres", unit: "ms", peers: ["dbos"], long: true, postgres: true },
  {
    name: "flow-sleepers",
    unit: "bytes",
    peers: [],
    target: { type: "below", value: 30_000_000 },
    long: true,
  },
  { name: "flow-sleepers-start", unit: "ms", peers: [], target: { type: "below", value: 1_000 }, long: true },
  ...SIZES.flows.long.map(
    (steps): Entry => ({
      name: `flow-long-${steps}`,
      unit: "ns",
      peers: [],
      long: true,
    }),
  ),
  {
    name: "pipeline-memory",
    unit: "perSecond",
    peers: [],
    target: { type: "at-least", perSecond: 1_000_000 },
  },
  {
    name: "pipeline-memory-async",
    unit: "perSecond",
    peers: [],
    target: { type: "at-least", perSecond: 500_000 },
  },
  {
    name: "pipeline-sqlite",
    unit: "perSecond",
    peers: [],
    target: { type: "at-least", perSecond: DURABLE_MESSAGES },
  },
  { name: "pipeline-sqlite-held", unit: "ms", peers: ["node"], target: { type: "at-most", value: 10 } },
  { name: "pipeline-sqlite-lineage", unit: "bytes", peers: [], target: { type: "at-most", value: 91 } },
  { name: "pipeline-sqlite-stages", unit: "perSecond", peers: ["bullmq"], target: timesPeer("bullmq", 3) },
  {
    name: "pipeline-sqlite-flat",
    unit: "times",
    peers: [],
    target: { type: "at-most", value: 1.2 },
    long: true,
  },
  {
    name: "pipeline-recovery",
    unit: "times",
    peers: [],
    // 0.8 of the speed before.
    target: { type: "at-most", value: 1 / 0.8 },
    long: true,
  },
  {
    name: "pipeline-postgres",
    unit: "perSecond",
    peers: [],
    target: { type: "at-least", perSecond: 15_000 },
    postgres: true,
  },
  { name: "queue-sqlite", unit: "perSecond", peers: [] },
  { name: "queue-postgres", unit: "perSecond", peers: [], postgres: true },
  {
    name: "pipeline-slow-adapter",
    unit: "times",
    peers: [],
    target: { type: "at-most", value: 1.02 },
  },
  // 0.5 % of ten seconds.
  { name: "observer-idle", unit: "cpuMs", peers: [], target: { type: "at-most", value: 50 }, long: true },
  // 5 % of the throughput.
  {
    name: "observer-viewer",
    unit: "times",
    peers: [],
    target: { type: "at-most", value: 1 / 0.95 },
    long: true,
  },
  { name: "observer-turns", unit: "ms", peers: [], target: { type: "at-most", value: 1 }, long: true },
  {
    name: "observer-memory",
    unit: "bytes",
    peers: [],
    target: { type: "at-most", value: 20_000_000 },
    long: true,
  },
];

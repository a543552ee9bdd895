// How much work each program does: the same for all sides.

export const SIZES = {
  pingPong: 1_000_000,
  ring: { processes: 1_000, rounds: 1_000 },
  fanIn: { senders: 100, each: 10_000 },
  selectiveReceive: { receives: 1_000, waiting: 100_000 },
  spawnMonitorExit: 300_000,
  linkedCrash: 300_000,
  supervisorChildren: 16_000,
  restart: 100_000,
  call: 300_000,
  callTraced: 30_000,
  remote: 300_000,
  stateMachine: 300_000,
  hostAwait: 1_000_000,
  /** A process for each, ten to a parent, up to one root: 111,111 in all. */
  skynetLeaves: 100_000,
  idle: 1_000_000,
  dispatchAck: 200_000,
  taskStream: 100_000,
  dispatchBytes: 20_000,
  dispatchCrash: 100_000,
  /** Dispatches that wait at once. */
  dispatchWaiting: { "20k": 20_000, "100k": 100_000 },
  crashToReroute: 20_000,
  poolJob: 100_000,
  codec: { plain: 1_000_000, pid: 100_000, error: 10_000 },
  threads: {
    send: 1_000_000,
    roundTrips: 20_000,
    /** Of the computation of one piece of work: some tenths of a second. */
    rounds: 200_000_000,
    /** Of a bolt, which share such a piece of work. */
    tuples: 500,
  },
  nodes: { send: 800_000, calls: 102_400, roundTrips: 5_000, kills: 50 },
  httpRequest: 20_000,
  simulatedSteps: 500_000,
  simulatedAsyncSteps: 200_000,
  simulatedHostSteps: 10_000,
  /** Schedules of ten dispatches each. */
  simulatedDispatch: 1_000,
  /** Sentences of eight words, of which nine edges come. */
  topology: 30_000,
  /** The cost of an edge, by how many there are. */
  topologyLasting: {
    "10k": { edges: 10_000, rounds: 100, warmUp: 250_000 },
    "100k": { edges: 100_000, rounds: 9, warmUp: 250_000 },
    "1m": { edges: 1_000_000, rounds: 1, warmUp: 250_000 },
    "10m": { edges: 10_000_000, rounds: 1, warmUp: 250_000 },
  },
  flows: {
    /** Flows at once, and the trivial steps of each. */
    atOnce: 1_000,
    steps: 10,
    lonely: 1_000,
    sleepers: 100_000,
    /** Steps of one flow, whose cost is compared. */
    long: [10, 100, 1_000, 10_000],
    /** Steps in all, in flows of each length. */
    longAll: 10_000,
  },
  pipelines: {
    /** Messages of one execution. */
    memory: 200_000,
    durable: 50_000,
    stages: 20_000,
    server: 20_000,
    /** BullMQ takes many seconds for these. */
    peer: 10_000,
    /** What a message costs is compared among so many and so many. */
    few: 10_000,
    many: 1_000_000,
    /** About as long as the durable messages take. */
    busy: 500,
    slow: { messages: 3_000, concurrency: 30, adapterMs: 10 },
  },
  /** Messages of a durable queue. */
  queues: { file: 5_000, server: 5_000 },
  /** A system that an observer shows, at 100,000 messages a second. */
  observer: {
    processes: 100_000,
    settleMs: 1_500,
    atOnce: 1_000,
    times: 15_000,
    ms: 5_000,
    perMs: 100,
    pairs: 3,
  },
  acker: { trees: 1_000_000, pending: 4_096 },
} as const;

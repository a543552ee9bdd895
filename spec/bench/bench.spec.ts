// The benchmarks measure what they say: each program checks its own count, and the table is computed right.

import { describe, expect, it } from "vitest";
import { hostAwait } from "./awaits.js";
import * as bullmq from "./bullmq.js";
import { call, callAwait } from "./calls.js";
import { CATALOGUE, type Entry } from "./catalogue.js";
import { codecError, codecPid, codecPlain } from "./codec.js";
import { type Compared, compare, comparisonTable, figureOf, onlyNow } from "./comparison.js";
import * as dbos from "./dbos.js";
import * as disk from "./disk.js";
import { crashToReroute, dispatchAck, dispatchBytes, dispatchCrash, dispatchWaiting } from "./dispatch.js";
import { flowSteps, lonelyStep, longFlows, sleepers, type Weighed } from "./flows.js";
import { httpRequest } from "./http.js";
import { importOf } from "./imports.js";
import { runAndKill } from "./killed.js";
import { idleLinkedProcesses, linkedCrash, skynet, spawnMonitorExit } from "./lives.js";
import { fanIn, pingPong, pingPongContext, ring, selectiveReceive } from "./messages.js";
import * as nact from "./nact.js";
import * as nats from "./nats.js";
import * as node from "./node.js";
import { observerIdle, observerMemory, observerTurns, observerViewer } from "./observer.js";
import * as off from "./off.js";
import { isWanted, readOptions, UsageError } from "./options.js";
import { programs as ours } from "./ours.js";
import { recovery } from "./pipeline-recovery.js";
import { flat, inMemory, newFile, onSqlite, slowAdapter } from "./pipelines.js";
import * as piscina from "./piscina.js";
import * as plimit from "./plimit.js";
import { poolJob } from "./pool.js";
import * as pqueue from "./pqueue.js";
import { median, onSystem, type Program, runOnce, runRounds, WrongCountError } from "./program.js";
import { queueOn } from "./queues.js";
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
import { format, judge, table } from "./result.js";
import { buildRevision } from "./revision.js";
import * as sdk from "./sdk.js";
import { serverCall, serverCallAwait, serverCallOutside } from "./servers.js";
import { simulatedAsyncSteps, simulatedDispatch, simulatedHostSteps, simulatedSteps } from "./simulator.js";
import * as srvx from "./srvx.js";
import { stateMachine } from "./state-machine.js";
import { restart, supervisorChildren } from "./supervision.js";
import { taskStream } from "./tasks.js";
import { countAll, keepSpans } from "./telemetry.js";
import { acker, topologyLasting, topologyReliable, topologyUnreliable } from "./topology.js";
import { callTraced, twoSpans } from "./traced.js";
import { openViewer } from "./viewer.js";
import * as xstate from "./xstate.js";

/** One client within this process, in the place of a process of many. */
const oneByOne = async (port: number, count: number): Promise<number> => {
  let complete = 0;
  for (let i = 0; i < count; i++) {
    const response = await fetch(`http://127.0.0.1:${port}`);
    if (JSON.stringify(await response.json()) === JSON.stringify({ hello: "world" })) complete++;
  }
  return complete;
};

const hamlet = { processes: 20, settleMs: 0, atOnce: 4, times: 5, ms: 20, perMs: 2, pairs: 1 };

const tiny: readonly (readonly [name: string, operations: number, program: Program])[] = [
  ["ping-pong", 20, pingPong(20)],
  ["ping-pong-context", 20, pingPongContext(20)],
  ["ring", 50, ring(10, 5)],
  ["fan-in", 30, fanIn(3, 10)],
  ["selective-receive", 10, selectiveReceive(10, 20)],
  ["spawn-monitor-exit", 10, spawnMonitorExit(10)],
  ["linked-crash", 10, linkedCrash(10)],
  ["supervisor-children", 10, supervisorChildren(10)],
  ["restart", 10, restart(10)],
  ["call", 10, call(10)],
  ["call-await", 10, callAwait(10)],
  ["server-call", 10, serverCall(10)],
  ["server-call-await", 10, serverCallAwait(10)],
  ["server-call-outside", 10, serverCallOutside(10)],
  ["remote-send", 300, remoteSend(300)],
  ["remote-call", 300, remoteCall(300)],
  ["remote-call-cost", 3_000, remoteCallCost(300)],
  ["wire-send", 300, wireSend(300)],
  ["wire-call", 300, wireCall(300)],
  ["wire-call-cost", 3_000, wireCallCost(300)],
  ["wire-server-call", 300, wireServerCall(300)],
  ["wire-server-call-cost", 3_000, wireServerCallCost(300)],
  ["node-down", 1, nodeDown(20, 10)],
  ["state-machine", 10, stateMachine(10)],
  ["call-telemetry", 10, call(10, countAll)],
  ["call-await-telemetry", 10, callAwait(10, countAll)],
  ["server-call-await-telemetry", 10, serverCallAwait(10, countAll)],
  ["dispatch-ack-telemetry", 30, dispatchAck(30, countAll)],
  ["server-call-await-kept", 10, serverCallAwait(10, keepSpans)],
  ["call-traced", 10, callTraced(10)],
  ["call-traced by hand", 10, twoSpans(10)],
  ["skynet", 111, skynet(100)],
  ["idle-linked-process", 10, idleLinkedProcesses(10)],
  ["dispatch-ack", 30, dispatchAck(30)],
  ["dispatch-bytes", 30, dispatchBytes(30)],
  ["dispatch-crash", 30, dispatchCrash(30)],
  ["dispatch-of-20k", 300, dispatchWaiting(300)],
  ["crash-to-reroute", 10, crashToReroute(10)],
  ["sim-steps", 1_000, simulatedSteps(1_000)],
  ["sim-steps-async", 1_000, simulatedAsyncSteps(1_000)],
  ["sim-steps-host", 500, simulatedHostSteps(500)],
  ["sim-dispatch", 20, simulatedDispatch(20)],
  ["import", 1, importOf("signalbox")],
  ["topology-reliable", 90, topologyReliable(10, 3)],
  ["topology-unreliable", 90, topologyUnreliable(10)],
  ["acker", 20, acker(20, 4)],
  ["flow-steps", 12, flowSteps(4, 3, "sqlite")],
  ["flow-lonely-step", 3, lonelyStep(3)],
  ["flow-lonely-step on the disk", 3, disk.syncs(3)],
  ["flow-long", 6, longFlows(3, 6)],
  ["pipeline-memory", 1_000, inMemory(1_000)],
  ["pipeline-memory-async", 100, inMemory(100, "async")],
  ["pipeline-sqlite", 600, onSqlite(600, "one route")],
  ["pipeline-sqlite-stages", 100, onSqlite(100, "three routes")],
  ["pipeline-sqlite-flat", 100, flat(50, 100)],
  ["queue-sqlite", 60, queueOn(60, async () => newFile())],
  ["pipeline-slow-adapter", 30, slowAdapter(30, 10, 1)],
  ["observer-idle", 1, observerIdle(hamlet)],
  ["observer-viewer", 1, observerViewer(hamlet, openViewer)],
  ["observer-turns", 1, observerTurns(hamlet, openViewer)],
  ["observer-memory", 1, observerMemory(hamlet, openViewer)],
  ["ping-pong on nact", 20, nact.pingPong(20)],
  ["spawn-monitor-exit on nact", 10, nact.spawnMonitorExit(10)],
  ["restart on nact", 10, nact.restart(10)],
  ["import on nact", 1, importOf("nact")],
  ["call on nact", 10, nact.call(10)],
  ["host-await", 10, hostAwait(10)],
  ["host-await on Node", 10, node.hostAwait(10)],
  ["a busy loop on Node", 3, node.busyLoop(3)],
  ["task-stream", 100, taskStream(100)],
  ["task-stream on p-limit", 100, plimit.taskStream(100)],
  ["dispatch-ack on p-queue", 30, pqueue.dispatchAck(30)],
  ["dispatch-crash on p-queue", 30, pqueue.dispatchCrash(30)],
  ["codec-plain", 250, codecPlain(250)],
  ["codec-plain as JSON", 250, node.codecPlain(250)],
  ["codec-pid", 250, codecPid(250)],
  ["codec-error", 250, codecError(250)],
  ["pool-job", 30, poolJob(30)],
  ["pool-job on piscina", 30, piscina.poolJob(30)],
  ["http-request", 20, httpRequest(20, oneByOne)],
  ["http-request on srvx", 20, srvx.httpRequest(20, oneByOne)],
  ["word count on Node's streams", 90, node.wordCount(10)],
  ["ping-pong on XState", 20, xstate.pingPong(20)],
  ["spawn-monitor-exit on XState", 10, xstate.spawnMonitorExit(10)],
  ["state-machine on XState", 10, xstate.stateMachine(10)],
];

describe.each(tiny)("the program %s", (_name, operations, program) => {
  // The second run fails by its count, which the error names.
  it("counts what it did, run after run, and has no speed when the count is wrong", async () => {
    const { expected } = program;
    const first = await program.run();
    await first.end?.();
    expect({ counted: first.counted, operations: program.operations }).toEqual({
      counted: expected,
      operations,
    });
    await expect(runOnce({ ...program, expected: expected + 1 })).rejects.toEqual(
      new WrongCountError(expected, expected + 1),
    );
  });
});

describe("a program", () => {
  it("fails when one of its processes crashes, instead of waiting for ever", async () => {
    const broken = onSystem(1, 1, (system) => {
      system.spawn(() => {
        throw new Error("no pong");
      });
    });
    await expect(runOnce(broken)).rejects.toThrow("no pong");
  });

  it("that takes times gives its median and 99th percentile", async () => {
    const { medianUs = Number.NaN, p99Us = Number.NaN } = await runOnce(crashToReroute(100));
    expect(medianUs).toBeGreaterThan(0);
    expect(p99Us).toBeGreaterThanOrEqual(medianUs);
  });

  it("that sleeps gives what its flows add to an empty host", async () => {
    const ready = `process.stdout.write("ready\\n"); setInterval(() => undefined, 1_000);`;
    const weighs = (flows: number): Program =>
      sleepers(
        40,
        (role, _place, count = "") => ["-e", ready, role, count],
        ([, , role, count]): string => {
          expect(role).toBe("weigh");
          const weighed: Weighed =
            count === "0" ? { flows: 0, bytes: 1_000, ms: 20 } : { flows, bytes: 5_000, ms: 50 };
          return JSON.stringify(weighed);
        },
      );
    expect(await runOnce(weighs(40))).toEqual({ bytes: 4_000, ms: 30 });
    await expect(runOnce(weighs(-1))).rejects.toBeInstanceOf(WrongCountError);
  });

  it("that is killed twice compares the speeds of its first and its last life, and counts what was lost or done twice", async () => {
    const lives: string[] = [];
    const summary = { status: "completed", inputs: 40, done: 40, dead: 0, pending: 0 };
    const recovered = (lineage: number, done = 40): Program =>
      recovery({
        killed: async (life) => {
          lives.push(life);
          return life === "before" ? JSON.stringify({ perSecond: 300 }) : "";
        },
        last: () => JSON.stringify({ perSecond: 200, given: 40, summary: { ...summary, done } }),
        left: () => ({ live: 0, lineage, lineageBytes: 0 }),
      });
    expect(await runOnce(recovered(40))).toEqual({ times: 1.5 });
    expect(lives).toEqual(["before", "between"]);
    await expect(runOnce(recovered(39))).rejects.toBeInstanceOf(WrongCountError);
    await expect(runOnce(recovered(40, 41))).rejects.toBeInstanceOf(WrongCountError);
  });

  it("that is to be killed half-way gives what it printed before", async () => {
    const ready = `console.log("half"); process.stdout.write("ready\\n"); setInterval(() => undefined, 1_000);`;
    expect(await runAndKill(["-e", ready])).toBe("half\n");
  });

  it("that is to be killed half-way fails when it ends before that, with what it wrote", async () => {
    await expect(runAndKill(["-e", `console.error("no disk")`])).rejects.toThrow(
      /before it was ready:\nno disk/,
    );
  });

  it("that lasts weighs and times all but its warm-up", async () => {
    const lasting = topologyLasting({ edges: 20, rounds: 2, warmUp: 10 });
    expect(lasting).toMatchObject({ operations: 2 * 27, expected: 2 * 27 + 18, once: true });
    const { ns, bytes } = await runOnce(lasting);
    expect(ns).toBeGreaterThan(0);
    expect(bytes).toEqual(expect.any(Number));
  });

  it("is run five times more than asked for, to warm up; a weight is taken once", async () => {
    let runs = 0;
    const counting: Program = {
      operations: 1,
      expected: 7,
      run: async () => ({ counted: 7, figures: { runs: ++runs } }),
    };
    expect(await runRounds(counting, 3)).toEqual([{ runs: 6 }, { runs: 7 }, { runs: 8 }]);
    expect(await runRounds({ ...counting, once: true }, 3)).toEqual([{ runs: 9 }]);
  });
});

describe("the catalogue", () => {
  it("has a program for every entry, on every side it names", () => {
    const names = (of: readonly Entry[]): string[] => of.map((entry) => entry.name).sort();
    expect(Object.keys(ours).sort()).toEqual(names(CATALOGUE));
    for (const [peer, programs] of Object.entries({
      nact: nact.programs,
      xstate: xstate.programs,
      node: node.programs,
      pqueue: pqueue.programs,
      plimit: plimit.programs,
      piscina: piscina.programs,
      srvx: srvx.programs,
      off: off.programs,
      sdk: sdk.programs,
      dbos: dbos.programs,
      bullmq: bullmq.programs,
      disk: disk.programs,
      nats: nats.programs,
    }))
      expect(Object.keys(programs).sort()).toEqual(
        names(CATALOGUE.filter((entry) => entry.peers.some((one) => one === peer))),
      );
  });
});

describe("the result", () => {
  const rate: Entry = {
    name: "hops",
    unit: "perSecond",
    peers: [],
    target: { type: "times-otp", times: 10 },
  };
  const weight: Entry = {
    name: "idle",
    unit: "bytes",
    peers: [],
    target: { type: "at-most", value: 600 },
  };

  it("is the median of all samples, of two middles their mean", () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([100, 9, 1, 5])).toBe(7);
    expect(judge(rate, { ours: [30, 10, 20] })).toMatchObject({ ours: 20, lowest: 10, highest: 30 });
  });

  it("compares rates upwards and weights downwards", () => {
    expect(judge(rate, { ours: [20], otp: [5], nact: [2], xstate: [40] }).ratios).toEqual({
      otp: 4,
      nact: 10,
      xstate: 0.5,
      node: null,
      pqueue: null,
      plimit: null,
      piscina: null,
      srvx: null,
      off: null,
      sdk: null,
      dbos: null,
      bullmq: null,
      disk: null,
      nats: null,
    });
    expect(judge(weight, { ours: [300], otp: [2_700] }).ratios).toEqual({
      otp: 9,
      nact: null,
      xstate: null,
      node: null,
      pqueue: null,
      plimit: null,
      piscina: null,
      srvx: null,
      off: null,
      sdk: null,
      dbos: null,
      bullmq: null,
      disk: null,
      nats: null,
    });
  });

  it("says whether the target is met, and nothing where there is nothing to compare with", () => {
    expect(judge(rate, { ours: [100], otp: [10] })).toMatchObject({ target: ">= 10 x OTP", met: true });
    expect(judge(rate, { ours: [99], otp: [10] }).met).toBe(false);
    expect(judge(rate, { ours: [99], otp: [] })).toMatchObject({ otp: null, met: null });
    expect(judge(weight, { ours: [600] })).toMatchObject({ target: "<= 600 B", met: true });
    expect(judge(weight, { ours: [601] }).met).toBe(false);
    const fast: Entry = { ...rate, target: { type: "at-least", perSecond: 500_000 } };
    expect(judge(fast, { ours: [500_000] })).toMatchObject({ target: ">= 500 k/s", met: true });
    expect(judge(fast, { ours: [499_999] }).met).toBe(false);
    const soon: Entry = { ...rate, unit: "p99Us", target: { type: "below", value: 100 } };
    expect(judge(soon, { ours: [99.9] })).toMatchObject({ target: "< 100 us", met: true });
    expect(judge(soon, { ours: [100] }).met).toBe(false);
    const level: Entry = { ...rate, target: { type: "times-peer", peer: "node", times: 0.7 } };
    expect(judge(level, { ours: [7], node: [10] })).toMatchObject({ target: ">= 0.7 x Node", met: true });
    expect(judge(level, { ours: [6.9], node: [10] }).met).toBe(false);
    expect(judge(level, { ours: [7], nact: [1] }).met).toBeNull();
    const aimless: Entry = { name: "hops", unit: "perSecond", peers: [] };
    expect(judge(aimless, { ours: [1] })).toMatchObject({ target: "-", met: null });
  });

  it("shows three digits and a unit", () => {
    const shown = [999_499, 999_500, 9_994_000, 9_996_000, 31_400_000, 120_000_000, 5_120];
    expect(shown.map((figure) => format(figure, "perSecond"))).toEqual([
      "999 k/s",
      "1.00 M/s",
      "9.99 M/s",
      "10.0 M/s",
      "31.4 M/s",
      "120 M/s",
      "5.12 k/s",
    ]);
    expect(format(324.6, "bytes")).toBe("325 B");
    expect(format(47.25, "p99Us")).toBe("47.3 us");
    expect(format(1_834.5, "ns")).toBe("1835 ns");
    expect(format(97.44, "cpuMs")).toBe("97.4 ms");
    expect(format(412.6, "ms")).toBe("413 ms");
    expect(format(1.0184, "times")).toBe("1.018 x");
  });

  it("shows the median of a time beside its 99th percentile", () => {
    const time: Entry = { name: "reroute", unit: "p99Us", peers: [] };
    expect(table([judge(time, { ours: [30, 50, 40], medianUs: [4, 6, 5] })], true)).toContain(
      "40.0 us (median 5.00 us)",
    );
  });

  it("is a table; without OTP its columns go", () => {
    const rows = [judge(rate, { ours: [20e6], otp: [1e6] }), judge(weight, { ours: [601], otp: [2_820] })];
    expect(table(rows, true).split("\n")).toEqual([
      "| program | signalbox |      lowest..highest |      OTP | x OTP | nact | XState | Node | p-queue | p-limit | piscina | srvx | DBOS | BullMQ | the disk | telemetry off | two spans | bare NATS |      target | met |",
      "|---------|----------:|---------------------:|---------:|------:|-----:|-------:|-----:|--------:|--------:|--------:|-----:|-----:|-------:|---------:|--------------:|----------:|----------:|------------:|----:|",
      "| hops    |  20.0 M/s | 20.0 M/s .. 20.0 M/s | 1.00 M/s |  20.0 |    - |      - |    - |       - |       - |       - |    - |    - |      - |        - |             - |         - |         - | >= 10 x OTP | yes |",
      "| idle    |     601 B |       601 B .. 601 B |   2820 B |   4.7 |    - |      - |    - |       - |       - |       - |    - |    - |      - |        - |             - |         - |         - |    <= 600 B |  no |",
    ]);
    const beside: Entry = { ...rate, target: { type: "times-peer", peer: "node", times: 0.9 } };
    expect(table([judge(beside, { ours: [8], node: [10] })], false)).toContain("| no (0.80 x) |");
    expect(table(rows, false)).not.toContain("1.00 M/s");
    expect(table(rows, false).split("\n")[0]).toBe(
      "| program | signalbox |      lowest..highest | nact | XState | Node | p-queue | p-limit | piscina | srvx | DBOS | BullMQ | the disk | telemetry off | two spans | bare NATS |      target | met |",
    );
  });
});

describe("a comparison of two revisions", () => {
  const rate = (...pairs: readonly (readonly [now: number, before: number])[]): Compared =>
    compare(
      "hops",
      "perSecond",
      pairs.map(([now, before]) => ({ now, before })),
    );

  it("is the median of the ratios of its pairs, with their spread: a machine that slows down favours neither", () => {
    expect(rate([100, 50], [10, 5], [2, 1])).toMatchObject({
      ratio: 2,
      lowest: 2,
      highest: 2,
      verdict: "faster",
    });
    expect(rate([8, 10], [12, 10], [10, 10])).toMatchObject({ ratio: 1, lowest: 0.8, highest: 1.2 });
  });

  it("turns times and weights round, so that above 1 is always better", () => {
    expect(compare("edge", "ns", [{ now: 50, before: 100 }]).ratio).toBe(2);
    expect(compare("idle", "bytes", [{ now: 400, before: 200 }]).verdict).toBe("slower");
  });

  it("calls a program slower only when every pair does, and by three in a hundred", () => {
    expect(rate([90, 100], [95, 100], [91, 100]).verdict).toBe("slower");
    expect(rate([90, 100], [101, 100], [91, 100]).verdict).toBe("same");
    expect(rate([98, 100], [99, 100], [98, 100]).verdict).toBe("same");
    expect(rate([104, 100], [110, 100]).verdict).toBe("faster");
  });

  it("goes by the time of the processor, the median of a turn's rounds", () => {
    const rounds = [1, 9, 5].map((perCpuSecond) => ({ perSecond: 1, perCpuSecond }));
    expect(figureOf("perSecond", rounds)).toBe(5);
    expect(figureOf("ns", [{ ns: 900, cpuNs: 700, bytes: 3 }])).toBe(700);
    expect(figureOf("bytes", [{ ns: 900, cpuNs: 700, bytes: 3 }])).toBe(3);
    expect(figureOf("p99Us", [{ medianUs: 5, p99Us: 90 }])).toBe(5);
  });

  it("is a table that ends with the slower programs by name; a new program has no ratio", () => {
    const rows = [rate([90e6, 100e6]), onlyNow("leaps", "perSecond", 1e6)];
    expect(comparisonTable(rows, "abc1234").split("\n")).toEqual([
      "| program |          now |     abc1234 | ratio | lowest..highest | verdict |",
      "|---------|-------------:|------------:|------:|----------------:|--------:|",
      "| hops    | 90.0 M/cpu s | 100 M/cpu s |  0.90 |    0.90 .. 0.90 |  slower |",
      "| leaps   | 1.00 M/cpu s |           - |     - |               - |     new |",
      "",
      "Slower: hops.",
    ]);
    expect(comparisonTable([rate([1, 1])], "abc1234")).toMatch(/\n\nNo program is slower\.$/);
  });

  it("refuses a revision that git does not know, in one line", () => {
    expect(() => buildRevision("no-such-branch")).toThrow(UsageError);
    expect(() => buildRevision("--help")).toThrow(/^git rev-parse failed: fatal: Needed a single revision$/);
  });
});

describe("the command line", () => {
  const names = ["ring", "call"];

  it("takes programs, fewer rounds and a file", () => {
    expect(readOptions([], names)).toEqual({
      only: undefined,
      quick: false,
      json: undefined,
      compare: undefined,
    });
    const all = ["--only", "call,ring", "--quick", "--json", "out.json", "--compare", "main"];
    expect(readOptions(all, names)).toEqual({
      only: ["call", "ring"],
      quick: true,
      json: "out.json",
      compare: "main",
    });
  });

  it("leaves long programs out of a quick run, unless they are named", () => {
    const long: Entry = { name: "ring", unit: "perSecond", peers: [], long: true };
    const wanted = (...args: readonly string[]): boolean => isWanted(long, readOptions(args, names));
    expect(wanted()).toBe(true);
    expect(wanted("--quick")).toBe(false);
    expect(wanted("--quick", "--only", "ring")).toBe(true);
    expect(wanted("--only", "call")).toBe(false);
  });

  it.each([
    [["--fast"], /^Unknown option '--fast'/],
    [["ring"], /^Unexpected argument 'ring'/],
    [["--json"], /--json <value>' argument missing/],
    [["--json="], /^--json needs a file/],
    [["--compare="], /^--compare needs a revision/],
    [["--quick=yes"], /--quick' does not take an argument/],
    [["--only", "ring,rnig"], /^no program is called "rnig"; there are ring, call$/],
  ])("refuses %j in one line", (args, message) => {
    const refused = (): unknown => readOptions(args, names);
    expect(refused).toThrow(UsageError);
    expect(refused).toThrow(message);
    expect(refused).not.toThrow(/\n/);
  });
});

// The protocol of the admin socket does not change: hosts and commands of different versions speak it. Each operation has its lines in
// spec/admin/golden. A line that changes there is another protocol.

import { expect, test } from "vitest";
import { PROTOCOL_LIMITS } from "../../lib/admin/protocol.js";
import type { FlowOperations } from "../../lib/flow/operations/operations.js";
import * as flowWire from "../../lib/flow/operations/operations-table.js";
import { FlowWaitTimeoutError } from "../../lib/flow/runtime/errors.js";
import { ExecutionWaitTimeoutError } from "../../lib/pipeline/operations/errors.js";
import type { PipelineOperations } from "../../lib/pipeline/operations/operations.js";
import * as pipelineWire from "../../lib/pipeline/operations/operations-table.js";
import type { QueueOperations } from "../../lib/pipeline/queues/operations.js";
import * as queueWire from "../../lib/pipeline/queues/operations-table.js";
import { answering, collect, signaturesOf, type Wire, wireTo } from "./support/wire.js";

/** Asks for all of it, one after another, and gives the lines. An error is a line as well. */
async function linesOf<O>(
  { lines }: Wire,
  remote: O,
  asks: readonly ((on: O) => Promise<unknown>)[],
): Promise<string> {
  for (const ask of asks) await ask(remote).catch(() => undefined);
  return lines.join("\n");
}

/** The operations that lines ask for. */
const askedIn = (lines: string): string[] => [
  ...new Set([...lines.matchAll(/^> .*?"op":"([\w.]+)"/gm)].map(([, op]) => op as string)),
];

const flow = { id: "a", name: "order", version: 1, status: "running", createdAt: 1, updatedAt: 2 };
const entry = (seq: number): object => ({
  seq,
  at: 5,
  type: "done",
  key: `step#${seq}`,
  value: null,
  asks: [],
});
const published = (position: number): object => ({ position, topic: "n", value: position, at: 5 });
const EVIDENCE = { host: "flows", life: 2, marks: [], shortLives: { lives: 0, longestMs: 0 }, others: [] };
const FLOW_ANSWERS = {
  list: { flows: [flow], next: "7" },
  inspect: { ...flow, input: [1], generation: 0, entries: 1, pending: [], mail: [], children: [] },
  history: (_id: string, { after = -1, limit }: { after?: number; limit: number }) =>
    [0, 1, 2]
      .filter((seq) => seq > after)
      .map(entry)
      .slice(0, limit),
  events: (id: string, { after = 0, follow = true }: { after?: number; follow?: boolean }) => {
    if (follow) throw new FlowWaitTimeoutError(id, 1, "publish an event");
    return [1, 2].filter((position) => position > after).map(published);
  },
  timeline: { flow, at: 5, generation: 0, items: [], isCut: false, mail: [], children: [] },
  counts: { counts: { running: 1 }, atMost: 10_000 },
  evidence: [EVIDENCE],
  retry: () => Promise.reject(Object.assign(new Error("not now"), { code: "ERR_FLOW_STATE" })),
  fork: "b",
  outcome: (id: string, { timeoutMs }: { timeoutMs: number }) => {
    if (timeoutMs < PROTOCOL_LIMITS.waitMs) throw new FlowWaitTimeoutError(id, timeoutMs);
    return { status: "completed", result: 5 };
  },
  prune: 7,
  start: "a",
  metrics: { counts: { running: 1 }, lagMs: 0, inHospital: 0 },
  schedules: [{ name: "nightly", paused: true }],
  queues: [{ name: "emails", running: 1, waiting: 2, heldByRate: 1 }],
  queueKeys: { keys: [{ key: "ada", waiting: 2, running: 1 }], more: false },
};

const FLOW_ASKS: readonly ((on: FlowOperations) => Promise<unknown>)[] = [
  (on) => on.list(),
  (on) =>
    on.list({
      ...{ status: ["failed", "paused"], name: "order", version: 2, idPrefix: "o", queue: "q", parent: "p" },
      ...{ createdFrom: 1, createdBelow: 2, updatedFrom: 3, updatedBelow: 4 },
      ...{ order: "oldest", limit: 5, cursor: "7" },
    }),
  (on) => on.inspect("a"),
  (on) => collect(on.history("a")),
  (on) => collect(on.history("a", { after: 0, limit: 2 })),
  (on) => collect(on.events("a", { topic: "n", after: 1, follow: false })),
  (on) => collect(on.events("a", { timeoutMs: 20 })),
  (on) => on.pause("a"),
  (on) => on.resume("a"),
  (on) => on.cancel("a"),
  (on) => on.kill("a"),
  (on) => on.retry("a"),
  (on) => on.retry("a", { from: "charge#2" }),
  (on) => on.fork("a"),
  (on) => on.fork("a", { id: "b", from: "charge", result: null }),
  (on) => on.fork("a", { id: "b", input: { total: 5 } }),
  (on) => on.outcome("a"),
  (on) => on.outcome("a", { timeoutMs: 20 }),
  (on) => on.remove("a"),
  (on) => on.prune(),
  (on) => on.prune({ status: "failed", name: "order", olderThanMs: 5, keep: 3 }),
  (on) => on.send("a", "approval", { ok: true }),
  (on) => on.send("a", "approval", undefined, { id: "m1" }),
  (on) => on.start("order", { total: 5 }),
  (on) => on.start("order", undefined, { id: "a" }),
  (on) => on.metrics(),
  (on) => on.schedules(),
  (on) => on.pauseSchedule("nightly"),
  (on) => on.resumeSchedule("nightly"),
  (on) => on.queues(),
  (on) => on.discharge("a"),
  (on) => on.backup("copy.db"),
  (on) => on.timeline("a"),
  (on) => on.timeline("a", { limit: 20 }),
  (on) => on.counts(),
  (on) => on.evidence(),
  (on) => on.schedules({ after: "nightly", limit: 2 }),
  (on) => on.queues({ atMost: 100 }),
  (on) => on.queueKeys("emails", { atMost: 100, limit: 5 }),
];

test("every operation on flows has its line, and its answer [Z690]", async () => {
  const operations = answering<FlowOperations>(FLOW_ANSWERS, ["history", "events"]);
  const service = flowWire.flowService(operations, () => true);
  const wire = wireTo(service);
  const lines = await linesOf(wire, flowWire.remoteOperations(wire.ask), FLOW_ASKS);
  await expect(`${signaturesOf(service)}\n\n${lines}\n`).toMatchFileSnapshot("golden/flows.txt");
  expect(askedIn(lines).sort()).toEqual([...service.operations.keys()].sort());
});

const execution = { id: "a", pipeline: "words", status: "running", inputs: 1, done: 0, dead: 0, pending: 1 };
const record = (id: string): object => ({
  id,
  status: "completed",
  attempt: 1,
  calls: [],
  children: 0,
  errors: [],
});
const letter = (id: string): object => ({ id, queue: "lines", value: "x", errors: ["no"], at: 5 });
const messages = (_id: string, ...rest: readonly object[]): object[] => {
  const { after, limit } = rest.at(-1) as { after?: string; limit: number };
  return ["1.1", "1.2", "1.3"]
    .filter((id) => after === undefined || id > after)
    .map(record)
    .slice(0, limit);
};
const byMessage = (_id: string, message: string, range: object): object[] => messages(message, range);
const letters = (_id: string, { behind, limit }: { behind?: { id: string }; limit: number }): object[] =>
  ["1.1", "1.2", "1.3"]
    .filter((id) => behind === undefined || id > behind.id)
    .map((id) => ({ ...letter(id), turn: 1 }))
    .slice(0, limit);
const PIPELINE_ANSWERS = {
  list: ({ cursor }: { cursor?: string } = {}) => ({
    executions: [execution],
    ...(cursor === undefined && { next: "7" }),
  }),
  status: execution,
  inspect: { ...execution, configuration: {}, input: null, queues: [], sources: [] },
  lineage: { message: record("1.1"), chain: [], children: [] },
  ...{ children: byMessage, batch: byMessage, messages, failures: messages },
  ...{ deadLetters: letters, deadRecords: letters },
  ...{ retryDead: { letters: 2, next: "x" }, dropDead: { letters: 1 } },
  outcome: (id: string, { timeoutMs }: { timeoutMs: number }) => {
    if (timeoutMs < PROTOCOL_LIMITS.waitMs) throw new ExecutionWaitTimeoutError(id, timeoutMs);
    return { ...execution, status: "completed" };
  },
  ...{ pause: true, resume: false, cancel: true },
  ...{ giveUp: { messages: 3, sources: 1, more: false }, move: { messages: 3, more: true } },
  replay: { id: "b", messages: 2 },
  routes: {
    ...{ id: "a", pipeline: "words", status: "running", at: 5 },
    isLive: false,
    nodes: [],
    edges: [],
  },
  counts: { counts: { running: 1 }, atMost: 10_000 },
  evidence: [EVIDENCE],
  delayed: [{ id: "1.1", queue: "lines", until: 9, why: "quarantine", attempts: 0, ends: 1, errors: ["x"] }],
};

const PIPELINE_ASKS: readonly ((on: PipelineOperations) => Promise<unknown>)[] = [
  (on) => on.list(),
  (on) =>
    on.list({
      ...{ status: "failed", pipeline: "words", idPrefix: "o", createdFrom: 1, createdBelow: 2 },
      ...{ order: "oldest", limit: 5, cursor: "7" },
    }),
  (on) => collect(on.executions({ pipeline: "words" })),
  (on) => on.status("a"),
  (on) => on.inspect("a"),
  (on) => on.lineage("a", "1.1"),
  (on) => collect(on.children("a", "1.1")),
  (on) => collect(on.children("a", "1.1", { after: "1.1", limit: 1 })),
  (on) => collect(on.batch("a", "1.1")),
  (on) => collect(on.batch("a", "1.1", { after: "1.1", limit: 1 })),
  (on) => collect(on.messages("a", { route: "check" })),
  (on) => collect(on.messages("a", { after: "1.1", limit: 1 })),
  (on) => collect(on.failures("a", { route: "check", after: "1.1", limit: 1 })),
  (on) => collect(on.deadLetters("a", { route: "check" })),
  (on) => collect(on.deadLetters("a", { behind: { queue: "lines", id: "1.1" }, limit: 1 })),
  (on) => collect(on.deadRecords("a", { message: "1.1" })),
  (on) => collect(on.deadRecords("a", { behind: { queue: "lines", id: "1.1", turn: 1 }, limit: 1 })),
  (on) => on.retryDead("a", "1.1"),
  (on) => on.retryDead("a", ["1.1", "1.2"], { by: "Ada", reason: "again" }),
  (on) => on.editDead("a", "1.1", { line: 1 }, { by: "Ada", reason: "again" }),
  (on) =>
    on.dropDead("a", { route: "check", error: "no", before: 9, limit: 2 }, { by: "Ada", reason: "old" }),
  (on) => on.outcome("a"),
  (on) => on.outcome("a", { timeoutMs: 20 }),
  (on) => on.pause("a"),
  (on) => on.resume("a"),
  (on) => on.cancel("a"),
  (on) => on.giveUp("a", { reason: "old", all: true, timeoutMs: 20 }),
  (on) =>
    on.giveUp("a", {
      ...{ by: "Ada", reason: "old", messages: ["1.1"], queues: ["lines"], sources: ["s"] },
      ...{ stranded: true, limit: 5, timeoutMs: Number.POSITIVE_INFINITY },
    }),
  (on) => on.move("a", { to: "check", by: "Ada", reason: "renamed", messages: ["1.1"], queues: ["lines"] }),
  (on) => on.move("a", { to: "check", limit: 5, timeoutMs: 20 }),
  (on) => on.replay("a", { id: "b", dead: true, again: true, by: "Ada", reason: "fixed", timeoutMs: 20 }),
  (on) => on.replay("a", { route: "check", partial: true }),
  (on) => on.replay("a", { messages: ["1.1"] }),
  (on) => on.inspect("a", { atMost: 100 }),
  (on) => on.routes("a"),
  (on) => on.counts(),
  (on) => on.delayed("a"),
  (on) => on.delayed("a", { queue: "lines", limit: 5 }),
  (on) => on.evidence(),
];

const PIPELINE_LISTS = ["children", "batch", "messages", "failures", "deadLetters", "deadRecords"];

test("every operation on pipelines has its line, and its answer [Z690]", async () => {
  const operations = answering<PipelineOperations>(PIPELINE_ANSWERS, PIPELINE_LISTS);
  const service = pipelineWire.pipelineService(operations, () => true);
  const wire = wireTo(service);
  const lines = await linesOf(wire, pipelineWire.remoteOperations(wire.ask), PIPELINE_ASKS);
  await expect(`${signaturesOf(service)}\n\n${lines}\n`).toMatchFileSnapshot("golden/pipelines.txt");
  expect(askedIn(lines).sort()).toEqual([...service.operations.keys()].sort());
});

const QUEUE_ANSWERS = {
  list: ({ after, limit }: { after?: string; limit: number }) =>
    ["forms", "mails"]
      .filter((name) => after === undefined || name > after)
      .map((name) => ({ name, ready: 1, inFlight: 0, delayed: 0, dead: 2 }))
      .slice(0, limit),
  heartbeats: [{ id: "m1", at: 5, progress: 3 }],
  evidence: [EVIDENCE],
  messages: [
    { id: "m1", number: 7, state: "delayed", until: 9, why: "attempt", attempts: 1, ends: 0, history: [] },
  ],
  deadLetters: (_queue: string, { after, limit }: { after?: string; limit: number }) =>
    ["m1", "m2"]
      .filter((id) => after === undefined || id > after)
      .map(letter)
      .slice(0, limit),
  deadRecords: (_queue: string, { behind, limit }: { behind?: { id: string }; limit: number }) =>
    ["m1", "m2"]
      .filter((id) => behind === undefined || id > behind.id)
      .map((id) => ({ ...letter(id), turn: 1 }))
      .slice(0, limit),
  retryDead: { letters: 2, next: "x" },
  dropDead: { letters: 1 },
};

const QUEUE_ASKS: readonly ((on: QueueOperations) => Promise<unknown>)[] = [
  (on) => collect(on.list()),
  (on) => collect(on.list({ after: "forms", limit: 1 })),
  (on) => on.heartbeats("mails"),
  (on) => on.heartbeats("mails", { limit: 5 }),
  (on) => collect(on.deadLetters("mails")),
  (on) => collect(on.deadLetters("mails", { after: "m1", limit: 1 })),
  (on) => collect(on.deadRecords("mails", { id: "m1" })),
  (on) => collect(on.deadRecords("mails", { behind: { id: "m1", turn: 1 }, limit: 1 })),
  (on) => on.retryDead("mails", "m1"),
  (on) =>
    on.retryDead("mails", { error: "no", before: 9, limit: 2, cursor: "c" }, { by: "Ada", reason: "again" }),
  (on) => on.editDead("mails", "m1", { line: 1 }, { by: "Ada", reason: "again" }),
  (on) => on.dropDead("mails", ["m1", "m2"], { by: "Ada", reason: "old" }),
  (on) => collect(on.list({ atMost: 100 })),
  (on) => on.messages("mails"),
  (on) => on.messages("mails", { state: "delayed", limit: 5 }),
  (on) => on.evidence(),
];

test("every operation on queues has its line, and its answer [Z690]", async () => {
  const operations = answering<QueueOperations>(QUEUE_ANSWERS, ["list", "deadLetters", "deadRecords"]);
  const service = queueWire.queueService(operations, async () => true);
  const wire = wireTo(service);
  const lines = await linesOf(wire, queueWire.remoteOperations(wire.ask), QUEUE_ASKS);
  await expect(`${signaturesOf(service)}\n\n${lines}\n`).toMatchFileSnapshot("golden/queues.txt");
  expect(askedIn(lines).sort()).toEqual([...service.operations.keys()].sort());
});

// The entrances of flows and pipelines.

import type { Pid, System } from "signalbox";
import { ConsumerGroup } from "signalbox";
import {
  defineFlow,
  type FlowContext,
  flowHost,
  jsonCodec,
  openFlowOperations,
  schedule,
  wrapCodec,
} from "signalbox/flow";
import {
  adapterType,
  aggregate,
  csvRows,
  dead,
  deduplicate,
  definePipeline,
  dispatchTo,
  done,
  feed,
  filter,
  fromIterable,
  fromValues,
  httpPages,
  httpRequest,
  isDamaged,
  jetstream,
  jsonLines,
  jsonSchemaOf,
  many,
  map,
  openPipelineOperations,
  openQueues,
  parsePipeline,
  pipelineHost,
  pipelineRegistry,
  pipelineToDot,
  pipelineToMermaid,
  postgresTarget,
  queue,
  type Route,
  retry,
  route,
  runPipeline,
  sourceType,
  split,
  sqliteTarget,
  sqlUpsert,
  startFlow,
  throttle,
  timer,
  topologyInlet,
  writeCsv,
  writeJsonLines,
} from "signalbox/pipeline";
import { memory } from "signalbox/store";
import { field } from "signalbox/topology";
import { type Lines, nothing, on, type Reached } from "./lines.js";

/** What the code of a flow gets, while it waits. */
interface InFlow {
  readonly flow: FlowContext;
  readonly inner: object;
  readonly saga: object;
  readonly child: object;
  readonly session: object;
}

export async function flows(system: System): Promise<Lines> {
  const store = memory();
  let open!: (world: InFlow) => void;
  const opened = new Promise<InFlow>((resolve) => {
    open = resolve;
  });
  const Quiet = defineFlow("quiet", async () => new Promise(nothing));
  const Peer = defineFlow("peer", { answers: "talk" } as never, async (flow: FlowContext) => {
    await flow.accept("talk");
    await new Promise(nothing);
  });
  const Host = defineFlow("host", async (flow: FlowContext) => {
    const child = await flow.start(Quiet as never, undefined as never);
    const saga = flow.saga();
    const session = await flow.session(Peer as never, "talk");
    await flow.idempotent("inner", async (inner) => {
      open({ flow, inner, saga, child, session });
      await new Promise(nothing);
    });
  });
  const host = await system.start(
    flowHost({ store, flows: [Host, Quiet, Peer] as never, name: "flows", limits: { drainMs: 0 } }),
  );
  const run = await host.start(Host as never, undefined as never, { id: "it" });
  const operations = await openFlowOperations(system, store);
  const { flow, inner, saga, child, session } = await opened;
  const group = new ConsumerGroup();
  const pid = (): Pid<never> => system.spawn({ handle: nothing }) as never;
  const quiet = async (): Promise<string> => (await host.start(Quiet as never, undefined as never)).id;
  const byId = (method: string) => async (): Promise<Reached> => [on(operations, method), await quiet()];
  return {
    "FlowHostDefinition.at": () => [on(flowHost({ store, flows: [], name: "others" }), "at"), system, pid()],
    "Schedules.put": () => [
      on(host.schedules, "put"),
      schedule("nightly", { flow: Quiet as never, input: nothing as never, every: "1 day" }),
    ],
    "Schedules.pause": () => [on(host.schedules, "pause"), "none"],
    "Schedules.resume": () => [on(host.schedules, "resume"), "none"],
    "Schedules.trigger": () => [on(host.schedules, "trigger"), "none"],
    "Schedules.remove": () => [on(host.schedules, "remove"), "none"],
    "FlowRun.query": () => [on(run, "query"), "none", 1],
    "FlowHost.get": () => [on(host, "get"), "it"],
    "FlowHost.signals": () => [on(host, "signals")],
    openFlowOperations: () => [openFlowOperations, system, memory()],
    "FlowOperations.inspect": byId("inspect"),
    "FlowOperations.pause": byId("pause"),
    "FlowOperations.resume": byId("resume"),
    "FlowOperations.cancel": byId("cancel"),
    "FlowOperations.kill": byId("kill"),
    "FlowOperations.remove": byId("remove"),
    "FlowOperations.pauseSchedule": () => [on(operations, "pauseSchedule"), "none"],
    "FlowOperations.resumeSchedule": () => [on(operations, "resumeSchedule"), "none"],
    "FlowOperations.discharge": byId("discharge"),
    "FlowOperations.backup": () => [on(operations, "backup"), "/none/of/it"],
    "JsonCodec.encode": () => [on(jsonCodec({}), "encode"), 1],
    "JsonCodec.decode": () => [on(jsonCodec({}), "decode"), "1"],
    "JsonCodec.withErrors": () => [on(jsonCodec({}), "withErrors"), []],
    wrapCodec: () => [wrapCodec, jsonCodec({}), { encode: String, decode: String }],
    "FlowContext.sleepUntil": () => [on(flow, "sleepUntil"), 1],
    "Session.send": () => [on(session, "send"), 1],
    "Session.sendAndReceive": () => [on(session, "sendAndReceive"), 1],
    "FlowContext.version": () => [on(flow, "version"), "change", 1, 2],
    "FlowContext.progress": () => [on(flow, "progress"), 1],
    "FlowContext.emit": () => [on(flow, "emit"), "key", 1],
    "FlowContext.query": () => [on(flow, "query"), "q", nothing],
    "FlowContext.hospital": () => [on(flow, "hospital"), "why"],
    defineFlow: () => [defineFlow, "a", {}, async () => 1],
    flowHost: () => [flowHost, { store, flows: [], queues: { any: { rate, perKey: { rate } } } }],
    jsonCodec: () => [jsonCodec, {}],
    schedule: () => [
      (name: string, options: never) => host.schedules.put(schedule(name, options)),
      "daily",
      { flow: Quiet, input: nothing, every: "1 day" },
    ],
    "FlowHost.start": () => [on(host, "start"), Quiet, undefined, { debounce: { key: "k", wait: 60_000 } }],
    "FlowHost.startMany": () => [on(host, "startMany"), Quiet, [], {}],
    "FlowRun.result": () => [on(run, "result"), {}],
    "FlowRun.send": () => [on(run, "send"), "topic", 1, {}],
    "FlowRun.events": () => [on(run, "events"), {}],
    "FlowHospital.patients": () => [on(host.hospital, "patients"), {}, {}],
    "FlowHospital.discharge": () => [on(host.hospital, "discharge"), {}, {}],
    "FlowHospital.observe": () => [on(host.hospital, "observe"), "it", "why", {}],
    "FlowHospital.unknown": () => [on(host.hospital, "unknown"), {}],
    "FlowOperations.list": () => [on(operations, "list"), {}],
    "FlowOperations.timeline": () => [on(operations, "timeline"), "it", {}],
    "FlowOperations.schedules": () => [on(operations, "schedules"), {}],
    "FlowOperations.queues": () => [on(operations, "queues"), {}],
    "FlowOperations.queueKeys": () => [on(operations, "queueKeys"), "it", {}],
    "FlowOperations.history": () => [on(operations, "history"), "it", {}],
    "FlowOperations.events": () => [on(operations, "events"), "it", {}],
    "FlowOperations.retry": () => [on(operations, "retry"), "it", {}],
    "FlowOperations.fork": () => [on(operations, "fork"), "it", {}],
    "FlowOperations.outcome": () => [on(operations, "outcome"), "it", {}],
    "FlowOperations.prune": () => [on(operations, "prune"), { status: "completed", olderThanMs: 1 }],
    "FlowOperations.send": () => [on(operations, "send"), "it", "topic", 1, {}],
    "FlowOperations.start": () => [on(operations, "start"), "quiet", undefined, {}],
    "FlowContext.step": () => [on(flow, "step"), "s", nothing, {}],
    "FlowContext.transaction": () => [on(flow, "transaction"), "s", nothing, {}],
    "FlowContext.sleep": () => [on(flow, "sleep"), {}],
    "FlowContext.receive": () => [on(flow, "receive"), "topic", {}],
    "FlowContext.send": () => [on(flow, "send"), "it", "topic", 1],
    "FlowContext.call": () => [on(flow, "call"), Quiet, undefined, {}],
    "FlowContext.start": () => [on(flow, "start"), Quiet, undefined, {}],
    "Child.result": () => [on(child, "result"), {}],
    "FlowContext.dispatch": () => [on(flow, "dispatch"), "d", group, 1, {}],
    "FlowContext.idempotent": () => [on(flow, "idempotent"), "i", async () => 1, {}],
    "FlowContext.timed": () => [on(flow, "timed"), "t", async () => 1, { timeout: 5 }],
    "Saga.step": () => [on(saga, "step"), "s", nothing, nothing, {}],
    "FlowContext.session": () => [on(flow, "session"), "other", "talk", {}],
    "FlowContext.accept": () => [on(flow, "accept"), "talk", {}],
    "Session.receive": () => [on(session, "receive"), {}],
    "InnerContext.step": () => [on(inner, "step"), "s", nothing, {}],
    "InnerContext.sleep": () => [on(inner, "sleep"), {}],
  };
}

const rate = { limit: 1, period: 5 };
const numbers = queue<number>("numbers");
const others = queue<number>("others");
const path = "/none/of/it";

export async function pipelines(system: System): Promise<Lines> {
  const store = memory();
  const words = (): Route<never> => route("words", { from: numbers }).via("add", nothing as never) as never;
  const Words = definePipeline("words", {
    routes: [route("r", { from: numbers }).via("add", nothing as never)],
  } as never);
  const host = await system.start(pipelineHost({ pipelines: [Words] as never, store, drainMs: 0 }));
  const run = await host.start(Words as never, { id: "it" } as never);
  const operations = await openPipelineOperations(system, store, {});
  const queues = await openQueues(system, { store: memory() });
  const letters = queues.queue<number>("letters");
  const message = await new Promise<object>((resolve, reject) => {
    letters
      .subscribe({}, (taken) => {
        resolve(taken);
        return new Promise(nothing) as never;
      })
      .then(() => letters.publish(1))
      .catch(reject);
  });
  const lamp = { type: "lamp", description: "a lamp", create: nothing };
  const pid = (): Pid<never> => system.spawn({ handle: nothing }) as never;
  const inlet = topologyInlet({ fields: { n: field.number } });
  const subscribed = (): Promise<object> => queues.queue<number>("more").subscribe({}, () => done as never);
  return {
    postgresTarget: () => [postgresTarget, { query: nothing }],
    sqliteTarget: () => [sqliteTarget, { prepare: nothing, exec: nothing }],
    "TopologyInlet.adapter": () => [on(inlet, "adapter"), "a", nothing],
    filter: () => [filter, "f", nothing],
    map: () => [map, "m", nothing],
    split: () => [split, "s", nothing, nothing],
    many: () => [many, [1], nothing],
    queue: () => [queue, "q"],
    "PipelineRun.lineage": () => [on(run, "lineage"), "10.13"],
    "PipelineOperations.routes": () => [on(operations, "routes"), "it"],
    "PipelineOperations.delayed": () => [on(operations, "delayed"), "it", {}],
    "PipelineOperations.status": () => [on(operations, "status"), "it"],
    "PipelineOperations.inspect": () => [on(operations, "inspect"), "it", {}],
    "PipelineOperations.lineage": () => [on(operations, "lineage"), "it", "10.13"],
    "PipelineOperations.pause": () => [on(operations, "pause"), "none"],
    "PipelineOperations.resume": () => [on(operations, "resume"), "none"],
    "PipelineOperations.cancel": () => [on(operations, "cancel"), "none"],
    "PipelineHost.get": () => [on(host, "get"), "it"],
    "PipelineHostDefinition.at": () => [
      on(pipelineHost({ pipelines: [Words] as never, store }), "at"),
      system,
      pid(),
    ],
    "DeadLetters.replay": () => [on(letters.deadLetters, "replay"), "10.13"],
    "DeadLetters.remove": () => [on(letters.deadLetters, "remove"), "10.13"],
    "DeadLetters.retry": () => [on(letters.deadLetters, "retry"), "10.13", {}],
    "DeadLetters.edit": () => [on(letters.deadLetters, "edit"), "10.13", "value", {}],
    "DeadLetters.drop": () => [on(letters.deadLetters, "drop"), "10.13", { reason: "spam" }],
    "Subscription.stop": async () => [on(await subscribed(), "stop"), "shutdown"],
    dead: () => [dead, "why"],
    isDamaged: () => [isDamaged, 1],
    jsonSchemaOf: () => [jsonSchemaOf, pipelineRegistry({})],
    // The policies are checked when the route becomes a part of a pipeline.
    route: () => [
      (name: string, options: never) =>
        definePipeline("p", { routes: [route(name, options).via("add", nothing as never)] } as never),
      "r",
      { from: numbers },
    ],
    "Route.via": () => [
      (first: never, second: never, third: never) =>
        typeof second === "object"
          ? words().via({ name: "more", process: nothing }, second)
          : words().via(first, second, third),
      "more",
      nothing,
      { when: { field: "n", operator: "exists" } },
    ],
    "Route.to": () => [on(words(), "to"), others, {}],
    "Route.batch": () => [on(words(), "batch"), "all", { size: 5 }, nothing],
    definePipeline: () => [definePipeline, "p", { routes: [words()] }],
    pipelineHost: () => [pipelineHost, { pipelines: [Words], store }],
    runPipeline: () => [runPipeline, system, Words, {}],
    openPipelineOperations: () => [openPipelineOperations, system, store, {}],
    pipelineToDot: () => [pipelineToDot, Words, {}],
    pipelineToMermaid: () => [pipelineToMermaid, Words, {}],
    parsePipeline: () => [parsePipeline, "name: a", {}],
    pipelineRegistry: () => [pipelineRegistry, {}],
    adapterType: () => [adapterType, lamp],
    sourceType: () => [sourceType, lamp],
    "PipelineHost.start": () => [on(host, "start"), Words, {}],
    "PipelineRun.completed": () => [on(run, "completed"), {}],
    "PipelineRun.follow": () => [on(run, "follow"), {}],
    "PipelineRun.failures": () => [on(run, "failures"), {}],
    "PipelineRun.deadRecords": () => [on(run, "deadRecords"), {}],
    "PipelineRun.deadLetters": () => [on(run, "deadLetters"), {}],
    "PipelineRun.replay": () => [on(run, "replay"), {}],
    "PipelineRun.move": () => [on(run, "move"), { to: "r" }],
    "PipelineRun.giveUp": () => [on(run, "giveUp"), { all: true, reason: "r" }],
    "PipelineRun.retryDead": () => [on(run, "retryDead"), "10.13", {}],
    "PipelineRun.editDead": () => [on(run, "editDead"), "10.13", 1, {}],
    "PipelineRun.dropDead": () => [on(run, "dropDead"), "10.13", { reason: "spam" }],
    "PipelineOperations.list": () => [on(operations, "list"), {}],
    "PipelineOperations.executions": () => [on(operations, "executions"), {}],
    "PipelineOperations.children": () => [on(operations, "children"), "it", "10.13", {}],
    "PipelineOperations.batch": () => [on(operations, "batch"), "it", "10.13", {}],
    "PipelineOperations.messages": () => [on(operations, "messages"), "it", {}],
    "PipelineOperations.failures": () => [on(operations, "failures"), "it", {}],
    "PipelineOperations.deadRecords": () => [on(operations, "deadRecords"), "it", {}],
    "PipelineOperations.deadLetters": () => [on(operations, "deadLetters"), "it", {}],
    "PipelineOperations.outcome": () => [on(operations, "outcome"), "it", {}],
    "PipelineOperations.move": () => [on(operations, "move"), "it", { to: "r" }],
    "PipelineOperations.giveUp": () => [on(operations, "giveUp"), "it", { all: true, reason: "r" }],
    "PipelineOperations.replay": () => [on(operations, "replay"), "it", { dead: true }],
    "PipelineOperations.retryDead": () => [on(operations, "retryDead"), "it", "10.13", {}],
    "PipelineOperations.editDead": () => [on(operations, "editDead"), "it", "10.13", 1, {}],
    "PipelineOperations.dropDead": () => [on(operations, "dropDead"), "it", "10.13", { reason: "spam" }],
    deduplicate: () => [deduplicate, "d", { key: nothing }],
    dispatchTo: () => [dispatchTo, "d", new ConsumerGroup(), { result: nothing }],
    writeCsv: () => [writeCsv, "w", { path, columns: ["a"] }],
    writeJsonLines: () => [writeJsonLines, "w", { path }],
    startFlow: () => [
      startFlow,
      "s",
      nothing,
      defineFlow("f", async () => 1),
      { input: nothing, id: nothing },
    ],
    httpRequest: () => [httpRequest, "h", { url: "http://localhost" }],
    sqlUpsert: () => [
      sqlUpsert,
      "u",
      { target: { run: nothing, placeholder: nothing }, table: "t", key: ["id"], columns: ["id"] },
    ],
    throttle: () => [throttle, "t", { permits: 1, perMs: 5 }],
    topologyInlet: () => [topologyInlet, { fields: { n: field.number } }],
    aggregate: () => [aggregate, "a", { size: 5 }, nothing],
    csvRows: () => [csvRows, "c", { path }],
    jsonLines: () => [jsonLines, "j", { path }],
    httpPages: () => [httpPages, "h", { first: "http://localhost", page: nothing }],
    timer: () => [timer, "t", { everyMs: 5 }],
    fromIterable: () => [fromIterable, "i", () => [], {}],
    fromValues: () => [fromValues, "v", [1], {}],
    openQueues: () => [openQueues, system, { store: memory() }],
    jetstream: () => [jetstream, { servers: "nats://localhost" }],
    retry: () => [retry, {}],
    "Queues.queue": () => [on(queues, "queue"), "q", {}],
    "MessageQueue.publish": () => [on(letters, "publish"), 1, {}],
    "MessageQueue.publishMany": () => [on(letters, "publishMany"), [{ value: 1 }]],
    "MessageQueue.heartbeats": () => [on(letters, "heartbeats"), {}],
    "MessageQueue.subscribe": () => [on(letters, "subscribe"), {}, () => done],
    "QueueMessage.publish": () => [on(message, "publish"), letters, 1, {}],
    "QueueMessage.heartbeat": () => [on(message, "heartbeat"), 1],
    "DeadLetters.list": () => [on(letters.deadLetters, "list"), {}],
    "DeadLetters.records": () => [on(letters.deadLetters, "records"), {}],
    "QueueOperations.list": () => [on(queues.operations, "list"), {}],
    "QueueOperations.messages": () => [on(queues.operations, "messages"), "letters", {}],
    "QueueOperations.heartbeats": () => [on(queues.operations, "heartbeats"), "letters", {}],
    "QueueOperations.deadLetters": () => [on(queues.operations, "deadLetters"), "letters", {}],
    "QueueOperations.retryDead": () => [on(queues.operations, "retryDead"), "letters", "m1", {}],
    "QueueOperations.editDead": () => [on(queues.operations, "editDead"), "letters", "m1", 1, {}],
    "QueueOperations.dropDead": () => [
      on(queues.operations, "dropDead"),
      "letters",
      "m1",
      { reason: "spam" },
    ],
    "QueueOperations.deadRecords": () => [on(queues.operations, "deadRecords"), "letters", {}],
    feed: () => [feed, fromValues("v", [1]), numbers],
  };
}

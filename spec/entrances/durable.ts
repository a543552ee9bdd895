// The entrances of flows and pipelines.

import type { System } from "signalbox";
import { ConsumerGroup } from "signalbox";
import {
  defineFlow,
  type FlowContext,
  flowHost,
  jsonCodec,
  openFlowOperations,
  schedule,
} from "signalbox/flow";
import {
  adapterType,
  aggregate,
  csvRows,
  deduplicate,
  definePipeline,
  dispatchTo,
  done,
  feed,
  fromIterable,
  fromValues,
  httpPages,
  httpRequest,
  jetstream,
  jsonLines,
  openPipelineOperations,
  openQueues,
  parsePipeline,
  pipelineHost,
  pipelineRegistry,
  pipelineToDot,
  pipelineToMermaid,
  queue,
  type Route,
  retry,
  route,
  runPipeline,
  sourceType,
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
import { type Lines, nothing, on } from "./lines.js";

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
  return {
    defineFlow: () => [defineFlow, "a", {}, async () => 1],
    flowHost: () => [flowHost, { store, flows: [], queues: { any: { rate, perKey: { rate } } } }],
    jsonCodec: () => [jsonCodec, {}],
    schedule: () => [
      (name: string, options: never) => host.schedules.put(schedule(name, options)),
      "daily",
      { flow: Quiet, input: nothing, every: "1 day" },
    ],
    "FlowHost.start": () => [on(host, "start"), Quiet, undefined, { debounce: { key: "k", wait: 5 } }],
    "FlowRun.result": () => [on(run, "result"), {}],
    "FlowRun.send": () => [on(run, "send"), "topic", 1, {}],
    "FlowRun.events": () => [on(run, "events"), {}],
    "FlowHospital.patients": () => [on(host.hospital, "patients"), {}, {}],
    "FlowHospital.discharge": () => [on(host.hospital, "discharge"), {}, {}],
    "FlowHospital.observe": () => [on(host.hospital, "observe"), "it", "why", {}],
    "FlowHospital.unknown": () => [on(host.hospital, "unknown"), {}],
    "FlowOperations.list": () => [on(operations, "list"), {}],
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
  return {
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
    "PipelineRun.deadLetters": () => [on(run, "deadLetters"), {}],
    "PipelineRun.replay": () => [on(run, "replay"), {}],
    "PipelineOperations.list": () => [on(operations, "list"), {}],
    "PipelineOperations.executions": () => [on(operations, "executions"), {}],
    "PipelineOperations.children": () => [on(operations, "children"), "it", "10.13", {}],
    "PipelineOperations.batch": () => [on(operations, "batch"), "it", "10.13", {}],
    "PipelineOperations.messages": () => [on(operations, "messages"), "it", {}],
    "PipelineOperations.failures": () => [on(operations, "failures"), "it", {}],
    "PipelineOperations.deadLetters": () => [on(operations, "deadLetters"), "it", {}],
    "PipelineOperations.outcome": () => [on(operations, "outcome"), "it", {}],
    "PipelineOperations.replay": () => [on(operations, "replay"), "it", {}],
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
    "MessageQueue.subscribe": () => [on(letters, "subscribe"), {}, () => done],
    "QueueMessage.publish": () => [on(message, "publish"), letters, 1, {}],
    "DeadLetters.list": () => [on(letters.deadLetters, "list"), {}],
    feed: () => [feed, fromValues("v", [1]), numbers],
  };
}

// What a program can ask of its own system, without an admin socket: the operations of its durable hosts, told apart where there are several.

import { type Pid, System, supervisor } from "signalbox";
import { defineFlow, flowHost } from "signalbox/flow";
import { definePipeline, done, openQueues, pipelineHost, queue, route } from "signalbox/pipeline";
import { memory, type StoreSource } from "signalbox/store";
import { expect, onTestFinished, test } from "vitest";
import type { AdminService } from "../../lib/admin/post.js";
import { type Args, chosenOf, storesOf as storesBySubject } from "../../lib/admin/protocol.js";
import { offer, offeredBy } from "../../lib/admin/system/offered.js";
import { openSystemSocket } from "../../lib/admin/system/system-socket.js";
import { hostAt } from "../../lib/cli/shell/reach.js";
import { folderWith } from "../cli/pipelines/support.js";

function shop(): System {
  const system = new System({ name: "shop", report: false });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  return system;
}

/** Of which stores hosts offer operations: one list of each kind. */
const storesOf = (system: System) =>
  ["list", "pipelines.list", "queues.list"].map((op) =>
    offeredBy(system.kernel)
      .find(op)
      .map(({ store }) => store),
  );

/** Carries out an operation as an observer in the program does. */
async function ask(system: System, op: string, args: Args = {}): Promise<unknown> {
  const { run } = await chosenOf(offeredBy(system.kernel), op, args);
  return run(args, new AbortController().signal);
}

const greet = defineFlow("greet", async (_flow, name: string) => `hello ${name}`);
const lines = queue<string>("lines");
const print = definePipeline("print", { routes: [route("print", { from: lines }).via("print", () => done)] });

const flowsOn = (store: StoreSource) => flowHost({ store, flows: [greet], socket: false });
const pipelinesOn = (store: StoreSource) => pipelineHost({ store, pipelines: [print], socket: false });

test("each durable host is found in its program without an admin socket, until it ends [N1550]", async () => {
  const system = shop();
  const store = memory({ label: "orders" });
  expect(storesOf(system)).toEqual([[], [], []]);
  const flows = await system.start(flowsOn(store));
  const pipelines = await system.start(pipelinesOn(store));
  const queues = await openQueues(system, { store, socket: false });
  expect(storesOf(system)).toEqual([["orders"], ["orders"], ["orders"]]);
  await flows.start(greet, "Ada", { id: "greet-ada" });
  await (await pipelines.start(print, { id: "one", messages: { to: lines, values: ["a"] } })).completed();
  await queues.queue<string>("mails").publish("hello", { id: "m1" });
  expect(await ask(system, "list")).toMatchObject({ flows: [{ id: "greet-ada" }] });
  expect(await ask(system, "pipelines.status", { id: "one" })).toMatchObject({ done: 1 });
  expect(await ask(system, "queues.list")).toMatchObject({ items: [{ name: "mails", ready: 1 }] });
  await queues.close();
  await pipelines.stop();
  await flows.stop();
  expect(storesOf(system)).toEqual([[], [], []]);
  await expect(ask(system, "list")).rejects.toThrow("there is no operation");
});

test("a host that was killed, or restarted by its supervisor, is offered once while it runs [N1550]", async () => {
  const system = shop();
  const store = memory({ label: "orders" });
  const tree = await system.start(supervisor({ children: [{ id: "flows", start: flowsOn(store) }] }));
  const hostOf = async () => (await tree.whichChildren())[0]?.pid as Pid;
  const first = await hostOf();
  system.exit(first, "kill");
  await expect.poll(async () => (await hostOf())?.id).not.toBe(first.id);
  await expect.poll(() => storesOf(system)).toEqual([["orders"], [], []]);
});

test("the operations on the system are there without any host, and each one says which right it needs [N1551]", async () => {
  const system = shop();
  const offered = offeredBy(system.kernel);
  expect(offeredBy(system.kernel)).toBe(offered);
  system.spawn((ctx) => ctx.receive(), { name: "clerk" });
  expect(await ask(system, "system.process", { id: "clerk" })).toMatchObject({ name: "clerk" });
  expect(await ask(system, "system.process", { id: "clerk", system: "shop" })).toMatchObject({
    name: "clerk",
  });
  await system.start(flowsOn(memory()));
  const leaveOf = (op: string) => offered.find(op).map(({ leave }) => leave);
  expect(["list", "pause", "remove", "system.processes"].map(leaveOf)).toEqual([
    ["look"],
    ["change"],
    ["remove"],
    ["look"],
  ]);
});

test("of several hosts, the one that has what a request names is asked [N1552]", async () => {
  const system = shop();
  const [east, west] = [memory({ label: "east" }), memory({ label: "west" })];
  const hosts = [await system.start(flowsOn(east)), await system.start(flowsOn(west))] as const;
  await hosts[0].start(greet, "Ada", { id: "ada" });
  await hosts[1].start(greet, "Bob", { id: "bob" });
  expect(await ask(system, "outcome", { id: "bob", timeoutMs: 1_000 })).toMatchObject({
    result: "hello Bob",
  });
  expect(await ask(system, "inspect", { id: "ada" })).toMatchObject({ id: "ada" });
  await expect(ask(system, "inspect", { id: "cy" })).rejects.toMatchObject({ code: "ERR_FLOW_NOT_FOUND" });
  const pipelines = [await system.start(pipelinesOn(east)), await system.start(pipelinesOn(west))] as const;
  await pipelines[1].start(print, { id: "two" });
  expect(await ask(system, "pipelines.status", { id: "two" })).toMatchObject({ id: "two" });
  const queues = [
    await openQueues(system, { store: east, socket: false }),
    await openQueues(system, { store: west, socket: false }),
  ] as const;
  await queues[1].queue<string>("mails").publish("hello", { id: "m1" });
  await queues[1].queue<string>("mails").subscribe({}, () => {
    throw Object.assign(new Error("no"), { retriable: false });
  });
  await expect
    .poll(() => ask(system, "queues.deadLetters", { queue: "mails" }))
    .toMatchObject({ items: [{ id: "m1" }] });
  for (const one of queues) await one.close();
});

test("a request may say which store it means, also where nothing is named [N1552]", async () => {
  const system = shop();
  const hosts = [
    await system.start(flowsOn(memory({ label: "east" }))),
    await system.start(flowsOn(memory({ label: "west" }))),
  ] as const;
  await hosts[0].start(greet, "Ada", { id: "same" });
  await hosts[1].start(greet, "Bob", { id: "same" });
  const inputOf = async (store?: string) =>
    (
      (await ask(system, "inspect", { id: "same", ...(store !== undefined && { store }) })) as {
        input: string;
      }
    ).input;
  expect([await inputOf("west"), await inputOf("east"), await inputOf()]).toEqual(["Bob", "Ada", "Ada"]);
  await hosts[1].start(greet, "Cy", { id: "only-west" });
  expect(await ask(system, "list", { store: "west", idPrefix: "only" })).toMatchObject({
    flows: [{ id: "only-west" }],
  });
  await expect(ask(system, "list", { store: "north" })).rejects.toThrow(
    'no host here has the store "north": there is only east, west',
  );
});

test("the stores of hosts are named by the subjects of their operations, in an order that no restart changes [N1632]", async () => {
  const system = shop();
  const [east, west] = [memory({ label: "east" }), memory({ label: "west" })];
  const named = () => storesBySubject(offeredBy(system.kernel));
  expect(named()).toEqual({});
  const tree = await system.start(
    supervisor({
      children: [
        { id: "east", start: flowsOn(east) },
        { id: "west", start: flowsOn(west) },
        { id: "pipelines", start: pipelinesOn(west) },
      ],
    }),
  );
  expect(named()).toEqual({ flows: ["east", "west"], pipelines: ["west"] });
  const pidOf = async () => (await tree.whichChildren()).find(({ id }) => id === "east")?.pid as Pid;
  const first = await pidOf();
  system.exit(first, "kill");
  await expect.poll(async () => (await pidOf())?.id).not.toBe(first.id);
  await expect.poll(() => storesOf(system)[0]).toEqual(["east", "west"]);
  expect(named()).toEqual({ flows: ["east", "west"], pipelines: ["west"] });
});

test("places of stores that have no host any more are not kept for ever [N1632]", () => {
  const { kernel } = shop();
  const service = (): AdminService => ({
    ...{ name: "flows", shares: false },
    operations: new Map([["list", { args: [], leave: "look", run: async () => undefined }]]),
  });
  const offered = (store: string) => offer(kernel, service(), { store, atSockets: true });
  offered("first");
  const stop = offered("ended");
  offered("last");
  stop();
  for (let n = 0; n < 1_000; n++) offered(`store-${n}`)();
  offered("ended");
  expect(storesBySubject(offeredBy(kernel))).toEqual({ flows: ["first", "last", "ended"] });
});

test("a host that cannot say whether it has something is asked when no other one has it [N1552]", async () => {
  const answer = (of: string, mine: () => Promise<boolean>) => ({
    args: ["id"],
    leave: "look" as const,
    run: async () => of,
    mine,
  });
  const chosen = async (...all: ReturnType<typeof answer>[]) =>
    (await chosenOf({ names: ["inspect"], find: () => all }, "inspect", { id: "a" })).run(
      {},
      new AbortController().signal,
    );
  const no = answer("no", async () => false);
  const yes = answer("yes", async () => true);
  const broken = answer("broken", () => Promise.reject(new Error("the disk is full")));
  expect([await chosen(no, broken, yes), await chosen(no, broken), await chosen(no, no)]).toEqual([
    "yes",
    "broken",
    "no",
  ]);
});

test("the admin socket of a service answers for all durable hosts in it, but for those that want no socket [N1558]", async () => {
  const system = shop();
  const path = folderWith()("shop.sock");
  await openSystemSocket(path, system);
  const flows = await system.start(flowHost({ store: memory({ label: "orders" }), flows: [greet] }));
  await flows.start(greet, "Ada", { id: "ada" });
  await system.start(pipelinesOn(memory()));
  await system.start(flowHost({ store: memory({ label: "others" }), flows: [greet] }));
  const client = await hostAt(path);
  if (client === undefined) throw new Error("no program listens");
  onTestFinished(() => client.close());
  expect(await client.ask("inspect", { id: "ada" })).toMatchObject({ id: "ada" });
  expect(await client.ask("inspect", { id: "ada", store: "orders" })).toMatchObject({ id: "ada" });
  expect(await client.ask("list", { store: "others" })).toEqual({ flows: [] });
  expect(await client.ask("operations", {})).toMatchObject({ stores: { flows: ["orders", "others"] } });
  expect(await client.ask("system.nodes", {})).toBeDefined();
  await expect(client.ask("pipelines.list", {})).rejects.toThrow("answers only about flows, system here");
});

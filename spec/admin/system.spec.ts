// The operations on a system: what they list of a running program, by its kernel and over its admin socket, and that they cost nothing.

import { ConsumerGroup, consumer, defineServer, System, supervisor } from "signalbox";
import { flowHost } from "signalbox/flow";
import { memory } from "signalbox/store";
import { bolt, field, grouping, spoutFrom, topology } from "signalbox/topology";
import { expect, onTestFinished, test } from "vitest";
import { toJson } from "../../lib/admin/json-view.js";
import { KernelOperations } from "../../lib/admin/system/kernel-operations.js";
import type { SystemOperations } from "../../lib/admin/system/operations.js";
import { remoteOperations, systemService } from "../../lib/admin/system/system-table.js";
import { hostAt } from "../../lib/cli/shell/reach.js";
import { folderWith } from "../cli/pipelines/support.js";
import { gate } from "../support/gate.js";
import { collect, signaturesOf, wireTo } from "./support/wire.js";

const Till = defineServer({
  init: () => ({ cash: 0 }),
  calls: { pay: (state, n: number) => (state.cash += n) },
});

/** A system with one of everything. */
async function shop() {
  const system = new System({ name: "shop", report: false });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  const clerks = new ConsumerGroup<number>({ name: "clerks" });
  const busy = gate();
  const clerk = consumer(() => busy.promise, { group: clerks, maxInFlight: 1, id: "north" });
  const Floor = supervisor({ children: [{ id: "clerk", start: clerk }] });
  await system.start(
    supervisor({
      strategy: "one_for_all",
      intensity: 5,
      children: [
        { id: "till", name: "till", start: Till },
        { id: "floor", start: Floor, type: "supervisor" },
      ],
    }),
  );
  const numbers = spoutFrom([{ n: 1 }, { n: 2 }, { n: 3 }], { fields: { n: field.number } });
  const add = bolt({ input: { n: field.number }, execute: () => undefined });
  const sums = topology("sums")
    .spout("numbers", numbers)
    .bolt("add", add, { tasks: 2, from: { "numbers.items": grouping.shuffle() } })
    .build();
  const running = await system.start(sums);
  await running.finished();
  return { system, clerks, busy };
}

const names = (items: readonly { readonly name?: string | undefined }[]) => items.map(({ name }) => name);

test("processes are listed, the oldest first and page by page, and each is shown by its pid and by its name [Z700]", async () => {
  const { system } = await shop();
  const on = new KernelOperations(system.kernel);
  const all = await collect(on.processes());
  const alive = system.processes().map(({ id }) => `shop.${id}`);
  expect(all.map(({ pid }) => pid)).toEqual(alive);
  const [, second, third, fourth] = alive as [string, string, string, string];
  const page = await collect(on.processes({ after: second, limit: 2 }));
  expect(page.map(({ pid }) => pid)).toEqual([third, fourth]);
  const till = await on.process("till");
  expect(till).toMatchObject({ name: "till", kind: "server", status: "waiting", mailboxDepth: 0 });
  expect(await on.process(till.pid)).toEqual(till);
  expect(await on.process(String(system.whereis("till")))).toEqual(till);
  expect(till.links).toMatchObject({ count: 1, first: [till.parent] });
  for (const wrong of ["shop.99999", "nobody", "other.1"])
    await expect(on.process(wrong)).rejects.toMatchObject({ code: "ERR_NO_PROCESS" });
  for (const range of [{ limit: 0 }, { after: "till" }, { after: 7 }, { first: 1 }])
    await expect(collect(on.processes(range as never))).rejects.toMatchObject({ code: "ERR_OPTION" });
});

test("supervisors are listed with their limits and their children, those below after those above [Z701]", async () => {
  const { system } = await shop();
  const on = new KernelOperations(system.kernel);
  const all = await collect(on.supervisors());
  const [top, floor] = all as [(typeof all)[0], (typeof all)[0]];
  expect(top).toMatchObject({ strategy: "one_for_all", intensity: 5, restarts: 0, children: 2 });
  const children = await collect(on.children(top.pid));
  expect(children).toMatchObject([
    { place: 1, id: "till", status: "running", type: "worker", pid: (await on.process("till")).pid },
    { place: 2, id: "floor", type: "supervisor", pid: floor.pid },
  ]);
  expect(await collect(on.children(top.pid, { after: 1, limit: 5 }))).toEqual(children.slice(1));
  await expect(collect(on.children("till"))).rejects.toMatchObject({ code: "ERR_NO_PROCESS" });
});

test("topologies are listed with their phases, and their tasks with their counts [Z702]", async () => {
  const { system } = await shop();
  const on = new KernelOperations(system.kernel);
  const [sums] = await collect(on.topologies());
  expect(sums).toMatchObject({ name: "sums", phase: "running", restarts: 0, pending: 0, waiting: 0 });
  const tasks = await collect(on.tasks("sums"));
  expect(tasks).toHaveLength(sums?.tasks as number);
  const adders = tasks.filter(({ component }) => component === "add");
  expect(adders).toHaveLength(2);
  expect(adders.reduce((all, { executed }) => all + executed, 0)).toBe(3);
  expect(tasks.find(({ component }) => component === "numbers")).toMatchObject({ kind: "spout", emitted: 3 });
  expect(await collect(on.tasks(sums?.pid as string, { after: 1, limit: 1 }))).toEqual(tasks.slice(1, 2));
});

test("groups are listed with their consumers, their envelopes in flight and those that wait [Z703]", async () => {
  const { system, clerks, busy } = await shop();
  const on = new KernelOperations(system.kernel);
  const replies = [1, 2, 3].map((n) => system.dispatch(clerks, n));
  await system.idle();
  const [group] = await collect(on.groups());
  expect(group).toMatchObject({ name: "clerks", consumers: 1, inFlight: 1, waiting: 2 });
  expect(await collect(on.consumers("clerks"))).toMatchObject([
    { place: 1, id: "north", inFlight: 1, maxInFlight: 1, delivered: 1, pressure: "defer" },
  ]);
  busy.open();
  await Promise.all(replies);
  await expect(collect(on.consumers("cooks"))).rejects.toMatchObject({ code: "ERR_NO_PROCESS" });
});

const ASKS: readonly ((on: SystemOperations) => Promise<unknown>)[] = [
  (on) => collect(on.processes({ after: "shop.1", limit: 3 })),
  (on) => on.process("till"),
  (on) => collect(on.supervisors()),
  (on) => collect(on.children("top")),
  (on) => collect(on.topologies()),
  (on) => collect(on.tasks("sums", { after: 1, limit: 2 })),
  (on) => collect(on.groups()),
  (on) => collect(on.consumers("clerks")),
  (on) => collect(on.nodes({ limit: 5 })),
  (on) => on.state("till"),
  (on) => on.suspend("till"),
  (on) => on.resume("till"),
  (on) => on.trace("till"),
  (on) => on.treeAt({ at: 0, limit: 1 }),
];

test("every operation answers over the wire as at the kernel [Z704]", async () => {
  const { system } = await shop();
  const service = systemService(system.kernel);
  const on = new KernelOperations(system.kernel);
  const [top] = await collect(on.supervisors());
  system.register("top", system.processes().find(({ id }) => `shop.${id}` === top?.pid) as never);
  const wire = wireTo(service);
  // The clock goes on between the two.
  const still = (value: unknown): unknown =>
    JSON.parse(JSON.stringify(toJson(value)), (key, one) => (key === "uptimeMs" ? 0 : one));
  for (const ask of ASKS)
    expect(still(await ask(remoteOperations(wire.ask)))).toMatchObject(still(await ask(on)) as object);
  await expect(`${signaturesOf(service)}\n`).toMatchFileSnapshot("golden/system.txt");
});

test("a host of a store shows the system that it runs in at its admin socket, without any option [Z704]", async () => {
  const { system } = await shop();
  const socket = folderWith()("shop.sock");
  const host = await system.start(flowHost({ store: memory(), flows: [], socket }));
  const client = await hostAt(socket);
  const on = remoteOperations((client as NonNullable<typeof client>).ask);
  expect(names(await collect(on.topologies()))).toEqual(["sums"]);
  expect(names(await collect(on.groups()))).toEqual(["clerks"]);
  expect((await collect(on.processes())).map(({ label }) => label)).toContain("admin socket");
  client?.close();
  await host.stop();
});

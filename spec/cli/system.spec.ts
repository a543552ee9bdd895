// `signalbox system`: what is printed for people and for programs, and the exit codes.

import { ConsumerGroup, consumer, defineServer, System, supervisor } from "signalbox";
import { flowHost } from "signalbox/flow";
import { type Service, run as start } from "signalbox/service";
import { memory } from "signalbox/store";
import { expect, onTestFinished, test } from "vitest";
import { type SystemHost, system } from "../../lib/cli/system/system.js";
import { folderWith } from "./pipelines/support.js";
import { ran } from "./support/ran.js";
import { runSystem as run } from "./support/system.js";

/** The socket of a program with a tree and a group. */
async function program(): Promise<string> {
  const on = new System({ name: "shop", report: false });
  onTestFinished(() => on.stop({ timeoutMs: 0 }));
  const Till = defineServer({ init: () => 0, calls: { count: (state) => state } });
  const clerks = new ConsumerGroup<number>({ name: "clerks" });
  const clerk = consumer((n: number) => n, { group: clerks, id: "north" });
  await on.startWith(
    { name: "shop floor" },
    supervisor({
      children: [
        { id: "till", name: "till \u001b[31m", start: Till },
        { id: "clerk", start: clerk },
      ],
    }),
  );
  const socket = folderWith()("shop.sock");
  await on.start(flowHost({ store: memory(), flows: [], socket }));
  return socket;
}

test("shows processes, trees, topologies and groups for people, and as JSON [Z705]", async () => {
  const socket = ["--socket", await program()];
  const listed = await run("processes", "--limit", "2", ...socket);
  expect(listed).toMatchObject({ code: 0, printed: expect.stringMatching(/^PID .*KIND/) });
  expect(listed.printed).toContain("more: --after shop.2");
  expect(listed.printed).not.toContain("\u001b");
  const rest = JSON.parse((await run("processes", "--after", "shop.2", "--json", ...socket)).printed);
  expect(rest.processes[0]).toMatchObject({ pid: "shop.3" });
  const tree = await run("tree", ...socket);
  expect(tree.printed).toMatch(
    /^shop floor {2}shop\.1 {2}one_for_one, 0 of \d+ restarts in \d+ s\n {2}till {2}shop\.2\n {2}clerk {2}shop\.3/,
  );
  const process = await run("process", "shop.3", ...socket);
  expect(process.printed).toMatch(/^process {4}shop\.3\n(.*\n)*status .*\n(.*\n)*parent {5}shop\.1/);
  expect((await run("consumers", "clerks", ...socket)).printed).toMatch(/^NUMBER +CONSUMER.*\n +1 +north/);
  expect(JSON.parse((await run("groups", "--json", ...socket)).printed)).toMatchObject({
    groups: [{ name: "clerks", consumers: 1 }],
  });
  expect(await run("topologies", ...socket)).toMatchObject({ code: 0, printed: "no topologies" });
  expect(
    JSON.parse((await run("children", "shop floor", "--after", "1", "--json", ...socket)).printed),
  ).toMatchObject({
    children: [{ place: 2, id: "clerk" }],
  });
});

test("prints the numbers of tasks and places as they are: --after takes them", async () => {
  const task = { place: 1_000, component: "sums", task: 2_000, pid: "shop.1", emitted: 1_000, errors: 0 };
  const counts = { executed: 0, acked: 0, failed: 0, pending: 0, waiting: 0, restarts: 0 };
  const page = { items: [{ ...task, ...counts }], more: false };
  const reach = async () => ({ ask: async () => page, close: () => undefined });
  const { printed } = await ran<SystemHost>(system, ["tasks", "sums", "--socket", "s"], () => ({ reach }));
  expect(printed).toMatch(/^NUMBER +COMPONENT +TASK +PID +EMITTED\n +1000 +sums +2000 +shop\.1 +1,000$/);
});

test("ends with 1 when there is no such process, and with 2 when no program listens [Z705]", async () => {
  const socket = await program();
  expect(await run("process", "nobody", "--socket", socket)).toMatchObject({
    code: 1,
    complaints: "signalbox: nobody is not a running process of shop",
  });
  expect(await run("tasks", "sums", "--socket", socket)).toMatchObject({ code: 1 });
  expect(await run("processes", "--socket", `${socket}.none`)).toMatchObject({
    code: 2,
    complaints: `signalbox: no program listens for ${socket}.none`,
  });
  const database = "postgres://ada:secret@shop/db";
  const refused = await run("processes", "--store", database);
  expect(refused).toMatchObject({ code: 2, complaints: expect.stringContaining("--socket") });
  expect(refused.complaints).not.toContain("secret");
  expect(await run("processes", "--limit", "0", "--socket", socket)).toMatchObject({ code: 2 });
  expect(await run("processes")).toMatchObject({ code: 2, complaints: expect.stringContaining("--store") });
  expect(await run("processes", "--store", "a.db", "--socket", "b")).toMatchObject({ code: 2 });
});

test("where several systems listen at a socket, --system names the one that is meant [Z903]", async () => {
  const socket = folderWith()("shop.sock");
  const services: Service[] = [];
  // One after the other: the first to listen is named first.
  for (const name of ["shop", "stock", "stock"]) {
    const Floor = supervisor({
      children: [{ id: "till", name: "till", start: defineServer({ init: () => 0 }) }],
    });
    const service = start(Floor, { name, host: false, socket });
    onTestFinished(() => void service.stop());
    services.push(service);
    await service.started;
  }
  const [, first, second] = services.map(({ system }) => system.kernel.node.id) as [string, string, string];
  const both = `${first} (stock), ${second} (stock)`;
  expect(await run("tree", "--socket", socket)).toMatchObject({
    code: 2,
    complaints: `signalbox: several systems listen at this socket: name one of them with --system: shop, ${both}`,
  });
  for (const name of ["shop", first, second])
    expect(await run("process", "till", "--system", name, "--socket", socket)).toMatchObject({ code: 0 });
  expect(await run("groups", "--system", "stock", "--socket", socket)).toMatchObject({
    code: 2,
    complaints: `signalbox: several systems "stock" listen at this socket: name one by its id: ${both}`,
  });
  expect(await run("groups", "--system", "till", "--socket", socket)).toMatchObject({
    code: 2,
    complaints: `signalbox: no system "till" listens at this socket: there is only shop, ${both}`,
  });
  await services[2]?.stop();
  expect(await run("process", "till", "--system", "stock", "--socket", socket)).toMatchObject({ code: 0 });
  await services[1]?.stop();
  expect(await run("process", "till", "--socket", socket)).toMatchObject({ code: 0 });
});

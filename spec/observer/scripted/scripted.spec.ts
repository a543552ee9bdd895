// The scripted service has something for each page.

import { expect, onTestFinished, test } from "vitest";
import { hostAt } from "../../../lib/cli/shell/reach.js";
import { HOSTILE } from "./hostile.js";
import { scripted } from "./service.js";

const STATUSES = [
  "pending",
  "running",
  "waiting",
  "paused",
  "hospitalized",
  "completed",
  "failed",
  "cancelled",
  "killed",
];

test("flows in every status, dead letters, a topology, groups and nodes", async () => {
  const service = await scripted();
  onTestFinished(() => service.stop());
  await service.round();
  const client = await hostAt(service.socket);
  onTestFinished(() => client?.close());
  const ask = async (op: string, args: object = {}): Promise<never> => (await client?.ask(op, args)) as never;
  const { flows } = (await ask("list", { limit: 100 })) as { flows: { status: string }[] };
  expect(new Set(flows.map(({ status }) => status))).toEqual(new Set(STATUSES));
  const names = ({ items }: { items: { name?: string; label?: string }[] }): (string | undefined)[] =>
    items.map(({ name, label }) => name ?? label);
  expect(names(await ask("queues.list"))).toEqual(["clicks", "jobs", "mails"]);
  expect(names(await ask("system.topologies"))).toEqual(["words"]);
  expect(names(await ask("system.groups"))).toContain("pickers");
  expect(names(await ask("system.nodes"))).toEqual(["shop", "depot", "attic"]);
  expect(names(await ask("system.processes"))).toContain(HOSTILE.markup);
});

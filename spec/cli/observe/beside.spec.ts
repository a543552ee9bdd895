// `signalbox observe` with its real server: beside a running program, and on a store that no program has open.

import { System, supervisor } from "signalbox";
import { defineFlow, flowHost } from "signalbox/flow";
import { sqlite } from "signalbox/store";
import { expect, onTestFinished, test } from "vitest";
import type { Json } from "../../../lib/admin/json-view.js";
import { findObserved } from "../../../lib/cli/observe/find.js";
import { serve } from "../../../lib/cli/observe/server.js";
import { folderWith } from "../pipelines/support.js";

const greet = defineFlow("greet", async (_flow, name: string) => `hello ${name}`);

/** A program that has a store open, and has run a flow. */
async function program(file: string): Promise<System> {
  const system = new System({ name: "shop", report: false });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  const host = flowHost({ name: "flows", store: sqlite(file), flows: [greet] });
  await system.start(supervisor({ label: "shop", children: [{ id: "flows", name: "flows", start: host }] }));
  await (await host.at(system, "flows").start(greet, "Ada", { id: "greet-ada" })).result();
  return system;
}

/** Opens the page of a store, and asks it as a browser does. */
async function opened(store: string, actions: boolean) {
  const audits: string[] = [];
  const source = await findObserved({ store }, undefined, () => undefined);
  if (source === undefined) throw new Error("there is nothing");
  onTestFinished(() => source.close());
  const server = await serve(source, { port: 0, actions, audit: (text) => void audits.push(text) });
  onTestFinished(() => server.close());
  const { origin, hash } = new URL(server.url);
  const post = async (
    path: string,
    body: object,
  ): Promise<{ status: number; body: Record<string, Json> }> => {
    const headers = {
      "content-type": "application/json",
      authorization: `Bearer ${hash.replace("#token=", "")}`,
    };
    const answer = await fetch(`${origin}/api/${path}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, Json> };
  };
  return { source, server, post, audits };
}

test("beside a running program, over its admin socket [N1594]", async () => {
  const file = folderWith()("flows.db");
  const system = await program(file);
  const { source, post, audits } = await opened(file, true);
  expect(source.through).toBe("the running program shop");
  const hello = await post("hello", {});
  expect(hello.body).toMatchObject({ name: "shop", actions: true, subjects: ["system", "flows"] });
  const list = await post("ask", { op: "list", args: {} });
  expect(list.body).toMatchObject({ ok: { flows: [{ id: "greet-ada", status: "completed" }] } });
  expect((await post("ask", { op: "system.overview", args: {} })).body).toMatchObject({
    ok: { name: "shop" },
  });
  expect((await post("ask", { op: "remove", args: { id: "greet-ada" } })).status).toBe(200);
  expect(audits).toEqual([expect.stringMatching(/^done: remove /)]);
  await system.stop();
  expect((await post("ask", { op: "list", args: {} })).status).toBeGreaterThanOrEqual(400);
});

test("on a store that no program has open, it shows what the store has [N1595]", async () => {
  const file = folderWith()("flows.db");
  await (await program(file)).stop();
  const { source, post } = await opened(file, false);
  expect(source.through).toContain("which no program has open");
  expect((await post("hello", {})).body).toMatchObject({
    actions: false,
    subjects: ["flows"],
  });
  const list = await post("ask", { op: "list", args: {} });
  expect(list.body).toMatchObject({ ok: { flows: [{ id: "greet-ada" }] } });
  expect((await post("ask", { op: "remove", args: { id: "greet-ada" } })).status).toBe(403);
});

test("a file that is not there is not created [N1595]", async () => {
  await expect(findObserved({ store: folderWith()("none.db") }, undefined, () => undefined)).rejects.toThrow(
    "there is no file",
  );
});

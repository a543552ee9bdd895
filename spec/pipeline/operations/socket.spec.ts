// Hosts of a SQLite file, and the command that reaches them over the one socket beside it.

import { existsSync, statSync } from "node:fs";
import { defineFlow, flowHost } from "signalbox/flow";
import { sqlite } from "signalbox/store";
import { expect, test } from "vitest";
import { reach as reachFlows } from "../../../lib/cli/flows/reach.js";
import { reach } from "../../../lib/cli/pipelines/reach.js";
import { definePipeline } from "../../../lib/pipeline/definition/pipeline.js";
import { queue } from "../../../lib/pipeline/definition/queue.js";
import { route } from "../../../lib/pipeline/definition/route.js";
import { PipelineHost, pipelineHost } from "../../../lib/pipeline/host.js";
import type { PipelineOperations } from "../../../lib/pipeline/operations/operations.js";
import { folderWith } from "../../cli/pipelines/support.js";
import { all, hostOf, lines, system, wordPipeline } from "./support.js";

const warn = (text: string): void => expect.fail(text);
const NOTHING = { payloads: {}, pipelines: [] };
const greet = defineFlow("greet", async (flow) => flow.receive<string>("name"));

test("all that can be asked of a store is answered over the socket as it is beside it [Y111]", async () => {
  const file = folderWith()("jobs.db");
  const pipeline = wordPipeline();
  const host = await hostOf(system(), sqlite(file), pipeline);
  expect(statSync(`${file}.sock`).mode & 0o777).toBe(0o600);
  const many = Array.from({ length: 600 }, (_, i) => (i % 2 === 0 ? "" : "a"));
  const run = await host.start(pipeline, {
    id: "one",
    messages: { to: lines, values: ["a b flaky", "bad", ...many] },
  });
  await run.completed();
  const { operations: remote, close } = await reach(file, warn, NOTHING);
  const { operations: own } = host;
  const asked: readonly ((on: PipelineOperations) => Promise<unknown>)[] = [
    (on) => on.list({ pipeline: "words", status: "completed" }),
    (on) => all(on.executions({ limit: 1 })),
    (on) => on.status("one"),
    (on) => on.inspect("one"),
    (on) => on.lineage("one", "10.10"),
    (on) => all(on.children("one", "10.10", { limit: 2 })),
    (on) => all(on.batch("one", "10.10.10")),
    (on) => all(on.messages("one")),
    (on) => all(on.failures("one", { route: "check" })),
    (on) => all(on.deadLetters("one")),
    (on) => on.outcome("one", { timeoutMs: 1_000 }),
  ];
  for (const ask of asked) {
    const found = await ask(remote);
    expect(found).toEqual(JSON.parse(JSON.stringify(await ask(own))));
    expect(JSON.stringify(found).length).toBeGreaterThan(20);
  }
  expect((await all(remote.deadLetters("one"))).length).toBe(301);
  const remoteCode = (code: string) => ({ remote: { code } });
  await expect(remote.status("two")).rejects.toMatchObject(remoteCode("ERR_PIPELINE_EXECUTION_NOT_FOUND"));
  await expect(remote.lineage("one", "x")).rejects.toMatchObject(remoteCode("ERR_OPTION"));
  await expect(remote.replay("one", { route: "check" })).rejects.toMatchObject(
    remoteCode("ERR_PIPELINE_REPLAY"),
  );
  expect(await remote.replay("one", { dead: true, route: "check", id: "two" })).toEqual({
    id: "two",
    messages: 1,
  });
  expect(await remote.outcome("two")).toMatchObject({ status: "completed", inputs: 1, replays: "one" });
  await close();
  await host.stop();
  expect(existsSync(`${file}.sock`)).toBe(false);
  const alone = await reach(file, warn, NOTHING);
  expect((await alone.operations.list()).executions.map(({ id }) => id)).toEqual(["two", "one"]);
  await alone.close();
});

test("hosts of flows and of pipelines on one file share its socket, whichever of them comes and goes first [Y112]", async () => {
  const file = folderWith()("both.db");
  const store = sqlite(file);
  const on = system();
  const hang = (name: string) => {
    const from = queue<string>(name);
    const wait = route("wait", { from }).via("wait", () => new Promise<undefined>(() => undefined));
    return { from, pipeline: definePipeline(name, { routes: [wait] }) };
  };
  const [one, two] = [hang("one"), hang("two")];
  const flows = await on.start(flowHost({ store, flows: [greet] }));
  const first = await hostOf(on, store, one.pipeline);
  const second = await hostOf(on, store, two.pipeline);
  await flows.start(greet, undefined, { id: "f" });
  for (const [host, { from, pipeline }] of [
    [first, one],
    [second, two],
  ] as const)
    await host.start(pipeline, { id: pipeline.name, messages: { to: from, values: ["a"] } });
  const ask = async () => {
    const reached = [await reachFlows(file, warn), await reach(file, warn, NOTHING)] as const;
    return {
      flow: reached[0].operations,
      pipes: reached[1].operations,
      close: () => reached.map((of) => of.close()),
    };
  };
  const { flow, pipes, close } = await ask();
  expect((await flow.inspect("f")).name).toBe("greet");
  // Each is told to the host that runs it, whoever has the socket.
  for (const name of ["one", "two"]) {
    expect(await pipes.pause(name)).toBe(true);
    expect((await pipes.status(name)).status).toBe("paused");
  }
  expect(await pipes.cancel("two")).toBe(true);
  await expect(second.get("two").completed()).rejects.toMatchObject({
    code: "ERR_PIPELINE_EXECUTION_FAILED",
  });
  close();
  // The socket passes from host to host.
  await flows.stop();
  await expect.poll(() => existsSync(`${file}.sock`)).toBe(true);
  const later = await ask();
  expect((await later.pipes.list()).executions).toHaveLength(2);
  await expect(later.flow.list()).rejects.toMatchObject({ remote: { code: "ERR_ADMIN_PROTOCOL" } });
  later.close();
  await first.stop();
  await expect.poll(() => existsSync(`${file}.sock`)).toBe(true);
  await second.stop();
  expect(existsSync(`${file}.sock`)).toBe(false);
});

test("a host has no socket if it wants none, and another one where it says", async () => {
  const at = folderWith();
  const pipelines = [wordPipeline()];
  const on = system();
  const none = await on.start(pipelineHost({ store: sqlite(at("a.db")), pipelines, socket: false }));
  const other = await on.start(
    pipelineHost({ store: sqlite(at("b.db")), pipelines, socket: at("other.sock") }),
  );
  expect([none, other].every((host) => host instanceof PipelineHost)).toBe(true);
  expect([existsSync(at("a.db.sock")), existsSync(at("b.db.sock")), existsSync(at("other.sock"))]).toEqual([
    ...[false, false, true],
  ]);
  expect(() => pipelineHost({ pipelines, socket: 7 as never })).toThrow(/socket/);
});

// `signalbox pipelines`: files with faults, runs that are interrupted and gone on with, and what is asked of a store afterwards.

import { memory } from "signalbox/store";
import { describe, expect, test } from "vitest";
import { definePipeline } from "../../../lib/pipeline/definition/pipeline.js";
import { queue } from "../../../lib/pipeline/definition/queue.js";
import { route } from "../../../lib/pipeline/definition/route.js";
import type { PipelineOperations } from "../../../lib/pipeline/operations/operations.js";
import { answering } from "../../admin/support/wire.js";
import { folderWith, inStore, runCommand } from "./support.js";

const GOOD = `version: 1
name: costly
sources:
  strikes:
    type: messages
    to: strikes
    config:
      values: [{ id: 1, cost: 5 }, { id: 2, cost: 50 }, { id: 3, cost: 500 }]
routes:
  pick:
    from: strikes
    adapters:
      - type: filter
        config: { condition: { field: cost, operator: gt, value: 10 } }
`;
const BAD = GOOD.replace("from: strikes", "frm: strikes").replace("type: filter", "type: filtr");
const STORE = ["--store", "jobs.db"];

/** Refuses what is negative, until it is mended. Waits at 99 until it is aborted. */
function job() {
  const state = { isMended: false, seen: [] as number[], release: (): void => undefined };
  const check = route("check", {
    from: queue<number>("numbers"),
    retry: { attempts: 1 },
    hashValues: true,
  }).via("check", async (n, ctx) => {
    if (n < 0 && !state.isMended) throw new Error(`${n} is negative`);
    if (n === 99 && !state.isMended) {
      await new Promise<void>((resolve, reject) => {
        state.release = resolve;
        ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason));
      });
    }
    state.seen.push(n);
    return undefined;
  });
  return { state, module: { job: definePipeline("job", { routes: [check] }) } };
}
const messages = (...values: number[]): string[] => values.flatMap((n) => ["--message", `numbers=${n}`]);

describe("validate", () => {
  test("prints every fault of every file with its place, and ends with 1 [Y108]", async () => {
    const at = folderWith({ "good.yaml": GOOD, "bad.yaml": BAD });
    const { code, printed, complaints } = await runCommand(["validate", at("good.yaml"), at("bad.yaml")]);
    expect([code, printed]).toEqual([1, `${at("good.yaml")}: costly can run`]);
    const file = at("bad.yaml");
    expect(complaints.split("\n").filter((line) => line.startsWith(file))).toEqual([
      expect.stringMatching(/^.*bad\.yaml:10:3 routes\.pick\.from must be .*; found nothing/),
      expect.stringMatching(/^.*bad\.yaml:11:5 routes\.pick\.frm must be .*did you mean from\?/),
      expect.stringMatching(
        /^.*bad\.yaml:13:15 routes\.pick\.adapters\[0\]\.type must be .*did you mean filter\?/,
      ),
    ]);
    expect((await runCommand(["validate", at("good.yaml")])).code).toBe(0);
  });

  test("prints one document with --json [Y108]", async () => {
    const at = folderWith({ "bad.yaml": BAD });
    const { code, printed } = await runCommand(["validate", "--json", at("bad.yaml")]);
    const [{ ok, faults }] = JSON.parse(printed).files;
    expect({ code, ok }).toEqual({ code: 1, ok: false });
    expect(faults).toHaveLength(3);
    expect(faults[2]).toMatchObject({ line: 13, column: 15, found: '"filtr"', suggestion: "filter" });
  });

  test("ends its wait for a schema that never answers", async () => {
    const at = folderWith({ "slow.yaml": GOOD.replace("filter", "slow") });
    const never = {
      "~standard": { version: 1, vendor: "test", validate: () => new Promise(() => undefined) },
    };
    const type = {
      type: "slow",
      description: undefined,
      jsonSchema: undefined,
      config: never,
      create: () => 0,
    };
    const sources = (await import("../../../lib/pipeline/yaml/registry.js")).pipelineRegistry().sources;
    const registry = { adapters: new Map([["slow", type]]), sources };
    const controller = new AbortController();
    const ran = runCommand(["validate", at("slow.yaml"), "--code", "types.js"], {
      load: async () => ({ registry }),
      interruption: () => ({ signal: controller.signal, code: 130, release: () => undefined }),
    });
    setImmediate(() => controller.abort(new Error("interrupted by SIGINT")));
    const { code, complaints } = await ran;
    expect([code, complaints]).toEqual([2, "signalbox: interrupted by SIGINT"]);
  });
});

describe("run", () => {
  test("runs a file in memory alone, and draws how far it is", async () => {
    const at = folderWith({ "good.yaml": GOOD });
    const { code, printed, drawn } = await runCommand(["run", at("good.yaml"), "--id", "one"]);
    expect([code, printed]).toEqual([0, "one has started\none: completed, 3 inputs, 3 done"]);
    expect(drawn.at(-1)).toMatch(/^\[█{20}\] 100 % {2}3 done/);
  });

  test("prints a line of JSON for each event, the end last [Y109]", async () => {
    const { module } = job();
    const args = ["run", "job", "--code", "job.js", "--json", "--id", "a", ...STORE, ...messages(1, -2)];
    const { code, printed } = await runCommand(args, {
      ...(await inStore(memory())),
      load: async () => module,
    });
    const events = printed.split("\n").map((line) => JSON.parse(line));
    expect(code).toBe(0);
    expect(events[0]).toEqual({ event: "started", id: "a", pipeline: "job" });
    expect(events.at(-2)).toMatchObject({ event: "progress", id: "a", done: 2, pending: 0 });
    expect(events.at(-1)).toMatchObject({ event: "ended", id: "a", status: "completed", done: 2, dead: 1 });
  });

  test.each([
    [["job", "--input", "{"], /--input must be JSON/],
    [["job", "--message", "numbers"], /--message must be QUEUE=JSON/],
    [["job", "--drain", "soon"], /--drain must be a length of time/],
    [["job", "--stor", "x"], /there is no option --stor/],
    [[], /PIPELINE is missing/],
    [["jop"], /cannot read jop/],
  ])("prints the error of %j as a line of JSON, too [Y109]", async (args, text) => {
    const command = ["run", ...args, "--code", "job.js", "--json"];
    const { code, printed } = await runCommand(command, { load: async () => job().module });
    expect(code).toBe(2);
    expect(printed.split("\n").map((line) => JSON.parse(line))).toEqual([
      { event: "error", error: { name: "Error", message: expect.stringMatching(text) } },
    ]);
  });

  test("stops cleanly when it is interrupted, says how to go on, and goes on then [Y109]", async () => {
    const { state, module } = job();
    const host = { ...(await inStore(memory())), load: async () => module };
    const controller = new AbortController();
    const command = ["run", "job", "--code", "job.js", ...STORE];
    const first = await runCommand([...command, "--drain", "1ms", "--id", "a", ...messages(1, 99, 2)], {
      ...host,
      interruption: () => ({ signal: controller.signal, code: 130, release: () => undefined }),
      draw: (line) => {
        if (line?.includes(" 1 done") === true) controller.abort(new Error("interrupted by SIGINT"));
      },
    });
    expect(first.code).toBe(130);
    expect(first.printed).toMatch(
      /interrupted: 1 done, 2 pending; the next start continues: signalbox pipelines run job --store jobs\.db$/,
    );
    const refused = await runCommand([...command, "--drain", "1ms", ...messages(1)], host);
    expect(refused).toMatchObject({ code: 2, complaints: expect.stringContaining("leave out --input") });
    state.isMended = true;
    const second = await runCommand(command, host);
    expect(second).toMatchObject({ code: 0, printed: "a goes on\na: completed, 3 inputs, 3 done" });
    expect(state.seen.sort((a, b) => a - b)).toEqual([1, 2, 99]);
  });

  test("that is interrupted when nothing is left has ended, and says so", async () => {
    const { state, module } = job();
    const controller = new AbortController();
    const { code, printed } = await runCommand(
      ["run", "job", "--code", "job.js", ...STORE, "--id", "a", ...messages(1, 99)],
      {
        ...(await inStore(memory())),
        load: async () => module,
        interruption: () => ({ signal: controller.signal, code: 130, release: () => undefined }),
        draw: (line) => {
          if (line?.includes(" 1 done") !== true) return;
          state.release();
          controller.abort(new Error("interrupted by SIGINT"));
        },
      },
    );
    expect([code, printed]).toEqual([0, "a has started\na: completed, 2 inputs, 2 done"]);
  });

  test("ends with 1 when the execution fails, and says why", async () => {
    const at = folderWith({
      "gone.yaml": GOOD.replace("type: messages", "type: csv").replace(/values:.*/, "path: gone.csv"),
    });
    const { code, printed } = await runCommand(["run", at("gone.yaml"), "--id", "a"]);
    expect(code).toBe(1);
    expect(printed).toMatch(/a: failed, 0 inputs, 0 done: ENOENT/);
  });

  test.each([
    [["run", "nothing.yaml"], /cannot read nothing\.yaml: .*; and --code names no module with a pipeline/],
    [["run", "jop", "--code", "job.js"], /cannot read jop: .*; and the module has only job/],
    [["run", "job", "--code", "job.js", "--message", "numbers"], /--message must be QUEUE=JSON/],
    [["run", "job", "--code", "job.js", "--message", "numbers=x"], /--message must be JSON/],
    [
      ["run", "job", "--code", "job.js", "--message", "number=1"],
      /a queue that a route of job takes from: numbers/,
    ],
    [["run", "job", "--code", "job.js", "--stor", "x"], /there is no option --stor: did you mean --store/],
    [["lst", ...STORE], /there is no command pipelines lst: did you mean list/],
    [["list"], /which store\? Pass --store/],
    [["list", "--store", "mysql://x"], /a store is a file, or postgres/],
    [["list", "--store", "gone.db"], /there is no file gone\.db/],
    [["get", ...STORE], /ID is missing/],
    [["validate"], /FILE is missing/],
  ])("%j is refused with exit code 2", async (args, text) => {
    const { code, complaints } = await runCommand(args, { load: async () => job().module });
    expect(complaints).toMatch(text);
    expect(code).toBe(2);
  });
});

describe("on a store", () => {
  /** An execution with dead letters, and another one. */
  async function stored() {
    const { state, module } = job();
    const host = { ...(await inStore(memory())), load: async () => module };
    const run = (...args: string[]) => runCommand([...args, ...STORE], host);
    const code = ["--code", "job.js"];
    await run("run", "job", ...code, "--id", "a", ...messages(1, -2, -3));
    return { state, host, run, code };
  }

  test("list, get, lineage, failures and dead show executions and their messages", async () => {
    const { run } = await stored();
    expect((await run("list")).printed.split("\n")[1]).toMatch(/^a +job +completed +3 +3 +2 /);
    expect((await run("list", "--status", "failed")).printed).toBe("no executions");
    expect(JSON.parse((await run("list", "--json")).printed).executions).toMatchObject([
      { id: "a", dead: 2 },
    ]);
    const got = await run("get", "a");
    expect(got.printed).toMatch(/execution {2}a\npipeline {3}job\nstatus {5}completed/);
    expect(got.printed).toMatch(/numbers {2}check {6}0 {5}2/);
    const { printed } = await run("dead", "a");
    expect(printed).toMatch(/^10\.11 {2}check \/ check {2}\d{4}-.*\n {4}-2\n {4}1\. Error: -2 is negative/);
    const { deadLetters } = JSON.parse((await run("dead", "a", "--json", "--limit", "1")).printed);
    expect(deadLetters).toMatchObject([{ id: "10.11", value: -2, route: "check", adapter: "check" }]);
    expect((await run("failures", "a")).printed.split("\n")).toHaveLength(2);
    expect((await run("lineage", "a", "10.11")).printed).toMatch(/message\n {2}10\.11 {2}dead {2}check/);
    // What it got is -2, as its JSON says.
    expect((await run("lineage", "a", "10.11")).printed).toMatch(
      / {4}check: failed, [\d.]+ ms, gave 0, cf3bae39dd692048a8bf961182e6a34d → - /,
    );
    expect((await run("lineage", "a")).printed.split("\n")).toHaveLength(3);
    expect(await run("get", "b")).toMatchObject({
      code: 1,
      complaints: 'signalbox: there is no execution "b"',
    });
    const failure = await run("get", "b", "--json");
    expect(JSON.parse(failure.printed).error.code).toBe("ERR_PIPELINE_EXECUTION_NOT_FOUND");
  });

  test("list prints a version as it is: it is a name and no amount", async () => {
    const execution = { id: "a", pipeline: "job", version: 1_000, status: "completed", created: 0 };
    const counts = { inputs: 1_000, done: 1_000, pending: 0, dead: 0 };
    const executions = [{ ...execution, ...counts }];
    const operations = answering<PipelineOperations>({ list: { executions } }, []);
    const open = async () => ({ operations, close: async () => undefined });
    const { printed } = await runCommand(["list", "--store", "jobs.db"], { open });
    expect(printed).toMatch(/^ID +PIPELINE +VERSION +STATUS +INPUTS.*\na +job +1000 +completed +1,000 /);
  });

  test("lineage --batch and --children list behind --after, and as many as --limit says [Y690]", async () => {
    const given: unknown[][] = [];
    const list = (...args: readonly unknown[]): unknown[] => {
      given.push([...args]);
      return [];
    };
    const operations = answering<PipelineOperations>({ batch: list, children: list }, ["batch", "children"]);
    const open = async () => ({ operations, close: async () => undefined });
    const range = ["--after", "10.11", "--limit", "2", "--store", "jobs.db"];
    for (const kind of ["--batch", "--children"])
      expect((await runCommand(["lineage", "a", "10.10", kind, ...range], { open })).code).toBe(0);
    const wanted = ["a", "10.10", { after: "10.11", limit: 2 }];
    expect(given).toEqual([wanted, wanted]);
  });

  test.each([
    [["lineage", "a", "10.10", "--after", "10.11"], "--after needs --children or --batch"],
    [["lineage", "a", "10.10", "--limit", "2"], "--limit needs --children or --batch"],
    [["lineage", "a", "10.10", "--children", "--batch"], "--children cannot be combined with --batch"],
  ] as const)("%s is refused: a command ignores no option [Y695]", async (args, problem) => {
    const refused = await runCommand([...args, "--store", "jobs.db"], {
      open: async () => ({ operations: answering<PipelineOperations>({}, []), close: async () => undefined }),
    });
    expect(refused).toMatchObject({ code: 2, complaints: expect.stringContaining(problem) });
  });

  test.each([
    [["give-up", "a", "--all"], '--reason is required, such as --reason "the customer has gone"'],
    [["move", "a"], "--to is required, the name of a route"],
    [["drop", "a", "--all"], "--reason is missing: say why"],
  ] as const)("%j says what is missing before it opens the store", async (args, problem) => {
    const open = () => Promise.reject(new Error("the store was opened"));
    const [name] = args;
    expect(await runCommand([...args, "--store", "jobs.db"], { open })).toMatchObject({
      code: 2,
      complaints: `signalbox: pipelines ${name}: ${problem}\nsignalbox pipelines ${name} --help shows its arguments`,
    });
  });

  test("replay begins a new execution, which the next run continues; a value that is gone is a no [Y110]", async () => {
    const { run, state, code } = await stored();
    const refused = await run("replay", "a", "--route", "check", ...code);
    expect(refused).toMatchObject({
      code: 1,
      complaints: expect.stringContaining("1 messages whose values are gone"),
    });
    const unknown = await run("replay", "a", "--dead");
    expect(unknown).toMatchObject({
      code: 1,
      complaints: "signalbox: the host has no pipeline job; it has none",
    });
    const begun = await run("replay", "a", "--dead", "--id", "again", ...code);
    expect(begun).toMatchObject({ code: 0, printed: "again: replays 2 messages of a" });
    state.isMended = true;
    const ran = await run("run", "job", ...code);
    expect(ran).toMatchObject({ code: 0, printed: "again goes on\nagain: completed, 2 inputs, 2 done" });
    expect(state.seen.sort((x, y) => x - y)).toEqual([-3, -2, 1]);
    expect((await run("get", "again")).printed).toMatch(/replays {4}a\n/);
  });

  test("retry, edit and drop act on dead letters in place, and dead --records says who did what [Y455]", async () => {
    const { run, state, code } = await stored();
    const by = ["--by", "ada"];
    expect(await run("retry", "a")).toMatchObject({ code: 2, complaints: expect.stringContaining("--all") });
    expect(await run("drop", "a", "10.11")).toMatchObject({
      ...{ code: 2, complaints: expect.stringContaining("--reason is missing") },
    });
    expect(await run("retry", "a", "10.17")).toMatchObject({
      ...{ code: 1, complaints: 'signalbox: the execution "a" has no dead letter "10.17"' },
    });
    expect(await run("edit", "a", "10.11", "2,")).toMatchObject({ code: 2 });
    expect(await run("edit", "a", "10.11", "2", ...by)).toMatchObject({
      ...{ code: 0, printed: "10.11: goes on with 2" },
    });
    expect(await run("drop", "a", "--error", "negative", "--reason", "spam", ...by, "--json")).toMatchObject({
      ...{ code: 0, printed: JSON.stringify({ letters: 1 }, null, 2) },
    });
    expect(JSON.parse((await run("list", "--json")).printed).executions).toMatchObject([
      { id: "a", status: "running", dead: 0, dropped: 1, pending: 1 },
    ]);
    const ran = await run("run", "job", ...code);
    expect(ran).toMatchObject({ code: 0, printed: "a goes on\na: completed, 3 inputs, 3 done, 1 dropped" });
    expect(state.seen).toEqual([1, 2]);
    const { records } = JSON.parse((await run("dead", "a", "--records", "--json")).printed);
    expect(records).toMatchObject([
      { id: "10.11", fate: "edited", by: "ada", value: -2 },
      { id: "10.12", fate: "dropped", by: "ada", reason: "spam", value: -3 },
    ]);
    expect((await run("dead", "a", "--records")).printed).toMatch(
      /^10\.11 {2}numbers {2}edited by ada {2}\d{4}-.*\n {4}-2\n10\.12 {2}numbers {2}dropped by ada: spam/,
    );
    expect((await run("get", "a")).printed).toMatch(/dropped {4}1\n/);
    expect(await run("retry", "a", "--all")).toMatchObject({ code: 0, printed: "0 dead letters go on" });
  });

  test("pause, resume, cancel and wait change executions, and say of which they cannot [Y110]", async () => {
    const { run, code } = await stored();
    await run("replay", "a", "--dead", "--id", "b", ...code);
    expect(await run("pause", "b", "a")).toMatchObject({
      ...{ code: 1, printed: "b: is paused", complaints: 'signalbox: the execution "a" has ended' },
    });
    expect(JSON.parse((await run("list", "--json", "--status", "paused")).printed).executions).toHaveLength(
      1,
    );
    expect(await run("resume", "b")).toMatchObject({ code: 0, printed: "b: is resumed" });
    const late = await run("wait", "b", "--timeout", "1ms");
    expect(late).toMatchObject({ code: 1, complaints: expect.stringContaining("did not end within") });
    expect(late.drawn[0]).toMatch(/^\[░{20}\] {3}0 % {2}0 done {2}2 pending/);
    expect(await run("cancel", "b")).toMatchObject({ code: 0, printed: "b: is cancelled" });
    expect(await run("wait", "b")).toMatchObject({ code: 1, printed: "b: cancelled, 2 inputs, 0 done" });
    expect(await run("wait", "a")).toMatchObject({ code: 0 });
  });
});

test("schema and draw need no store", async () => {
  const at = folderWith({ "good.yaml": GOOD });
  expect(JSON.parse((await runCommand(["schema"])).printed).properties).toHaveProperty("routes");
  expect((await runCommand(["draw", at("good.yaml")])).printed).toMatch(/^flowchart/);
  expect((await runCommand(["draw", at("good.yaml"), "--dot"])).printed).toMatch(/^digraph/);
});

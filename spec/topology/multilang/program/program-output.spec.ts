// What a component of ours prints, and when: to its host the standard output is the wire. The programs are started from
// what `npm run build` made.

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { testClock } from "../../../../lib/testing/kit/clock.js";
import { type BoltContext, bolt } from "../../../../lib/topology/definition/component.js";
import { field } from "../../../../lib/topology/definition/field.js";
import { encode } from "../../../../lib/topology/multilang/protocol/codec.js";
import { Storm, topologyOf } from "./storm.js";

const dist = process.env.SIGNALBOX_DIST ?? fileURLToPath(new URL("../../../../dist/", import.meta.url));
const built = existsSync(join(dist, "topology/index.js"));
const needsBuild = built ? "" : " (skipped: there is no dist with topologies; npm run build)";
const program = fileURLToPath(new URL("../components/noisy.mjs", import.meta.url));

interface Said {
  readonly code: unknown;
  readonly pid: number | undefined;
  /** Its messages, as long as they are such; what follows is text. */
  readonly messages: readonly Record<string, unknown>[];
  readonly rest: string;
  readonly errors: string;
}

/** Runs the program under a host that says these things at once, and then closes its end when it has heard enough. */
async function run(mode: string, wanted: number, ...messages: readonly unknown[]): Promise<Said> {
  const pidDir = mkdtempSync(join(tmpdir(), "signalbox-output-"));
  const child = spawn(process.execPath, [program, dist, mode], { stdio: ["pipe", "pipe", "pipe"] });
  let said = "";
  let errors = "";
  const handshake = { conf: {}, pidDir, context: { taskid: 2, componentid: "print" } };
  child.stdin.on("error", () => undefined);
  for (const message of [handshake, ...messages]) child.stdin.write(encode(message));
  child.stdout.on("data", (text) => {
    said += text;
    if (said.split("\nend\n").length > wanted) child.stdin.end();
  });
  child.stderr.on("data", (text) => {
    errors += text;
  });
  const code = await new Promise((resolve) => child.on("close", resolve));
  rmSync(pidDir, { recursive: true });
  const parts = said.split("\nend\n");
  const rest = parts.pop() ?? "";
  return { code, pid: child.pid, messages: parts.map((part) => JSON.parse(part)), rest, errors };
}

const log = (msg: string) => ({ command: "log", msg, level: 2 });
const input = { text: field.text };

describe.skipIf(!built)(`a component of ours that prints${needsBuild}`, () => {
  test("says nothing before its process id; lines from before come after it, as log lines [M1]", async () => {
    const tuple = { id: "1", comp: "lines", stream: "lines", task: 1, tuple: ["hello"] };
    const { code, pid, messages, rest } = await run("late", 6, tuple);
    expect(messages).toEqual([
      { pid },
      log("loading { model: 1 }"),
      log("a line in two parts"),
      log("init"),
      log("hello"),
      { command: "ack", id: "1" },
      log("closed, without the end of a line"),
    ]);
    // What it prints when it is no component any more is its own affair.
    expect([rest, code]).toEqual(["free again\n", 0]);
  });

  test("that cannot be loaded answers the handshake, and says why", async () => {
    const { code, pid, messages, errors } = await run("broken", 4);
    expect(messages.slice(0, 3)).toEqual([{ pid }, log("loading { model: 1 }"), log("a line in two parts")]);
    expect(messages[3]).toMatchObject({
      command: "error",
      msg: expect.stringContaining("the model is broken"),
    });
    expect([code, errors.includes("the model is broken")]).toEqual([1, true]);
  });

  test("before `runComponent` is called gets advice how to print later", async () => {
    const { code, rest, errors } = await run("early", 1);
    expect([code, rest]).toEqual([1, "loading the model\n"]);
    expect(errors).toContain("18 bytes were written to the standard output before runComponent was called");
  });
});

describe("what a component says in one turn", () => {
  const streams = { words: { word: field.text } };
  type Ctx = BoltContext<typeof streams, undefined>;

  /** The writes of a bolt that gets these tuples at once, by the commands that each has. */
  async function writes(
    execute: (word: string, ctx: Ctx) => unknown,
    ...words: string[]
  ): Promise<string[][]> {
    const talks = bolt({ input, streams, execute: ({ values }, ctx) => execute(values.text, ctx) });
    // Its turns have no time, so that they end by the work and not by the clock.
    const { environment } = testClock();
    const storm = new Storm(topologyOf({ talks }), "talks", {}, { environment });
    await storm.seen("handshake");
    const chunks: string[][] = [];
    storm.output.on("data", (chunk: Buffer) => {
      const frames = chunk.toString().split("\nend\n").slice(0, -1);
      chunks.push(frames.map((frame) => (JSON.parse(frame) as { command: string }).command));
    });
    storm.say(...words.map((word) => ({ id: word, comp: "lines", stream: "lines", task: 1, tuple: [word] })));
    await storm.settled();
    await storm.leave();
    return chunks;
  }

  test("is written at once, for all tuples of the turn [N1499]", async () => {
    const emitting = (word: string, { emit }: Ctx) => {
      emit.words({ word });
      emit.words({ word });
    };
    const each = ["emit", "emit", "ack"];
    expect(await writes(emitting, "a", "b", "c")).toEqual([[...each, ...each, ...each]]);
  });

  test("is written with a line of the log, which the end of the program must not lose [N1499]", async () => {
    const logging = (word: string, { emit, log }: Ctx) => {
      emit.words({ word });
      log("info", word);
      emit.words({ word });
    };
    expect(await writes(logging, "a")).toEqual([
      ["emit", "log"],
      ["emit", "ack"],
    ]);
  });

  test("is written before it gets long [N1499]", async () => {
    const long = "x".repeat(10_000);
    const emitting = (_word: string, { emit }: Ctx) => {
      for (let i = 0; i < 5; i++) emit.words({ word: long });
    };
    expect(await writes(emitting, "a")).toEqual([
      ["emit", "emit"],
      ["emit", "emit"],
      ["emit", "ack"],
    ]);
  });
});

test("an error of the handshake itself says nothing on the wire before the process id", async () => {
  const nothing = bolt({ input, execute: () => undefined });
  const storm = new Storm(topologyOf({ nothing }), "another");
  expect(await storm.ended).toMatchObject({ code: "ERR_MULTILANG" });
  expect(storm.heard).toEqual([
    { pid: process.pid },
    { command: "error", msg: "topology test has no component another; it has nothing" },
  ]);
});

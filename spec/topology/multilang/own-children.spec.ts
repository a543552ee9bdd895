// Components of ours as programs: under our own host, and at their end. They are started from what `npm run build` made.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { field } from "../../../lib/topology/definition/field.js";
import { shellBolt } from "../../../lib/topology/multilang/host/shell-bolt.js";
import { shellSpout } from "../../../lib/topology/multilang/host/shell-spout.js";
import { TaskHost } from "./host/task-host.js";

const dist = process.env.SIGNALBOX_DIST ?? fileURLToPath(new URL("../../../dist/", import.meta.url));
const built = existsSync(join(dist, "topology/index.js"));
const needsBuild = built ? "" : " (skipped: there is no dist with topologies; npm run build)";

const program = fileURLToPath(new URL("components/own.mjs", import.meta.url));
const own = (...args: readonly string[]) => ({ command: process.execPath, args: [program, dist, ...args] });

describe.skipIf(!built)(`a component of ours as a child${needsBuild}`, () => {
  test("works as a bolt; its output comes as log lines", async () => {
    const input = { text: field.text };
    await using host = new TaskHost(shellBolt({ ...own(), input, streams: { words: { word: field.text } } }));
    await host.execute({ text: "to be" });
    await host.execute({ text: "or die" });
    await host.until(() => host.acked.length === 1 && host.failed.length === 1);
    expect(host.emitted.map(({ values }) => values.word)).toEqual(["to", "be", "or"]);
    expect(host.emitted[0]?.anchors).toEqual([{ text: "to be" }]);
    for (const line of ["splitting { text: 'to be' }", "a line in two parts", "or went to 4,5"])
      await host.until(() => host.lines.includes(`info: ${line}`));
    expect(host.lines).toContainEqual(
      expect.stringMatching(/^error: shell failed a tuple of source.lines: Error: the/),
    );
  });

  test("works as a spout", async () => {
    const streams = { numbers: { n: field.number } };
    await using host = new TaskHost(shellSpout({ ...own("spout"), streams }));
    for (let i = 0; i < 3; i++) await host.next();
    expect(host.emitted.map(({ values }) => values)).toEqual([{ n: 1 }, { n: 2 }]);
    for (const { id } of host.emitted) await host.ack(id);
    await host.until(() => host.lines.includes("info: acked 2"));
  });

  test.each<[string, (child: ChildProcess) => unknown]>([
    ["its input is closed", (child) => child.stdin?.end()],
    ["it is sent SIGTERM", (child) => child.kill("SIGTERM")],
  ])("ends in order when %s", async (_text, end) => {
    const { command, args } = own();
    const pidDir = mkdtempSync(join(tmpdir(), "signalbox-own-"));
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    let said = "";
    let ending = false;
    child.stdout.on("data", (text) => {
      said += text;
      // It has answered the handshake, so it listens.
      if (ending || !said.includes("\nend\n")) return;
      ending = true;
      end(child);
    });
    const context = { taskid: 1, componentid: "split" };
    child.stdin.write(`${JSON.stringify({ conf: {}, pidDir, context })}\nend\n`);
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect(code).toBe(0);
    expect(said).toBe(`{"pid":${child.pid}}\nend\n{"command":"log","msg":"closed","level":2}\nend\n`);
    expect(readdirSync(pidDir)).toEqual([String(child.pid)]);
    rmSync(pidDir, { recursive: true });
  });
});

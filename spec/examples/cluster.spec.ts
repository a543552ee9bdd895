// The flights over several processes: the whole program with real kills, and its parts.

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { main, result } from "../../examples/cluster/app.js";
import { Kills } from "../../examples/cluster/kills.js";
import { mulberry32 } from "../../examples/flights/chaos.js";
import { type Flight, hourOf } from "../../examples/flights/flights.js";
import { Compiled } from "../support/compiled.js";
import { describeNats } from "../support/nats.js";
import { natsProgram } from "../support/nats-program.js";

const folder = mkdtempSync(join(tmpdir(), "cluster-spec-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** One in eight is so late that its node takes a while over it. */
function madeUp(count: number): Flight[] {
  const random = mulberry32(count);
  return Array.from({ length: count }, () => ({
    delay: random() * 80 - 10,
    distance: random() * 3_000,
    time: random() * 24,
  }));
}

interface Ended {
  readonly code: number | string | null | undefined;
  readonly out: string;
  readonly err: string;
}

describeNats("npm run cluster", () => {
  let compiled: Compiled;
  beforeAll(async () => {
    compiled = new Compiled("cluster");
    await compiled.bundle("examples/cluster", "main", "node", "guard");
  });
  afterAll(() => compiled.remove());

  /** @param interruptAt - Ctrl-C comes as soon as this has been printed */
  function run(args: readonly string[], interruptAt?: string): Promise<Ended> {
    return new Promise((resolve) => {
      const all = [...compiled.argsFor("examples/cluster/main.ts"), ...args];
      // The example looks in PATH only, and the tests know one more place.
      const path = [dirname(natsProgram?.path ?? ""), process.env.PATH ?? ""].join(delimiter);
      const env = { ...process.env, PATH: path, NO_COLOR: "1", NODE_OPTIONS: "" };
      const child = execFile(process.execPath, all, { env }, (error, out, err) =>
        resolve({ code: error?.code ?? error?.signal ?? 0, out, err }),
      );
      let printed = "";
      child.stdout?.on("data", (text: string) => {
        if (interruptAt === undefined || printed.includes(interruptAt)) return;
        printed += text;
        if (printed.includes(interruptAt)) child.kill("SIGINT");
      });
    });
  }

  /** Processes that the program started, and that are still there. */
  function left(out: string): number[] {
    return [...out.matchAll(/as process (\d+)/g)].map((match) => Number(match[1])).filter(isThere);
  }

  it("counts every flight once while nodes are killed, and leaves no process behind", async () => {
    const file = join(folder, "flights.json");
    writeFileSync(file, JSON.stringify(madeUp(3_000)));
    const { code, out, err } = await run(["--file", file, "--nodes", "2", "--kills", "2", "--seed", "7"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const lines = out.trimEnd().split("\n");
    expect(lines.at(-1)).toMatch(
      /^3000 flights, 2 nodes, 2 kills, \d+ re-routes, 0 lost, 0 duplicated, sums exact$/,
    );
    expect(lines.filter((line) => line.startsWith("kill -9 node-"))).toHaveLength(2);
    expect(lines.filter((line) => / joins$/.test(line)).length).toBeGreaterThanOrEqual(2);
    const [nodes, loop] = lines.slice(-3).map((line) => line.replace(/^by .*? {2,}/, ""));
    expect(nodes).toBe(loop);
    expect(left(out)).toEqual([]);
  });

  it("ends its nodes and its server after Ctrl-C", async () => {
    const file = join(folder, "many.json");
    writeFileSync(file, JSON.stringify(madeUp(30_000)));
    const { code, out, err } = await run(["--file", file, "--nodes", "1", "--kills", "0"], "10 %");
    expect({ code, err }).toEqual({ code: 130, err: "stopped: the nodes and nats-server have ended\n" });
    expect(left(out)).toEqual([]);
  });
});

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("the cluster", () => {
  async function mainOf(args: readonly string[]) {
    const said = { out: "", err: "" };
    const paper = (name: "out" | "err") => ({
      write: (text: string) => {
        said[name] += text;
      },
    });
    const code = await main(args, paper("out"), paper("err"), new AbortController().signal, [folder]);
    return { code, ...said };
  }

  it("says how to install nats-server where there is none", async () => {
    const file = join(folder, "none.json");
    writeFileSync(file, "[]");
    const { code, out, err } = await mainOf(["--file", file]);
    expect([code, out]).toEqual([3, ""]);
    for (const way of [
      "apt-get install nats-server",
      "brew install nats-server",
      "go install github.com/nats-io",
    ])
      expect(err).toContain(way);
  });

  it("explains itself", async () => {
    const { code, out } = await mainOf(["--help"]);
    expect(code).toBe(0);
    for (const option of ["--nodes", "--kills", "--seed", "--file"]) expect(out).toContain(option);
  });

  it.each([
    [["--nodes", "0"], '--nodes is "0", expected a whole number from 1 to 16'],
    [["--nodes", "17"], '--nodes is "17", expected a whole number from 1 to 16'],
    [["--kills", "many"], '--kills is "many", expected a whole number from 0 to 1000'],
    [["--seed", "1.5"], '--seed is "1.5", expected a whole number from 0 to 4294967295'],
    [["--kill", "1"], "Unknown option '--kill'; --help lists the options"],
  ])("refuses %j with one line and code 2", async (args, says) => {
    expect(await mainOf(args)).toEqual({ code: 2, out: "", err: `${says}\n` });
  });

  it("makes all its kills, the same ones with the same seed, and only of nodes that are up", () => {
    const struck = (up: (departed: number) => string[]) => {
      const kills = new Kills(1_000, 5, 3);
      return Array.from({ length: 1_000 }, (_, n) => ({ n, victim: kills.victim(n, up(n)) })).filter(
        ({ victim }) => victim !== undefined,
      );
    };
    const all = struck(() => ["a", "b", "c"]);
    expect(all).toHaveLength(5);
    expect(struck(() => ["a", "b", "c"])).toEqual(all);
    expect(all.every(({ n }) => n >= 100 && n < 900)).toBe(true);
    const late = struck((n) => (n < 500 ? [] : ["b"]));
    expect(late.map(({ n }) => n >= 500)).toEqual(Array(5).fill(true));
  });

  it("notices a flight that is lost, one that is counted twice, and a dispatch that failed", () => {
    const flights = madeUp(10);
    const account = {
      commits: new Uint32Array(10).fill(1),
      hour: Uint8Array.from(flights, ({ time }) => hourOf(time)),
      delay: Float64Array.from(flights, ({ delay }) => delay),
      distance: Float64Array.from(flights, ({ distance }) => distance),
    };
    const flown = { account, kills: 1, reroutes: 2, byNode: new Map([["node-1", 10]]), failures: [] };
    const good = result(flights, 3, flown);
    expect(good.good).toBe(true);
    expect(good.lines.at(-1)).toBe(
      "10 flights, 3 nodes, 1 kills, 2 re-routes, 0 lost, 0 duplicated, sums exact",
    );
    account.commits.set([0, 2]);
    const bad = result(flights, 3, flown);
    expect([bad.good, bad.lines.at(-1)]).toEqual([
      false,
      "10 flights, 3 nodes, 1 kills, 2 re-routes, 1 lost, 1 duplicated, sums differ",
    ]);
    account.commits.fill(1);
    const failed = result(flights, 3, { ...flown, failures: [new Error("no node")] });
    expect([failed.good, failed.lines.at(-2)]).toEqual([false, "1 dispatches failed: no node"]);
  });
});

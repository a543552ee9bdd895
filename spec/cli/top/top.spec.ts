// `signalbox top`: what is asked, what is printed for people and for programs, and how it ends.

import { expect, test } from "vitest";
import { RemoteOperationError } from "../../../lib/admin/errors.js";
import type { Json } from "../../../lib/admin/json-view.js";
import type { Screen, ScreenEvents } from "../../../lib/cli/shell/screen.js";
import { type TopHost, top } from "../../../lib/cli/top/top.js";
import { type Ran, ran } from "../support/ran.js";
import { overviewOf, processOf, sampleOf } from "./samples.js";

interface Asked {
  readonly op: string;
  readonly args: object;
}

/** A program that answers, until it is told not to. */
class Program {
  readonly asked: Asked[] = [];
  reached = 0;
  closed = 0;
  problem: Error | undefined;

  readonly reach: TopHost["reach"] = async () => {
    this.reached++;
    return { ask: async (op, args) => this.#answer(op, args), close: () => void this.closed++ };
  };

  #answer(op: string, args: object): Json {
    this.asked.push({ op, args });
    if (this.problem !== undefined) throw this.problem;
    const answers: Readonly<Record<string, unknown>> = {
      "system.top": sampleOf([processOf(7, { label: "till" })]).top,
      "system.overview": overviewOf(),
    };
    return answers[op] as Json;
  }
}

/** Time that passes when somebody waits for it. @param most - so many waits: the last one ends the command */
function surroundings(most = Number.POSITIVE_INFINITY) {
  const waits: number[] = [];
  const ends = new AbortController();
  let released = 0;
  const host: Pick<TopHost, "after" | "interruption"> = {
    after: (ms, fn) => {
      waits.push(ms);
      let isOff = false;
      queueMicrotask(() => {
        if (isOff) return;
        if (waits.length >= most) ends.abort(new Error("SIGINT"));
        else fn();
      });
      return () => {
        isOff = true;
      };
    },
    interruption: () => ({ signal: ends.signal, code: 130, release: () => void released++ }),
  };
  return { host, waits, ends, released: () => released };
}

async function run(args: readonly string[], program = new Program(), around = surroundings()): Promise<Ran> {
  const found = await ran<TopHost>(top, ["--socket", "shop.sock", ...args], () => ({
    ...around.host,
    reach: program.reach,
    openScreen: undefined,
  }));
  expect(around.released()).toBeLessThanOrEqual(1);
  expect(program.closed).toBe(program.reached);
  return found;
}

test("prints text once for a pipe, with rates since the look before [N1593]", async () => {
  const [program, around] = [new Program(), surroundings()];
  const found = await run(
    ["--by", "handled", "--find", "till", "--kind", "server", "--limit", "5"],
    program,
    around,
  );
  expect(found.code).toBe(0);
  expect(found.printed).toMatch(/^shop \(shop-1\) · up 3 min/);
  expect(found.printed).toContain("till");
  expect(found.printed).not.toContain("\u001b");
  const question = { by: "handled", find: "till", kind: "server", limit: 5 };
  expect(program.asked).toEqual(
    [1, 2].flatMap(() => [
      { op: "system.top", args: question },
      { op: "system.overview", args: {} },
    ]),
  );
  expect(around.waits).toEqual([1_000]);
});

test("prints a JSON document once, and one on each line with --interval or --count [N1593]", async () => {
  const once = await run(["--json"]);
  expect(JSON.parse(once.printed)).toEqual(
    JSON.parse(JSON.stringify(sampleOf([processOf(7, { label: "till" })]))),
  );
  const around = surroundings();
  const lines = (
    await run(["--json", "--count", "3", "--interval", "2 s"], new Program(), around)
  ).printed.split("\n");
  expect(lines.map((line) => JSON.parse(line).overview.name)).toEqual(["shop", "shop", "shop"]);
  expect(around.waits).toEqual([2_000, 2_000, 2_000]);
});

test("with --interval it prints until a signal ends it, with the code of the signal [N1593]", async () => {
  const found = await run(["--interval", "1 s"], new Program(), surroundings(4));
  expect(found.code).toBe(130);
  expect(found.printed.split(/^shop \(/m)).toHaveLength(4);
});

test("asks the system that --system names [N1593]", async () => {
  const program = new Program();
  await run(["--system", "stock"], program);
  expect(program.asked[0]?.args).toMatchObject({ system: "stock" });
});

test("ends with 2 when no program listens, when it does not know the operation, or for wrong arguments [N1593]", async () => {
  const nobody = await ran<TopHost>(top, ["--socket", "shop.sock"], () => ({
    ...surroundings().host,
    reach: async () => undefined,
    openScreen: undefined,
  }));
  expect(nobody).toMatchObject({ code: 2, complaints: "signalbox: no program listens for shop.sock" });
  const old = new Program();
  old.problem = new RemoteOperationError('there is no operation "system.top"', {
    name: "AdminProtocolError",
  });
  expect(await run(["--json"], old)).toMatchObject({
    code: 2,
    complaints: expect.stringContaining("no operation"),
  });
  for (const [args, problem] of [
    [["--by", "size"], /--by must be one of mailbox/],
    [["--limit", "501"], /--limit must be 500 or less/],
    [["--interval", "10 ms"], /--interval must be 100 ms or more/],
    [["--socket", "a", "--store", "b"], /--socket can/],
    [["till"], /too many arguments: till/],
  ] as const)
    expect(await run(args)).toMatchObject({ code: 2, complaints: expect.stringMatching(problem) });
});

/** A screen that keeps its pictures. */
class Pictures {
  readonly drawn: string[] = [];
  events: ScreenEvents | undefined;
  closed = 0;
  readonly open = (events: ScreenEvents): Screen => {
    this.events = events;
    return {
      ...{ columns: 100, rows: 20 },
      draw: (lines) => void this.drawn.push(lines.join("\n")),
      close: () => void this.closed++,
    };
  };
}

/** @param disturb - is called after each wait */
async function onScreen(disturb: (waits: number, pictures: Pictures, program: Program) => void) {
  const [program, pictures, ends] = [new Program(), new Pictures(), new AbortController()];
  let waits = 0;
  const found = await ran<TopHost>(top, ["--socket", "shop.sock"], () => ({
    reach: program.reach,
    openScreen: pictures.open,
    interruption: () => ({ signal: ends.signal, code: 143, release: () => undefined }),
    after: (_ms, fn) => {
      let isOff = false;
      queueMicrotask(() => {
        if (isOff) return;
        disturb(++waits, pictures, program);
        if (waits === 5) ends.abort(new Error("SIGTERM"));
        fn();
      });
      return () => {
        isOff = true;
      };
    },
  }));
  expect(pictures.closed).toBe(1);
  return { ...found, program, ...pictures };
}

test("on a terminal it draws a screen, and q quits [N1593]", async () => {
  const found = await onScreen((waits, { events }) => {
    if (waits === 2) events?.input("hq");
  });
  expect(found).toMatchObject({ code: 0, printed: "", complaints: "" });
  expect(found.drawn[0]).toContain("▼MAILBOX");
  expect(found.drawn.at(-1)).toContain("processes by handled");
});

test("a signal gives the terminal back, and is the exit code [N1593]", async () => {
  expect((await onScreen(() => undefined)).code).toBe(143);
});

test("a terminal that is lost ends it [N1593]", async () => {
  const lost = await onScreen((waits, { events }) => {
    if (waits === 1) events?.lost(new Error("EIO"));
  });
  expect(lost).toMatchObject({ code: 2, complaints: "signalbox: EIO" });
});

test("reaches a program anew that was started again, and says meanwhile that there is no answer [N1593]", async () => {
  const found = await onScreen((waits, { events }, program) => {
    if (waits === 1)
      program.problem = new RemoteOperationError("it closed the connection", { name: "Error" }, "kept");
    if (waits === 3) program.problem = undefined;
    if (waits === 4) events?.input("q");
  });
  expect(found.code).toBe(0);
  expect(found.drawn.some((text) => text.includes("no answer: it closed the connection"))).toBe(true);
  expect(found.drawn.at(-1)).not.toContain("no answer");
  expect(found.program.reached).toBeGreaterThan(1);
});

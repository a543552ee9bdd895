// Services as real programs, with real signals. Each program is in program.ts.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ChildProgram, childProgram, type Ended } from "../../support/child-program.js";

let program: ChildProgram;
beforeAll(async () => {
  program = await childProgram(new URL("program.ts", import.meta.url));
});
afterAll(() => program.remove());

/** Starts a program, waits until it is up, and sends it signals; the second one when the tree stops. */
async function signalled(name: string, first: NodeJS.Signals, second?: NodeJS.Signals): Promise<Ended> {
  const child = program.start(name);
  await child.prints("up");
  child.signal(first);
  if (second !== undefined) {
    await child.prints("stays");
    child.signal(second);
  }
  return child.ended;
}

describe("a signal", () => {
  it.each(["SIGTERM", "SIGINT"] as const)(
    "%s stops the service in order, with exit code 0 [A1]",
    async (signal) => {
      const { code, stdout, stderr } = await signalled("plain", signal);
      expect({ code, stdout }).toEqual({ code: 0, stdout: `up\nended clean shop stopped by ${signal}\n` });
      expect(stderr).toBe(`shop: ${signal}; it stops within 25000 ms\n`);
    },
  );

  it("forces the end when it is the second one, and names what was killed [A5]", async () => {
    const { code, stderr } = await signalled("stubborn", "SIGTERM", "SIGINT");
    expect(code).toBe(73);
    expect(stderr.split("\n")).toEqual([
      "shop: SIGTERM; it stops within 25000 ms",
      "shop stopped by SIGTERM; a second signal forced the end and killed the processes that still ran: clerk",
      "",
    ]);
  });

  it("runs the function that the options give it, and the service goes on", async () => {
    const child = program.start("handler");
    await child.prints("up");
    child.signal("SIGHUP");
    await child.prints("reloads");
    child.signal("SIGUSR2");
    expect((await child.ended).code).toBe(0);
  });
});

describe("a stop", () => {
  it("ends when its time is over, and names what was killed [A5]", async () => {
    const { code, stderr } = await signalled("late", "SIGTERM");
    expect(code).toBe(75);
    expect(stderr).toBe(
      "shop: SIGTERM; it stops within 50 ms\n" +
        "shop stopped by SIGTERM; it did not stop within 50 ms, and the processes that still ran were killed: clerk\n",
    );
  });

  it("ends a program that something else would keep running, after all output is written [A8]", async () => {
    const { code, stdout } = await signalled("leaky", "SIGTERM");
    expect(code).toBe(0);
    expect(stdout).toHaveLength("up\n".length + 300_001 + "last words\n".length);
    expect(stdout.endsWith("x\nlast words\n")).toBe(true);
  });

  it("by code leaves the program running, and no listener behind [A8]", async () => {
    const { code, stdout, stderr } = await program.start("stopped").ended;
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: "goes on, 0 0\nto its own end\n",
      stderr: "",
    });
  });
});

describe("the root", () => {
  it("that gives up ends the program, after its reports are written [A3]", async () => {
    const { code, stdout, stderr } = await program.start("reports").ended;
    expect({ code, stderr }).toEqual({ code: 70, stderr: "" });
    const lines = stdout.split("\n");
    expect(lines[0]).toMatch(/^report <shop\.\d+ supervisor> gave up: child "clerk" ended once more/);
    expect(lines.slice(1)).toEqual([
      'report shop gave up: its root had to restart children too often; child "clerk" ended last (crash, Error: out of tea)',
      "exported",
      "flushed",
      "ended",
      "",
    ]);
  });

  it("that is awaited and gives up does not lead to Node's exit code 13 [A8]", async () => {
    const { code, stderr } = await program.start("crashing").ended;
    expect(code).toBe(70);
    expect(stderr).toContain("Error: out of tea");
  });

  it("that is done ends the program with 0 [A2]", async () => {
    const { code, stdout, stderr } = await program.start("batch").ended;
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "worked\n", stderr: "" });
  });
});

describe("a start", () => {
  it("that fails names the part and its reason, also when it is awaited [A4]", async () => {
    const { code, stdout, stderr } = await program.start("failing").ended;
    expect({ code, stdout }).toEqual({ code: 69, stdout: "" });
    expect(stderr).toMatch(/^shop did not start: floor\/clerk failed \(crash, Error: no such file\)\n/);
    expect(stderr.match(/did not start/g)).toHaveLength(1);
  });

  it("that takes too long names the part that was still starting [A4]", async () => {
    const { code, stderr } = await program.start("slow").ended;
    expect(code).toBe(69);
    expect(stderr).toBe("shop did not start within 500 ms; still starting: clerk\n");
  });
});

describe("an error that belongs to no process", () => {
  it.each([
    ["exception", "uncaughtException", "stray"],
    ["rejection", "unhandledRejection", "astray"],
  ])("an uncaught %s is reported, and stops the service in order [A7]", async (name, origin, text) => {
    const { code, stderr } = await program.start(name).ended;
    expect(code).toBe(71);
    expect(stderr).toContain(
      `shop: an error that belongs to no process (${origin}); the service stops\nError: ${text}`,
    );
    expect(stderr).toContain(
      `shop stopped after an error that belongs to no process (${origin}): Error: ${text}`,
    );
  });

  it("is not one that belongs to a process: that process crashes, and the service goes on [A7]", async () => {
    const child = program.start("owned");
    await child.prints("restarted");
    child.signal("SIGTERM");
    expect((await child.ended).code).toBe(0);
  });
});

describe("two services in one program", () => {
  it("the failure of one stops the other, and the program ends with its exit code [A9]", async () => {
    const { code, stdout } = await program.start("two").ended;
    expect({ code, stdout }).toEqual({
      code: 70,
      stdout: "one: one was stopped because the service other on the same host failed\nother: gaveUp\n",
    });
  });

  it("a clean end of one leaves the other running, and the program ends with the last [A9]", async () => {
    const child = program.start("mixed");
    await child.prints("one is running, the other stopped");
    child.signal("SIGTERM");
    expect((await child.ended).code).toBe(0);
  });
});

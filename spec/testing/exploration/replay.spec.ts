// A token stands for one schedule, to be run again: after a mend, in a debugger, in a report.

import type { Pid } from "signalbox";
import {
  type ExploreOptions,
  explore,
  ReplayOutdatedError,
  type Scenario,
  ScheduleFailedError,
} from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { errorOf, failureOf } from "../support/found.js";

interface Bug {
  /** Mended, or not. */
  mended: boolean;
  /** How many processes send. */
  senders: number;
}

/** A letter office that cannot bear `c` before `a`, and what may be changed about it between two runs. */
function office(change: Partial<Bug> = {}): {
  readonly scenario: Scenario;
  readonly bug: Bug;
  readonly heard: string[];
} {
  const bug: Bug = { mended: false, senders: 3, ...change };
  const heard: string[] = [];
  const scenario: Scenario = async (sim) => {
    const system = sim.system({ name: "post" });
    let letters = "";
    const pid: Pid<string> = system.spawn<string>(
      {
        handle: (_ctx, letter) => {
          letters += letter;
        },
      },
      { label: "office" },
    );
    for (const letter of "abcdefgh".slice(0, bug.senders))
      system.spawn((ctx) => ctx.send(pid, letter), { label: letter });
    await sim.quiet();
    heard.push(letters);
    if (!bug.mended && letters.indexOf("c") < letters.indexOf("a"))
      throw new Error(`c came before a: ${letters}`);
  };
  return { scenario, bug, heard };
}

const OPTIONS: ExploreOptions = { schedules: 500, name: "letters" };

describe("a token", () => {
  test("replays exactly the schedule that failed [T5]", async () => {
    const { scenario, heard } = office();
    const found = await failureOf(scenario, OPTIONS);
    const simplest = heard.at(-1);
    const again = await failureOf(scenario, { ...OPTIONS, replay: found.token });
    expect(heard.at(-1)).toBe(simplest);
    expect((again.cause as Error).message).toBe((found.cause as Error).message);
    expect(again.trace).toEqual(found.trace);
    expect(again.choices).toEqual(found.choices);
    expect(again.token).toBe(found.token);
    expect(again.found).toMatchObject({ strategy: "replay", schedule: 1, tried: 0 });
  });

  test("replays one schedule, and no other", async () => {
    const { scenario, heard } = office();
    const { token } = await failureOf(scenario, OPTIONS);
    heard.length = 0;
    await errorOf(explore(scenario, { ...OPTIONS, replay: token }));
    expect(heard).toHaveLength(1);
  });

  test("needs neither the seed nor the strategy nor the number of schedules", async () => {
    const { scenario } = office();
    const { token } = await failureOf(scenario, { ...OPTIONS, seed: 99 });
    const error = await errorOf(explore(scenario, { name: "letters", replay: token }));
    expect(error).toBeInstanceOf(ScheduleFailedError);
  });

  test("passes when the bug is mended, and the schedule is still there", async () => {
    const { scenario, bug, heard } = office();
    const { token } = await failureOf(scenario, OPTIONS);
    bug.mended = true;
    const result = await explore(scenario, { ...OPTIONS, replay: token });
    expect(result).toMatchObject({ schedules: 1 });
    expect((heard.at(-1) as string).indexOf("c")).toBeLessThan((heard.at(-1) as string).indexOf("a"));
  });

  test("holds faults too", async () => {
    const scenario: Scenario = async (sim) => {
      const system = sim.system({ name: "shop" });
      const clerk = system.spawn<string>({ handle: () => undefined }, { label: "clerk" });
      await sim.sleep(3);
      if (!system.isAlive(clerk)) throw new Error("no clerk");
    };
    const options: ExploreOptions = { faults: { crash: { of: "shop/clerk" }, pause: { of: "shop/clerk" } } };
    const found = await failureOf(scenario, options);
    const again = await failureOf(scenario, { ...options, replay: found.token });
    expect(again.trace).toEqual(found.trace);
    expect(again.trace.steps.filter((step) => step.type === "fault")).toHaveLength(1);
  });

  test("is one short line", async () => {
    const { token } = await failureOf(office().scenario, OPTIONS);
    expect(token).toMatch(/^sb1\.[\w-]+$/);
    expect(token.length).toBeLessThan(60);
  });
});

describe("a token that no longer fits", () => {
  test.each([
    ["prefix", () => "lorem ipsum"],
    ["prefix", () => ""],
    ["version", (token: string) => token.replace("sb1.", "sb9.")],
    ["characters", (token: string) => token.replace(/.$/, "!")],
    ["truncated", (token: string) => token.slice(0, -3)],
    ["surplus", (token: string) => `${token}AA`],
    ["checksum", (token: string) => token.slice(0, 8) + (token[8] === "A" ? "B" : "A") + token.slice(9)],
  ])("a text with a wrong %s is refused before anything runs", async (problem, spoil) => {
    const { scenario, heard } = office();
    const { token } = await failureOf(scenario, OPTIONS);
    heard.length = 0;
    const error = await errorOf(explore(scenario, { ...OPTIONS, replay: spoil(token) }));
    expect(error).toMatchObject({ code: "ERR_SIM_TOKEN", problem });
    expect(heard).toHaveLength(0);
  });

  test("a token of another exploration is refused before anything runs", async () => {
    const { scenario, heard } = office();
    const { token } = await failureOf(scenario, OPTIONS);
    heard.length = 0;
    for (const other of [{ name: "parcels" }, { freeze: true }, { faults: { rush: {} } }]) {
      const error = await errorOf(explore(scenario, { ...OPTIONS, ...other, replay: token }));
      expect(error).toBeInstanceOf(ReplayOutdatedError);
      expect((error as Error).message).toContain("the token belongs to another exploration");
    }
    expect(heard).toHaveLength(0);
  });

  test("when the program has other choices now, the token is outdated: it says which", async () => {
    const { scenario, bug } = office();
    const { token, choices } = await failureOf(scenario, OPTIONS);
    bug.senders = 6;
    const error = await errorOf(explore(scenario, { ...OPTIONS, replay: token }));
    expect(error).toBeInstanceOf(ReplayOutdatedError);
    const place = choices.findIndex((choice) => choice > 0);
    expect((error as Error).message).toMatch(
      new RegExp(
        `the token is outdated: its choice ${place + 1} \\(task\\) had \\d alternatives, and now there`,
      ),
    );
  });

  /** A process decides something, and others run after it or not. */
  const deciding = (n: number, others: number): Scenario => {
    return async (sim) => {
      const system = sim.system();
      let drawn = 0;
      system.spawn((ctx) => {
        drawn = sim.choose(n);
        for (let i = 0; i < others; i++) ctx.spawn(() => undefined);
      });
      await sim.quiet();
      for (let i = 0; i < others; i++) system.spawn(() => undefined);
      await sim.quiet();
      if (drawn === 2) throw new Error("two");
    };
  };

  test.each([3, 0])(
    "also when a process asks for what does not fit, whose crash that is, and %d others have choices after it",
    async (others) => {
      const { token } = await failureOf(deciding(3, others), OPTIONS);
      const error = await errorOf(explore(deciding(4, others), { ...OPTIONS, replay: token }));
      expect(error).toBeInstanceOf(ReplayOutdatedError);
    },
  );

  test("also when the scenario itself asks", async () => {
    const scenario = (n: number): Scenario => {
      return (sim) => {
        if (sim.choose(n) === 2) throw new Error("two");
      };
    };
    const { token } = await failureOf(scenario(3), OPTIONS);
    expect(await errorOf(explore(scenario(4), { ...OPTIONS, replay: token }))).toBeInstanceOf(
      ReplayOutdatedError,
    );
  });
});

// What the viewer shows is what the trace says: each step in its lane, each message from its send to its take, and the state.

import { test } from "@fast-check/vitest";
import { defineServer } from "signalbox";
import { arbitrarySchedules, renderViewer, type Trace, type TraceStep } from "signalbox/testing";
import { describe, expect } from "vitest";
import { type Picture, pictureOf } from "../../../lib/testing/viewer/picture.js";
import { nextMatch, stateAfter } from "../../../lib/testing/viewer/state.js";
import { programs, runProgram } from "../support/programs.js";
import { effectsLike, stepsOf } from "../support/trace.js";

/** Messages in each living process's mailbox after so many steps, by following sends, arrivals, takes and losses. */
function mailboxesAfter(steps: readonly TraceStep[]): Map<string, string[]> {
  const mailboxes = new Map<string, number[]>();
  const texts = new Map<number, string>();
  const drop = (letter: number | undefined): void => {
    for (const [process, mailbox] of mailboxes)
      mailboxes.set(
        process,
        mailbox.filter((one) => one !== letter),
      );
  };
  for (const step of steps) {
    if (step.type === "run") drop(step.letter);
    if (step.type === "deliver") mailboxes.get(step.process)?.push(step.letter as number);
    for (const effect of step.effects) {
      if (effect.type === "spawn") mailboxes.set(effect.process, []);
      if (effect.type === "exit") mailboxes.delete(effect.process);
      if (effect.type === "lost") drop(effect.letter);
      if (effect.type !== "send") continue;
      texts.set(effect.letter as number, `${effect.message} from ${effect.from}`);
      if (!effect.held) mailboxes.get(effect.to)?.push(effect.letter as number);
    }
  }
  const shown = (mailbox: number[]): string[] => mailbox.map((letter) => texts.get(letter) as string);
  return new Map([...mailboxes].map(([process, mailbox]) => [process, shown(mailbox)]));
}

/** The same, as the viewer shows it. */
function shownAfter(picture: Picture, step: number): Map<string, readonly string[]> {
  const { processes } = stateAfter(picture, step);
  const alive = [...processes.values()].filter(({ status }) => status !== "ended");
  return new Map(alive.map(({ lane, mailbox }) => [picture.lanes[lane] as string, mailbox]));
}

describe("of any program and schedule", () => {
  const runs = [programs, arbitrarySchedules(40)] as const;
  const options = { faults: { delay: { of: "**", atMost: 2 } } };

  test.prop([...runs], { numRuns: 40 })(
    "each step is in the lane of its process [T33]",
    async (program, choices) => {
      const { trace } = await runProgram(program, choices);
      const { lanes, steps } = pictureOf(trace);
      expect(steps.map(({ lane }) => lanes[lane])).toEqual(trace.steps.map(({ process }) => process));
      expect(new Set(lanes).size).toBe(lanes.length);
    },
  );

  test.prop([...runs], { numRuns: 40 })(
    "each arrow leads from a send to a later take [T33]",
    async (program, choices) => {
      const { trace, taken } = await runProgram(program, choices);
      const { arrows, lanes } = pictureOf(trace);
      for (const { from, to } of arrows) if (to !== undefined) expect(to.step).toBeGreaterThan(from.step);
      const messages = arrows.filter(({ letter }) => letter !== undefined);
      expect(messages).toHaveLength(effectsLike(trace.steps, "send").length);
      const ends = messages
        .flatMap(({ to, from, text }) => (to === undefined ? [] : [{ to, from, text }]))
        .sort((a, b) => a.to.step - b.to.step)
        .map(({ to, from, text }) => `${lanes[to.lane]} took ${text} from ${lanes[from.lane]}`);
      expect(ends).toEqual(taken);
    },
  );

  test.prop([...runs], { numRuns: 40 })(
    "the state after a step is what all steps up to it have done [T33]",
    async (program, choices) => {
      const { trace } = await runProgram(program, choices, options);
      const picture = pictureOf(trace);
      for (const step of trace.steps.keys())
        expect(shownAfter(picture, step)).toEqual(mailboxesAfter(trace.steps.slice(0, step + 1)));
    },
  );
});

const Till = defineServer({
  init: (_ctx, cash: number) => ({ cash }),
  calls: { pay: (state, n: number) => (state.cash -= n) },
});

describe("the state", () => {
  test("has status, links, monitors and the values of `sim.state`, as the system says at that moment", async () => {
    const infos: unknown[] = [];
    const steps = await stepsOf(async (sim) => {
      let paid = 0;
      sim.state(() => ({ paid }));
      const system = sim.system({ name: "shop" });
      const till = await system.start(Till, 10);
      const guard = system.spawn(
        async (ctx) => {
          ctx.monitor(till.pid);
          ctx.link(till.pid);
          await ctx.receive();
        },
        { label: "guard" },
      );
      await sim.quiet();
      infos.push(system.info(guard), system.info(till.pid));
      await till.call.pay(3);
      paid = 3;
    });
    const picture = pictureOf({ steps, failure: undefined });
    const { processes, values } = stateAfter(picture, steps.length - 1);
    const shown = [...processes.values()].map((one) => ({ ...one, lane: picture.lanes[one.lane] }));
    expect(shown).toContainEqual({
      lane: "shop/guard",
      process: "shop/guard",
      ...{ status: "waiting", mailbox: [], links: ["shop/server"], monitors: ["shop/server"] },
    });
    expect(infos[0]).toMatchObject({ status: "waiting", links: [expect.anything()] });
    expect(values).toEqual(["{paid: 3}"]);
    expect(stateAfter(picture, 0).values).toEqual(["{paid: 0}"]);
  });

  test("draws the reply of a call from who gives it to who goes on", async () => {
    const steps = await stepsOf(async (sim) => {
      const till = await sim.system({ name: "shop" }).start(Till, 10);
      await till.call.pay(3);
    });
    const { arrows, lanes } = pictureOf({ steps, failure: undefined });
    const reply = arrows.find(({ text }) => text === "a call, reply 7");
    expect(lanes[reply?.from.lane ?? -1]).toBe("shop/server");
    expect(lanes[reply?.to?.lane ?? -1]).toBe("scenario");
  });
});

test("a search goes on around the end, in both directions, through names, events, effects and places", () => {
  const step = (number: number, more: object): TraceStep =>
    ({
      type: "run",
      number,
      at: 0,
      process: "shop/till",
      took: String(number),
      effects: [],
      ...more,
    }) as TraceStep;
  const note = { type: "note", text: "Half past" } as const;
  const steps = [
    step(1, {}),
    step(2, { effects: [note] }),
    step(3, { place: "a.ts:1:2" }),
    step(4, { process: "x" }),
  ];
  const picture = pictureOf({ steps, failure: undefined });
  expect(nextMatch(picture, "half", 0, 1)).toBe(1);
  expect(nextMatch(picture, "half", 1, 1)).toBe(1);
  expect(nextMatch(picture, "till", 2, 1)).toBe(0);
  expect(nextMatch(picture, "till", 0, -1)).toBe(2);
  expect(nextMatch(picture, "a.ts", 0, 1)).toBe(2);
  expect(nextMatch(picture, "nothing", 0, 1)).toBeUndefined();
  expect(nextMatch(picture, "", 0, 1)).toBeUndefined();
});

describe("the page", () => {
  const hostile = '</script><!--<script>alert(1)</script><img src=x onerror="alert(1)">\u2028&amp;';
  const trace: Trace = {
    steps: [
      {
        type: "run",
        number: 1,
        at: 0,
        process: hostile,
        took: hostile,
        place: hostile,
        effects: [{ type: "note", text: hostile }],
        states: [hostile],
      },
    ],
    failure: hostile,
  };

  test("holds hostile texts as data only", () => {
    const page = renderViewer(trace);
    const scripts = [...page.matchAll(/<script\b[^>]*>([\s\S]*?)<\/script>/g)].map(
      ([, text]) => text as string,
    );
    expect(scripts).toHaveLength(2);
    expect(JSON.parse(scripts[0] as string)).toEqual(JSON.parse(JSON.stringify(pictureOf(trace))));
    expect(page).not.toContain("<img");
    expect(page).not.toContain("alert(1)</script>");
    expect(page.match(/<!--/g)).toBeNull();
  });

  test("loads nothing", () => {
    const page = renderViewer(trace);
    expect(page).toContain("default-src 'none'");
    expect(page.replaceAll("http://www.w3.org/2000/svg", "")).not.toMatch(/https?:|@import|url\((?!#)/);
  });

  test("has a body before its script runs, which adds to it", () => {
    expect(renderViewer(trace)).toMatch(/<\/style>\n<body>\n<script/);
  });

  test("of a trace without steps, or without a failure, too", () => {
    expect(renderViewer({ steps: [], failure: undefined })).toContain("<title>nothing failed</title>");
  });
});

// POS: what does not conflict keeps its rank, so a long wait is likely; what conflicts draws anew.

import { explore } from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { Random } from "../../../lib/testing/kit/random.js";
import { pos } from "../../../lib/testing/strategies/pos.js";
import { randomWalk } from "../../../lib/testing/strategies/random-walk.js";
import type { Chooser, Footprint, PossibleStep } from "../../../lib/testing/strategies/strategy.js";
import { proving } from "../../support/proof.js";
import { failures, slack, type Toy } from "../support/toy.js";

const LENGTH = 8;
const MANY = proving ? 10_000 : 3_000;

/** A chain of many steps, and an actor whose single step shows the bug when it comes after all of them. */
const afterChain = (touches: boolean) => (): Toy => {
  let ended = false;
  return {
    actors: {
      chain: (message, ctx) => {
        if (touches && message !== "end") ctx.send("late", "nudge");
        if (message === "end") ended = true;
        else ctx.send("chain", Number(message) === LENGTH - 1 ? "end" : String(Number(message) + 1));
      },
      late: (message, ctx) => {
        if (message === "go" && ended) ctx.fail();
      },
    },
    sent: [
      ["chain", "1"],
      ["late", "go"],
    ],
  };
};

/** The picks of one schedule, made by hand. */
class Hand {
  readonly chooser: Chooser;
  readonly tasks: PossibleStep[] = [];
  constructor(seed: number) {
    this.chooser = pos().begin(0, new Random(seed), { longest: 100, actors: 5 }) as Chooser;
  }
  add(actor: number, changes: readonly string[] = [`a:${actor}`, `m:${actor}`]): PossibleStep {
    const task: PossibleStep = { kind: "run", actor, changes, rank: undefined };
    this.tasks.push(task);
    return task;
  }
  /** Ranks of the tasks at the next pick. */
  ranks(): (number | undefined)[] {
    this.chooser.pick(this.tasks);
    return this.tasks.map((task) => task.rank);
  }
  ran(actor: number, footprint: { reads?: string[]; writes?: string[] } | undefined): void {
    const seen: Footprint | undefined = footprint && {
      reads: new Set(footprint.reads),
      writes: new Set(footprint.writes),
    };
    this.chooser.ran?.({ kind: "run", actor, rank: 1 }, seen);
  }
}

describe("POS", () => {
  test("observes: it wants the footprints of steps", () => {
    expect(pos().observes).toBe(true);
  });

  test("lets a step wait for a chain of k others with probability 1 / (k + 1), a random walk with 2^-k", () => {
    const schedules = MANY;
    const share = failures(pos(), afterChain(false), schedules);
    expect(Math.abs(share - 1 / (LENGTH + 1))).toBeLessThan(slack(1 / (LENGTH + 1), schedules));
    const walked = failures(randomWalk(), afterChain(false), schedules);
    expect(Math.abs(walked - 2 ** -LENGTH)).toBeLessThan(slack(2 ** -LENGTH, schedules));
  });

  test("is a random walk among steps that all conflict", () => {
    const schedules = MANY;
    const share = failures(pos(), afterChain(true), schedules);
    const probability = 2 ** -LENGTH;
    expect(Math.abs(share - probability)).toBeLessThan(slack(probability, schedules));
  });

  test("always runs the highest rank", () => {
    for (let seed = 0; seed < 100; seed++) {
      const hand = new Hand(seed);
      for (let actor = 0; actor < 6; actor++) hand.add(actor);
      const picked = hand.tasks[hand.chooser.pick(hand.tasks)] as PossibleStep;
      expect(picked.rank).toBe(Math.max(...hand.tasks.map((task) => task.rank as number)));
    }
  });

  test.each<[string, { reads?: string[]; writes?: string[] } | undefined, boolean]>([
    ["wrote its mailbox", { writes: ["m:12"] }, true],
    ["wrote its state", { writes: ["a:12"] }, true],
    ["read its state", { reads: ["a:12"] }, true],
    ["read its mailbox", { reads: ["m:12"] }, true],
    ["also wrote its mailbox", { reads: ["n:x"], writes: ["a:3", "x", "m:12"] }, true],
    ["touched another actor only", { reads: ["a:1", "m:121"], writes: ["a:3", "m:3", "m:2"] }, false],
    ["touched other things only", { reads: ["n:12", "a:"], writes: ["g:12", "x:12", "l:12", "12"] }, false],
    ["touched nothing", {}, false],
    ["was not observed", undefined, false],
  ])("draws a new rank for a task when the step that ran %s: %j, %s", (_when, footprint, anew) => {
    const hand = new Hand(1);
    hand.add(12);
    hand.add(0);
    const [before, other] = hand.ranks();
    hand.ran(3, footprint);
    const [after, same] = hand.ranks();
    expect(after !== before).toBe(anew);
    expect(same).toBe(other);
    expect(hand.ranks()).toEqual([after, same]);
  });

  test("remembers a conflict of any of the steps that ran since the last choice", () => {
    const hand = new Hand(1);
    hand.add(5);
    hand.add(6);
    const [five, six] = hand.ranks();
    hand.ran(1, { writes: ["m:5"] });
    hand.ran(2, { writes: ["m:7"] });
    const [anew, same] = hand.ranks();
    expect(anew).not.toBe(five);
    expect(same).toBe(six);
  });

  test("knows only the receiver's mailbox of a delivery", () => {
    const hand = new Hand(1);
    hand.add(-5, ["m:5"]);
    hand.add(5);
    const [delivery, resume] = hand.ranks();
    hand.ran(1, { writes: ["a:5"] });
    const [same, anew] = hand.ranks();
    expect(same).toBe(delivery);
    expect(anew).not.toBe(resume);
    hand.ran(1, { writes: ["m:5"] });
    expect(hand.ranks()[0]).not.toBe(delivery);
  });
});

describe("POS in the simulator", () => {
  const SCHEDULES = proving ? 2_000 : 800;

  /** In which share of the schedules a process of one message comes after a chain of others; `touches`: the chain disturbs it. */
  async function shareOfLate(touches: boolean): Promise<number> {
    let late = 0;
    await explore(
      async (sim) => {
        const system = sim.system();
        let ended = false;
        const last = system.spawn<string>({
          handle: (_ctx, message) => {
            if (message === "go" && ended) late++;
          },
        });
        const chain = system.spawn<number>({
          handle: (ctx, left) => {
            if (touches) ctx.send(last, "nudge");
            if (left === 0) ended = true;
            else ctx.send(ctx.self, left - 1);
          },
        });
        await sim.quiet();
        system.send(chain, LENGTH - 2);
        system.send(last, "go");
      },
      { strategy: pos(), schedules: SCHEDULES, seed: 1, recheck: 0 },
    );
    return late / SCHEDULES;
  }

  test("lets a step wait for a chain that does not concern it with probability 1 / (k + 1)", async () => {
    const probability = 1 / LENGTH;
    expect(Math.abs((await shareOfLate(false)) - probability)).toBeLessThan(slack(probability, SCHEDULES));
  });

  test("notices the messages of other steps as conflicts: the rank is drawn anew", async () => {
    const probability = 2 ** -(LENGTH - 1);
    expect(Math.abs((await shareOfLate(true)) - probability)).toBeLessThan(slack(probability, SCHEDULES));
  });
});

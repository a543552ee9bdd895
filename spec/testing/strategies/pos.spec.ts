// POS: what does not conflict keeps its rank, so a long wait is likely; what conflicts draws anew.

import { describe, expect, test } from "vitest";
import { Random } from "../../../lib/testing/kit/random.js";
import { pos } from "../../../lib/testing/strategies/pos.js";
import { randomWalk } from "../../../lib/testing/strategies/random-walk.js";
import type { Chooser, Footprint, PossibleStep } from "../../../lib/testing/strategies/strategy.js";
import { failures, slack, type Toy } from "../support/toy.js";

const LENGTH = 8;

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
  add(actor: number, kind: PossibleStep["kind"] = "run"): PossibleStep {
    const task: PossibleStep = { kind, actor, rank: undefined };
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
    const schedules = 10_000;
    const share = failures(pos(), afterChain(false), schedules);
    expect(Math.abs(share - 1 / (LENGTH + 1))).toBeLessThan(slack(1 / (LENGTH + 1), schedules));
    const walked = failures(randomWalk(), afterChain(false), schedules);
    expect(Math.abs(walked - 2 ** -LENGTH)).toBeLessThan(slack(2 ** -LENGTH, schedules));
  });

  test("is a random walk among steps that all conflict", () => {
    const schedules = 10_000;
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
    ["wrote its mailbox", { writes: ["m12"] }, true],
    ["wrote its state", { writes: ["a12"] }, true],
    ["read its state", { reads: ["a12"] }, true],
    ["read its mailbox", { reads: ["m12"] }, true],
    ["also wrote its mailbox", { reads: ["n:x"], writes: ["a3", "x", "m12"] }, true],
    ["touched another actor only", { reads: ["a1", "m121"], writes: ["a3", "m3", "m2"] }, false],
    [
      "touched other things only",
      { reads: ["n:12", "a"], writes: ["g:12", "a12b", "am12", "x12", "m", "12"] },
      false,
    ],
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
    hand.ran(1, { writes: ["m5"] });
    hand.ran(2, { writes: ["m7"] });
    const [anew, same] = hand.ranks();
    expect(anew).not.toBe(five);
    expect(same).toBe(six);
  });

  test("knows nothing of a delivery: its number is that of a pair, below 0", () => {
    const hand = new Hand(1);
    hand.add(-5, "deliver");
    hand.add(5, "resume");
    const [delivery, resume] = hand.ranks();
    hand.ran(1, { writes: ["a5"] });
    const [same, anew] = hand.ranks();
    expect(same).toBe(delivery);
    expect(anew).not.toBe(resume);
  });
});

// The line of transactions, without a store.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ALONE_AFTER, decide, initial, type LineEvent, type TurnEnd } from "../../lib/store/line-machine.js";
import { sized } from "../support/proof.js";

/** A line with those who stand in it. */
class Driven {
  state;
  readonly went: number[] = [];
  readonly refused: number[] = [];
  constructor(most: number) {
    this.state = initial(most);
  }
  send(event: LineEvent): void {
    const [state, effects] = decide(this.state, event);
    this.state = state;
    for (const { type, id } of effects) (type === "go" ? this.went : this.refused).push(id);
  }
  join(id: number, overtaken = 0): void {
    this.send({ type: "joined", id, overtaken });
  }
  left(id: number, end: TurnEnd): void {
    this.send({ type: "left", id, end });
  }
}

describe("the line of transactions", () => {
  it("lets as many run at once as it may, in their order", () => {
    const line = new Driven(2);
    for (const id of [1, 2, 3, 4]) line.join(id);
    expect(line.went).toEqual([1, 2]);
    line.left(2, "committed");
    line.left(4, "failed");
    line.left(1, "committed");
    expect(line.went).toEqual([1, 2, 3]);
  });

  it("lets one at a time run that was overtaken, before others, and one that was overtaken again alone [K241]", () => {
    const line = new Driven(4);
    line.join(1, 1);
    line.join(2, 1);
    line.join(3);
    expect(line.went).toEqual([1, 3]);
    line.left(1, "committed");
    expect(line.went).toEqual([1, 3, 2]);
    line.join(4, ALONE_AFTER);
    line.join(5);
    line.left(3, "committed");
    expect(line.went).toEqual([1, 3, 2]);
    line.left(2, "committed");
    expect(line.went).toEqual([1, 3, 2, 4]);
    line.left(4, "committed");
    expect(line.went).toEqual([1, 3, 2, 4, 5]);
  });

  it("shrinks to one when all are overtaken or late, and grows to its bound when none is [K242]", () => {
    const most = 8;
    const line = new Driven(most);
    let id = 0;
    const round = (end: TurnEnd): void => {
      for (let i = 0; i < 2 * most; i++) line.join(++id);
      for (const one of [...line.state.running.keys()]) line.left(one, end);
      while (line.state.running.size > 0)
        for (const one of [...line.state.running.keys()]) line.left(one, end);
    };
    for (let i = 0; i < 10; i++) round(i % 2 === 0 ? "overtaken" : "timed out");
    expect(line.state.limit.limit).toBe(1);
    for (let i = 0; i < 40; i++) round("committed");
    expect(line.state.limit.limit).toBe(most);
    for (let i = 0; i < 10; i++) round("failed");
    expect(line.state.limit.limit).toBe(most);
  });

  it("refuses all who wait when there is no connection", () => {
    const line = new Driven(1);
    line.join(1);
    line.join(2);
    line.join(3, 1);
    line.left(1, "unreachable");
    expect(line.refused).toEqual([3, 2]);
    line.join(4);
    expect(line.went).toEqual([1, 4]);
  });

  it("whatever comes: no more run than may, one alone has no others beside it, and each has a turn [K241]", () => {
    const ends = fc.constantFrom<TurnEnd>("committed", "overtaken", "timed out", "failed");
    const step = fc.record({ joins: fc.boolean(), overtaken: fc.nat(3), pick: fc.nat(), end: ends });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), fc.array(step, { maxLength: 80 }), (most, steps) => {
        const line = new Driven(most);
        let joined = 0;
        const check = (): void => {
          const { running, limit } = line.state;
          expect(limit.limit).toBeGreaterThanOrEqual(1);
          expect(limit.limit).toBeLessThanOrEqual(most);
          expect(running.size).toBeLessThanOrEqual(most);
          const overtaken = [...running.values()].map((one) => one.overtaken);
          expect(overtaken.filter((n) => n > 0).length).toBeLessThanOrEqual(1);
          if (overtaken.some((n) => n >= ALONE_AFTER)) expect(running.size).toBe(1);
        };
        for (const { joins, overtaken, pick, end } of steps) {
          const ids = [...line.state.running.keys()];
          if (joins || ids.length === 0) line.join(++joined, overtaken);
          else line.left(ids[pick % ids.length] as number, end);
          check();
        }
        for (let ids = [...line.state.running.keys()]; ids.length > 0; ids = [...line.state.running.keys()]) {
          line.left(ids[0] as number, "committed");
          check();
        }
        expect([...line.went].sort((a, b) => a - b)).toEqual(Array.from({ length: joined }, (_, i) => i + 1));
      }),
      { numRuns: sized(300, 1, 10_000) },
    );
  });
});

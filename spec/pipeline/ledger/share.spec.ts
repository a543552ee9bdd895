// How many messages of a queue a host takes while others take, too.

import { describe, expect, it } from "vitest";
import { Share } from "../../../lib/pipeline/ledger/share.js";

describe("the share of a host", () => {
  it("is twice what it can work on, and four at least, until it has settled some", () => {
    expect([new Share(1, 250).most(0), new Share(30, 250).most(10_000)]).toEqual([4, 60]);
  });

  it("grows with what it settles, and falls when it settles less [Y11]", () => {
    const share = new Share(1, 250);
    const settle = (count: number): void => {
      for (let i = 0; i < count; i++) share.settled();
    };
    expect(share.most(1_000)).toBe(4);
    settle(100);
    expect(share.most(1_100)).toBe(200);
    settle(100);
    // The interval before counts, until the one after it is over.
    expect([share.most(1_240), share.most(1_250), share.most(1_499)]).toEqual([400, 400, 400]);
    settle(5);
    expect([share.most(1_500), share.most(1_750), share.most(9_000)]).toEqual([10, 4, 4]);
  });
});

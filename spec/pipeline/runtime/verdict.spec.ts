import { describe, expect, test } from "vitest";
import { DeadLetterError } from "../../../lib/pipeline/definition/errors.js";
import { afterFailure, publications, type Rules, refusal } from "../../../lib/pipeline/runtime/verdict.js";

const rules: Rules = {
  route: "r",
  exits: [
    { queue: "even", test: (n) => (n as number) % 2 === 0 },
    { queue: "all", test: undefined },
  ],
  firstMatch: false,
  retry: { attempts: 3, backoff: { minMs: 100, maxMs: 1_000, jitter: 0 } },
  maxHops: 2,
};
const message = { id: "10.10", queue: "in", value: 1, key: undefined, attempts: 0, errors: [] };
const items = [{ value: 1 }, { value: 2, key: "k" }];

describe("results of a message", () => {
  test("go to each queue whose condition holds, as children that are counted through", () => {
    expect(publications(rules, "10.10", items)).toEqual([
      { id: "10.10.10", queue: "all", value: 1, key: undefined },
      { id: "10.10.11", queue: "even", value: 2, key: "k" },
      { id: "10.10.12", queue: "all", value: 2, key: "k" },
    ]);
  });

  test("go to the first queue that takes them, if the route says so", () => {
    const queues = publications({ ...rules, firstMatch: true }, "10.10", items).map(({ queue }) => queue);
    expect(queues).toEqual(["all", "even"]);
  });
});

describe("a message whose attempt has failed", () => {
  test("is tried again after a wait that grows", () => {
    const waits = [0, 1].map((attempts) =>
      afterFailure(rules, { ...message, attempts }, new Error("no"), 0, undefined, 0),
    );
    expect(waits).toMatchObject([
      { type: "retry", delayMs: 100, error: expect.stringMatching(/^Error: no/) },
      { type: "retry", delayMs: 200 },
    ]);
  });

  test.each([
    [30_000, 30_000],
    [0.5, 100],
    [250.5, 251],
    [50, 100],
    [Number.POSITIVE_INFINITY, 3_600_000],
    [1e12, 3_600_000],
    [-1, 100],
    [Number.NaN, 100],
    ["9000", 100],
  ])(
    "waits as long as the error asks, if that is longer, up to an hour: %j [Y137]",
    (retryAfterMs, delayMs) => {
      const error = Object.assign(new Error("busy"), { retryAfterMs });
      expect(afterFailure(rules, message, error, 0, undefined, 0)).toMatchObject({ type: "retry", delayMs });
    },
  );

  test("is a dead letter when its attempts are used up", () => {
    expect(afterFailure(rules, { ...message, attempts: 2 }, new Error("no"), 0, undefined, 0)).toMatchObject({
      type: "dead",
      error: expect.stringMatching(/^Error: no/),
    });
  });

  test.each([
    ["an adapter that gives up", new DeadLetterError("broken")],
    ["an error that says so", Object.assign(new Error("gone"), { retriable: false })],
  ])("is a dead letter at once after %s", (_, error) => {
    expect(afterFailure(rules, message, error, 0, undefined, 0).type).toBe("dead");
  });

  test.each([
    [undefined],
    [null],
    [
      new Proxy(
        {},
        {
          get: () => {
            throw new Error("trap");
          },
        },
      ),
    ],
  ])("is tried again, whatever was thrown: %#", (thrown) => {
    expect(afterFailure(rules, message, thrown, 0, undefined, 0).type).toBe("retry");
  });
});

test("a message at the hop limit of its pipeline is refused (bug 16)", () => {
  expect(refusal(rules, { ...message, id: "10.10.10" })).toBeUndefined();
  expect(refusal(rules, { ...message, id: "10.10.10.10" })?.message).toBe(
    "route r: the message has passed 2 routes",
  );
});

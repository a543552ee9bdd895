// A history: operations as their calls begin and end, in the order of these events.

import { describe, expect, it } from "vitest";
import { OptionError } from "../../../lib/process/errors.js";
import { OperationEndedError, OperationHistory } from "../../../lib/testing/linearizability/history.js";

describe("a history", () => {
  it("numbers operations as they begin, and counts begins and answers as events", () => {
    const history = new OperationHistory<string, number>();
    const first = history.begin("ann", "next");
    const second = history.begin("bob", "next");
    second.end(1);
    first.end(2);
    expect([first.number, second.number]).toEqual([1, 2]);
    expect(history.operations).toEqual([
      { number: 1, client: "ann", op: "next", begin: 1, end: 4, outcome: "answered", result: 2 },
      { number: 2, client: "bob", op: "next", begin: 2, end: 3, outcome: "answered", result: 1 },
    ]);
  });

  it("has operations that are open, and such that never had an answer, as unknown", () => {
    const history = new OperationHistory<string, number>();
    history.begin("ann", "next").unknown();
    const open = history.begin("ann", "next");
    const before = history.operations;
    expect(before.map(({ outcome, begin }) => [outcome, begin])).toEqual([
      ["unknown", 1],
      ["unknown", 2],
    ]);
    open.end(1);
    expect(history.operations[1]).toMatchObject({ outcome: "answered", end: 3 });
    expect(before[1]).toMatchObject({ outcome: "unknown" });
  });

  it("forgets a refused operation", () => {
    const history = new OperationHistory<string, number>();
    history.begin("ann", "next").refused();
    history.begin("bob", "next");
    expect(history.operations).toMatchObject([{ number: 2, client: "bob", begin: 2 }]);
  });

  it("lets an operation end once", () => {
    const history = new OperationHistory<string, number>();
    const ends = [
      [
        "answered",
        () => history.begin("ann", "next"),
        (call: ReturnType<typeof history.begin>) => call.end(1),
      ],
      [
        "unknown",
        () => history.begin("ann", "next"),
        (call: ReturnType<typeof history.begin>) => call.unknown(),
      ],
      [
        "refused",
        () => history.begin("ann", "next"),
        (call: ReturnType<typeof history.begin>) => call.refused(),
      ],
    ] as const;
    for (const [was, begin, end] of ends) {
      for (const [again, , endAgain] of ends) {
        const call = begin();
        end(call);
        const operations = history.operations;
        expect(() => endAgain(call)).toThrow(OperationEndedError);
        expect(() => endAgain(call)).toThrow(
          `operation ${call.number} of ann was ended as "${was}" and cannot be ended again as "${again}"`,
        );
        expect(history.operations).toEqual(operations);
      }
    }
  });

  it("has clients with names", () => {
    expect(() => new OperationHistory().begin("", "next")).toThrow(OptionError);
  });

  it("notifies of begins and answers only", async () => {
    const events: string[] = [];
    const history = new OperationHistory<string, number>({
      refused: (error) => error === "no",
      onEvent: (event, client, op) => events.push(`${client} ${event} ${op}`),
    });
    history.begin("ann", "a").end(1);
    history.begin("bob", "b").unknown();
    await history.run("cat", "c", async () => 1);
    await expect(history.run("dan", "d", () => Promise.reject("no"))).rejects.toBe("no");
    expect(events).toEqual([
      ...["ann begin a", "ann end a", "bob begin b", "cat begin c", "cat end c", "dan begin d"],
    ]);
  });
});

describe("a call that a history runs", () => {
  it("begins before the call and ends with its answer", async () => {
    const history = new OperationHistory<string, number>();
    const answer = await history.run("ann", "count", async () => history.operations.length);
    expect(answer).toBe(1);
    expect(history.operations).toMatchObject([
      { client: "ann", op: "count", outcome: "answered", result: 1 },
    ]);
  });

  it("is unknown when it is rejected, or throws at once: it may have had its effect", async () => {
    const history = new OperationHistory<string, number>();
    const lost = new Error("lost");
    await expect(history.run("ann", "next", () => Promise.reject(lost))).rejects.toBe(lost);
    const thrown = history.run("ann", "next", () => {
      throw lost;
    });
    await expect(thrown).rejects.toBe(lost);
    expect(history.operations.map(({ outcome }) => outcome)).toEqual(["unknown", "unknown"]);
  });

  it("never was when it is rejected with an error that means so", async () => {
    const history = new OperationHistory<string, number>({ refused: (error) => error instanceof RangeError });
    await expect(history.run("ann", "next", () => Promise.reject(new RangeError()))).rejects.toThrow(
      RangeError,
    );
    await expect(history.run("bob", "next", () => Promise.reject(new TypeError()))).rejects.toThrow(
      TypeError,
    );
    expect(history.operations).toMatchObject([{ client: "bob", outcome: "unknown" }]);
  });

  it("is unknown when the meaning of its error is unknown", async () => {
    const history = new OperationHistory<string, number>({
      refused: () => {
        throw new Error("who knows");
      },
    });
    await expect(history.run("ann", "next", () => Promise.reject(new Error("lost")))).rejects.toThrow(
      "who knows",
    );
    expect(history.operations).toMatchObject([{ outcome: "unknown" }]);
  });
});

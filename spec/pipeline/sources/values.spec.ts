import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fromIterable, fromValues } from "../../../lib/pipeline/sources/values.js";
import { read, values } from "./support.js";

describe("values in memory", () => {
  test("are given once each, with keys", async () => {
    const source = fromValues("words", ["to", "be"], { key: (word) => word[0] });
    expect(await read(source)).toEqual([
      { value: "to", checkpoint: 1, key: "t" },
      { value: "be", checkpoint: 2, key: "b" },
    ]);
  });

  test("go on behind each checkpoint", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer()), async (given) => {
        const source = fromValues("values", given);
        for (const [i, { checkpoint }] of (await read(source)).entries())
          expect(await values(source, checkpoint)).toEqual(given.slice(i + 1));
      }),
      { numRuns: 30 },
    );
  });

  test("have to be a list", () => {
    expect(() => fromValues("words", "to" as never)).toThrow("values");
    expect(() => fromValues("words", [], { keys: () => "k" } as never)).toThrow("did you mean key?");
  });
});

describe("an iterable", () => {
  async function* numbers(after: number) {
    for (let n = after + 1; n <= 4; n++) yield n;
  }

  test("without checkpoints is opened anew, and as many values are left out as were given", async () => {
    const source = fromIterable("numbers", () => numbers(0));
    expect(await values(source)).toEqual([1, 2, 3, 4]);
    expect(await values(source, 3)).toEqual([4]);
  });

  test("with checkpoints is opened behind the last value", async () => {
    const opened: unknown[] = [];
    const source = fromIterable(
      "numbers",
      ({ checkpoint = 0 }: { checkpoint: number | undefined }) => {
        opened.push(checkpoint);
        return numbers(checkpoint);
      },
      { checkpoint: (n) => n },
    );
    expect(await values(source, 2)).toEqual([3, 4]);
    expect(opened).toEqual([2]);
  });

  test("may be synchronous, and is closed when its reader stops", async () => {
    let closed = 0;
    const source = fromIterable("numbers", function* () {
      try {
        yield* [1, 2, 3];
      } finally {
        closed++;
      }
    });
    for await (const { value } of source.open({ signal: new AbortController().signal } as never))
      if (value === 2) break;
    expect(closed).toBe(1);
  });

  test("is read no further when the execution is paused", async () => {
    const abort = new AbortController();
    const source = fromIterable("numbers", function* () {
      yield 1;
      abort.abort(new Error("paused"));
      yield 2;
    });
    await expect(read(source, undefined, { signal: abort.signal })).rejects.toThrow("paused");
  });

  test("that is none is an error", async () => {
    expect(() => fromIterable("numbers", [1] as never)).toThrow("open");
    await expect(read(fromIterable("numbers", () => 7 as never))).rejects.toThrow(
      "a function that returns an iterable",
    );
  });
});

// Values and callbacks that a pool has to survive, with the options of a user who sets none.

import { type PoolJob, type PoolRef, pool } from "signalbox/service";
import { describe, expect, it } from "vitest";
import { deeper, uncloneablePart } from "../../../lib/service/pool/cloneable.js";
import { bench, errorOf, file } from "./support.js";

const on = bench();

/** `[[[…]]]` with so many brackets. */
function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < levels; i++)
    value = i % 3 === 0 ? [value] : i % 3 === 1 ? { a: value } : new Map([[1, value]]);
  return value;
}

interface Nests {
  take(value: unknown): string;
  give(levels: number): unknown;
  report(this: PoolJob, levels: number): void;
  fail(levels: number): void;
}

const NESTS = file(`
  const nested = (levels) => { let value = 1; for (let i = 0; i < levels; i++) value = [value]; return value; };
  export const take = () => "taken";
  export const give = nested;
  export function report(levels) { this.progress(nested(levels)); }
  export const fail = (levels) => { throw Object.assign(new Error("deep"), { detail: nested(levels), flat: 1 }); };
`);

/** As users start it: without options. */
const start = (): Promise<PoolRef<Nests>> => on.system.start(pool<Nests>(NESTS));

describe("a value that is nested deeply", () => {
  it("passes up to 1,000 levels, both ways [W13]", async () => {
    const nests = await start();
    expect(await nests.run.take(nested(999))).toBe("taken");
    let levels = 0;
    for (let value = await nests.run.give(1_000); Array.isArray(value); value = value[0]) levels++;
    expect(levels).toBe(1_000);
  });

  it.each([1_002, 3_000, 12_000, 100_000])(
    "of %i levels is refused at once, both ways [W13]",
    async (levels) => {
      const nests = await start();
      const refused = {
        code: "ERR_NOT_CLONEABLE",
        message: expect.stringContaining("more than 1,000 levels"),
      };
      expect(await errorOf(nests.run.take(nested(levels)))).toMatchObject({ ...refused, path: "args" });
      expect(await errorOf(nests.run.give(levels))).toMatchObject({ ...refused, path: "result" });
      expect(await errorOf(nests.run.report(levels))).toMatchObject({
        name: "RangeError",
        message: expect.stringContaining("more than 1,000 levels"),
      });
      expect(await errorOf(nests.run.fail(levels))).toEqual(Object.assign(new Error("deep"), { flat: 1 }));
      expect(await nests.run.take(1)).toBe("taken");
      expect(on.exits).toEqual([]);
    },
  );

  it("is known by what a clone would visit, so that circles and shared parts are not deep", () => {
    const circle: unknown[] = [];
    circle.push({ circle, list: [circle] });
    let diamond: unknown = 1;
    for (let i = 0; i < 500; i++) diamond = [diamond, diamond];
    const parent: { children: unknown[] } = { children: [] };
    for (let i = 0; i < 5_000; i++) parent.children.push({ parent });
    for (const value of [1, null, "x", circle, diamond, parent, new Set([circle])])
      expect(deeper(value, 1_000)).toBe(false);
    expect(deeper(nested(1_001), 1_000)).toBe(true);
    expect(deeper([circle, nested(1_001)], 1_000)).toBe(true);
  });

  it("is searched with one look at each part, of 100,000 parts at most [W13]", () => {
    let looks = 0;
    const counted = (levels: number): unknown => {
      let value: unknown = () => 1;
      for (let i = 0; i < levels; i++) {
        const inner = value;
        value = Object.defineProperty({}, "a", {
          enumerable: true,
          get: () => {
            looks++;
            return inner;
          },
        });
      }
      return value;
    };
    expect(uncloneablePart([counted(900)], "args", [], () => false)).toMatch(
      /^args\[0\](\.a){18}…(\.a){20}$/,
    );
    expect(looks).toBe(900);
    looks = 0;
    expect(uncloneablePart([counted(150_000)], "args", [], () => false)).toBe("args");
    expect(looks).toBe(1_000);
    looks = 0;
    const wide = Array.from({ length: 150_000 }, () => counted(1));
    expect(uncloneablePart([wide], "args", [], () => false)).toBe("args");
    expect(looks).toBe(0);
  });
});

describe("a throw in onProgress", () => {
  const broken = new Error("no bar to draw on");
  const JOBS = file(
    `export async function work(reports) {
      if (!reports) return 2;
      this.progress(1);
      await new Promise((resolve) => this.signal.addEventListener("abort", resolve));
    }`,
  );
  const start = (): Promise<PoolRef<{ work(reports?: boolean): Promise<number> }>> =>
    on.system.start(pool(JOBS));

  it.each([
    [
      "a throw",
      () => {
        throw broken;
      },
    ],
    ["a rejection", () => Promise.reject(broken)],
  ])("%s rejects that job, and no other [W14]", async (_what, onProgress) => {
    const jobs = await start();
    const failing = errorOf(jobs.with({ onProgress }).run.work(true));
    const other = jobs.run.work();
    expect(await failing).toBe(broken);
    expect(await other).toBe(2);
    expect(on.exits).toEqual([]);
  });

  it("rejects the job in the process that sent it, which goes on [W14]", async () => {
    const jobs = await start();
    const onProgress = (): never => {
      throw broken;
    };
    const seen = await new Promise<unknown>((resolve) => {
      on.system.spawn(async (ctx) => {
        resolve([await errorOf(jobs.with({ from: ctx, onProgress }).run.work(true)), ctx.alive]);
      });
    });
    expect(seen).toEqual([broken, true]);
  });
});

import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AppendLog, indexPathOf } from "../../../lib/pipeline/adapters/append-log.js";
import { FileTornError, UnwritableError } from "../../../lib/pipeline/adapters/errors.js";
import { loadStringify, writeCsv, writeJsonLines } from "../../../lib/pipeline/adapters/file-writer.js";
import { PackageMissingError } from "../../../lib/process/package-missing.js";
import { System } from "../../../lib/system.js";
import { Bench, cleanup } from "./support.js";

const after = cleanup();
function bench(): Bench {
  const system = new System({ report: false });
  after.add(() => system.stop({ timeoutMs: 0 }));
  return new Bench(system);
}
const newPath = () => join(mkdtempSync(join(tmpdir(), "signalbox-writer-")), "out");
const linesOf = (path: string) => readFileSync(path, "utf8").split("\n");

describe("a writer of JSON lines", () => {
  test("writes each message once, and passes it on", async () => {
    const path = newPath();
    const at = bench();
    const write = writeJsonLines<{ n: number }>("write", { path });
    expect(await at.pass(write, { n: 1 }, { id: "10.10" })).toEqual([{ n: 1 }]);
    await at.pass(write, { n: 1 }, { id: "10.10" });
    await Promise.all([2, 3, 4].map((n) => at.pass(write, { n }, { id: `10.1${n}` })));
    expect(linesOf(path)).toEqual(['{"n":1}', '{"n":2}', '{"n":3}', '{"n":4}', ""]);
    await write.close?.();
  });

  test("knows what it has written when it is opened again", async () => {
    const path = newPath();
    const at = bench();
    for (const sync of [false, true, false]) {
      const write = writeJsonLines<number>("write", { path, sync });
      for (const n of [1, 2]) await at.pass(write, n, { id: `10.1${n}` });
      await write.close?.();
      await at.pass(write, 3, { id: "10.13" });
      await write.close?.();
    }
    expect(linesOf(path)).toEqual(["1", "2", "3", ""]);
  });

  test("makes a dead letter of what is no JSON", async () => {
    const write = writeJsonLines<unknown>("write", { path: newPath() });
    const circle: { self?: unknown } = {};
    circle.self = circle;
    for (const value of [circle, 1n, () => 1]) {
      const error = await bench()
        .pass(write, value)
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(UnwritableError);
      expect(error).toMatchObject({ code: "ERR_PIPELINE_UNWRITABLE", retriable: false });
    }
    await write.close?.();
  });

  test("leaves files alone that it has not written", async () => {
    const path = newPath();
    writeFileSync(path, "mine\n");
    const write = writeJsonLines<number>("write", { path });
    const error = await bench()
      .pass(write, 1)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(FileTornError);
    expect(error).toMatchObject({ code: "ERR_PIPELINE_FILE_TORN" });
    expect(readFileSync(path, "utf8")).toBe("mine\n");
    for (const index of ["no index\n", "[9]\n[3]\n", "{}\n", "[99]\n"]) {
      writeFileSync(indexPathOf(path), index);
      await expect(bench().pass(write, 1)).rejects.toBeInstanceOf(FileTornError);
    }
    expect(readFileSync(path, "utf8")).toBe("mine\n");
  });

  test("opens its file anew after an attempt that could not", async () => {
    const write = writeJsonLines<number>("write", { path: join(newPath(), "no", "folder") });
    await expect(bench().pass(write, 1)).rejects.toMatchObject({ code: "ENOENT" });
    await expect(bench().pass(write, 1)).rejects.toMatchObject({ code: "ENOENT" });
    await write.close?.();
  });
});

describe("a file after a kill", () => {
  test("has each message once and no part of a line, wherever the kill came [Y97]", async () => {
    const path = newPath();
    const index = indexPathOf(path);
    const entries = ["a", "b", "c", "d", "e"].map((key) => ({ key, text: `${key} é\n` }));
    const header = "header\n";
    // What both files have after each write.
    const states = [{ file: Buffer.alloc(0), index: Buffer.alloc(0) }];
    const log = await AppendLog.open(path, header, false);
    const keep = () => states.push({ file: readFileSync(path), index: readFileSync(index) });
    keep();
    for (const some of [entries.slice(0, 1), entries.slice(1, 4), entries.slice(4)]) {
      await log.append(some);
      keep();
    }
    await log.close();
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: states.length - 2 }),
        fc.integer({ min: 0, max: 100 }).map((percent) => percent / 100),
        fc.boolean(),
        async (n, share, isIndex) => {
          const [before, behind] = states.slice(n) as [(typeof states)[0], (typeof states)[0]];
          const part = (from: Buffer, to: Buffer) =>
            to.subarray(0, from.length + Math.floor((to.length - from.length) * share));
          // The file is written first; the index of a file that is new is begun before.
          writeFileSync(path, isIndex ? behind.file : part(before.file, behind.file));
          if (n === 0) writeFileSync(index, share < 0.5 ? "[0" : "[0]\n");
          else writeFileSync(index, isIndex ? part(before.index, behind.index) : before.index);
          if (n === 0 && share < 0.5) writeFileSync(path, "");
          const again = await AppendLog.open(path, header, false);
          const opened = readFileSync(path);
          expect([before, behind].some(({ file }) => file.equals(opened))).toBe(true);
          await again.append(entries);
          await again.close();
          expect(readFileSync(path, "utf8")).toBe(header + entries.map(({ text }) => text).join(""));
        },
      ),
      { numRuns: 20 },
    );
  });
});

describe("a writer of CSV", () => {
  interface Row {
    readonly a: string;
    readonly b: unknown;
  }

  test("writes the names of the columns once, and quotes what has to be", async () => {
    const path = newPath();
    const at = bench();
    for (const rows of [
      [
        { a: 'x"y', b: 1 },
        { a: "l\nm", b: null },
      ],
      [{ a: "p,q", b: { c: [true] } }],
    ]) {
      const write = writeCsv<Row>("write", { path, columns: ["b", "a"] });
      for (const row of rows) await at.pass(write, row);
      await write.close?.();
    }
    expect(readFileSync(path, "utf8")).toBe('b,a\n1,"x""y"\n,"l\nm"\n"{""c"":[true]}","p,q"\n');
  });

  test("checks its options, and needs the package csv-stringify", async () => {
    const path = newPath();
    expect(() => writeCsv("write", { path, columns: [] })).toThrow("columns");
    expect(() => writeCsv("write", { path, columns: ["a", "a"] as never })).toThrow("columns");
    expect(() => writeCsv("write", { path: "", columns: ["a"] as never })).toThrow("path");
    expect(() => writeJsonLines("write", { path, fsync: true } as never)).toThrow("did you mean sync?");
    const missing = loadStringify(() => Promise.reject(new Error("not found")));
    await expect(missing).rejects.toBeInstanceOf(PackageMissingError);
  });
});

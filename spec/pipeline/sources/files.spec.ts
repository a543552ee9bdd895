import { appendFileSync, truncateSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { giveUpDamaged } from "../../../lib/pipeline/adapters/damaged.js";
import { DeadLetterError } from "../../../lib/pipeline/definition/errors.js";
import { feed } from "../../../lib/pipeline/definition/pipeline.js";
import { queue } from "../../../lib/pipeline/definition/queue.js";
import { route } from "../../../lib/pipeline/definition/route.js";
import { type CsvRow, csvRows, loadParser } from "../../../lib/pipeline/sources/csv.js";
import { DamagedRecordError, FileChangedError } from "../../../lib/pipeline/sources/errors.js";
import type { DamagedRecord } from "../../../lib/pipeline/sources/file-options.js";
import { jsonLines } from "../../../lib/pipeline/sources/json-lines.js";
import { OptionError } from "../../../lib/process/errors.js";
import { PackageMissingError } from "../../../lib/process/package-missing.js";
import { fileOf, read, values } from "./support.js";

describe("JSON lines", () => {
  test("are a value each, with the place behind it", async () => {
    const path = fileOf('\ufeff{"a":1}\r\n\n  \n"é"\nnull\n[2]');
    const source = jsonLines("lines", { path });
    expect(await values(source)).toEqual([{ a: 1 }, "é", null, [2]]);
    expect((await read(source)).map(({ checkpoint }) => checkpoint)).toEqual([
      { byte: 12, line: 1 },
      { byte: 21, line: 4 },
      { byte: 26, line: 5 },
      { byte: 29, line: 5 },
    ]);
  });

  test("of any size are read on behind each place, across the chunks of the file", async () => {
    const rows = Array.from({ length: 40 }, (_, n) => ({ n, text: "é".repeat(n * 150) }));
    const source = jsonLines("lines", { path: fileOf(rows.map((row) => JSON.stringify(row)).join("\n")) });
    const all = await read(source);
    expect(all.map(({ value }) => value)).toEqual(rows);
    for (const [i, { checkpoint }] of all.entries())
      expect(await values(source, checkpoint)).toEqual(rows.slice(i + 1));
  });

  test("that cannot be read fail the execution, and name file and line [Y87]", async () => {
    const path = fileOf('1\n2\n{"a":\n3');
    const error = await read(jsonLines("lines", { path })).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DamagedRecordError);
    expect(error).toMatchObject({ code: "ERR_PIPELINE_DAMAGED_RECORD", retriable: false });
    expect(String(error)).toContain(`${path}, line 3: no JSON`);
  });

  test("that cannot be read become dead letters where the source passes them on [Y87]", async () => {
    const path = fileOf(
      Buffer.concat([Buffer.from('{"a":\n1\n'), Buffer.from([0xff, 10]), Buffer.from("x".repeat(99))]),
    );
    const source = jsonLines<number>("lines", { path, damaged: "pass", maxRecordBytes: 50 });
    const all = await values(source);
    expect(all).toMatchObject([
      { file: path, line: 1, text: '{"a":' },
      1,
      { line: 3, $damaged: "no UTF-8" },
      { line: 4, $damaged: "longer than 50 bytes", text: "x".repeat(50) },
    ]);
    const ctx = {
      giveUp: (reason: string) => {
        throw new DeadLetterError(reason);
      },
    };
    const { process } = giveUpDamaged<number>();
    expect(process(1, ctx as never)).toBe(1);
    expect(() => process(all[0] as DamagedRecord, ctx as never)).toThrow(`${path}, line 1: no JSON`);
  });

  test("keep their types through the adapter that takes damaged ones out", () => {
    const rows = queue<CsvRow | DamagedRecord>("rows");
    feed(csvRows("rows", { path: "rows.csv", damaged: "pass" }), rows);
    route("clean", { from: rows })
      .via(giveUpDamaged<CsvRow>())
      .via("see", (row) => expectTypeOf(row).toEqualTypeOf<CsvRow>());
  });

  test("are checked by a schema, whose output is the message", async () => {
    const path = fileOf('{"n":"7"}\n{"n":"x"}\n');
    const schema = z.object({ n: z.coerce.number() });
    expect(
      await values(jsonLines("lines", { path, schema, damaged: "pass", key: ({ n }) => `k${n}` })),
    ).toMatchObject([{ n: 7 }, { line: 2, $damaged: expect.stringMatching(/^n: /) }]);
    const slow = schema.refine(async () => true);
    expect(
      await read(jsonLines("lines", { path, schema: slow, damaged: "pass", key: ({ n }) => `k${n}` })),
    ).toMatchObject([{ value: { n: 7 }, key: "k7" }, { value: { line: 2 } }]);
  });
});

describe("a file", () => {
  test("may grow while it is read, and between two readings", async () => {
    const path = fileOf("1\n2\n");
    const source = jsonLines("lines", { path });
    const [, second] = await read(source);
    appendFileSync(path, "3\n4");
    expect(await values(source, second?.checkpoint)).toEqual([3, 4]);
  });

  test("that is shorter than its checkpoint is an error [Y88]", async () => {
    const path = fileOf("1\n2\n3\n");
    const source = jsonLines("lines", { path });
    const all = await read(source);
    truncateSync(path, 2);
    const error = await read(source, all[1]?.checkpoint).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(FileChangedError);
    expect(error).toMatchObject({ code: "ERR_PIPELINE_FILE_CHANGED", retriable: false });
    expect(String(error)).toContain("it has 2 bytes, and 4 bytes of it were read already");
  });

  test("that becomes shorter while it is read is an error [Y88]", async () => {
    const path = fileOf("1\n".repeat(100_000));
    const source = jsonLines("lines", { path });
    let n = 0;
    const reading = (async () => {
      for await (const _ of source.open({
        checkpoint: undefined,
        input: undefined,
        signal: new AbortController().signal,
      } as never))
        if (n++ === 0) truncateSync(path, 0);
    })();
    await expect(reading).rejects.toBeInstanceOf(FileChangedError);
  });

  test("whose last line goes on behind its checkpoint is an error [Y88]", async () => {
    const path = fileOf("1\n2");
    const source = jsonLines("lines", { path });
    const [, last] = await read(source);
    expect(await values(source, last?.checkpoint)).toEqual([]);
    appendFileSync(path, "3\n4");
    await expect(read(source, last?.checkpoint)).rejects.toThrow("the line goes on now");
  });

  test("that is not there is what Node says of it, with its path", async () => {
    await expect(read(jsonLines("lines", { path: "/nowhere/at-all" }))).rejects.toMatchObject({
      code: "ENOENT",
    });
  });

  test("is named by the input of the execution", async () => {
    const source = jsonLines("lines", { path: ({ file }: { file: string }) => file });
    const all = await read(source, undefined, { input: { file: fileOf("1") } });
    expect(all).toMatchObject([{ value: 1 }]);
  });

  test("is read no further when the execution is paused", async () => {
    const abort = new AbortController();
    abort.abort(new Error("paused"));
    const source = jsonLines("lines", { path: fileOf("1") });
    await expect(read(source, undefined, { signal: abort.signal })).rejects.toThrow("paused");
  });
});

describe("CSV rows", () => {
  const airports = '\ufeffcode,name\r\nBER,"Berlin ""Brandenburg"""\r\nCGN,"Köln/\nBonn"\n\nHAM,Hamburg';

  test("are objects of texts, with quotes, line ends in quotes and a last record without line end", async () => {
    const source = csvRows("airports", { path: fileOf(airports) });
    expect(await values(source)).toEqual([
      { code: "BER", name: 'Berlin "Brandenburg"' },
      { code: "CGN", name: "Köln/\nBonn" },
      { code: "HAM", name: "Hamburg" },
    ]);
  });

  test("go on behind each place, with the names of the columns from the beginning", async () => {
    const source = csvRows("airports", { path: fileOf(airports) });
    const all = await read(source);
    for (const [i, { checkpoint }] of all.entries())
      expect(await values(source, checkpoint)).toEqual(all.slice(i + 1).map(({ value }) => value));
  });

  test("that are damaged are alone", async () => {
    const path = fileOf('a,b\n1,2\n3\n4,5,6\n"7,8\n9,"x"y\n1,a"b\n2,3\n');
    expect(await values(csvRows("rows", { path, damaged: "pass" }))).toMatchObject([
      { a: "1", b: "2" },
      { line: 3, $damaged: "1 fields, and there are 2 columns" },
      { line: 4, $damaged: "3 fields, and there are 2 columns" },
      { line: 5, text: '"7,8', $damaged: "a quote is never closed" },
      { line: 6, text: '9,"x"y', $damaged: expect.stringMatching(/^Invalid Closing Quote: .*$/) },
      { line: 7, text: '1,a"b', $damaged: expect.stringContaining("Invalid Opening Quote") },
      { a: "2", b: "3" },
    ]);
  });

  test("are read with columns, delimiter and quote of one's own", async () => {
    const source = csvRows("rows", {
      path: fileOf("1;'a;b'\n"),
      columns: ["n", "__proto__"],
      delimiter: ";",
      quote: "'",
    });
    const [row] = await values(source);
    expect(Object.entries(row as CsvRow)).toEqual([
      ["n", "1"],
      ["__proto__", "a;b"],
    ]);
  });

  test("of an empty file are none", async () => {
    expect(await values(csvRows("rows", { path: fileOf("") }))).toEqual([]);
    expect(await values(csvRows("rows", { path: fileOf("a,b\n") }))).toEqual([]);
  });

  test("need names of columns, each once", async () => {
    for (const header of ["a,a", "a,,b", '"a', 'a"b', 'a,b"\n'])
      await expect(
        read(csvRows("rows", { path: fileOf(`${header}\n1,2`), damaged: "pass" })),
      ).rejects.toThrow("the names of the columns");
  });

  test("need the package csv-parse", async () => {
    const missing = loadParser(() => Promise.reject(new Error("not found")));
    await expect(missing).rejects.toBeInstanceOf(PackageMissingError);
    await expect(missing).rejects.toThrow("npm install csv-parse@^7.0.0");
  });

  test("of any texts are read as they were written", async () => {
    const field = fc.string({
      unit: fc.constantFrom("a", "é", '"', ",", "\n", "\r", " ", "\ufeff"),
      maxLength: 6,
    });
    const path = fileOf("");
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(field, field), { minLength: 1, maxLength: 8 }), async (rows) => {
        const quoted = rows.map((row) => row.map((text) => `"${text.replaceAll('"', '""')}"`).join(","));
        writeFileSync(path, ["a,b", ...quoted].join("\n"));
        const got = await values(csvRows("rows", { path, maxRecordBytes: 1_000 }));
        expect(got.map(({ a, b }) => [a, b])).toEqual(rows);
      }),
      { numRuns: 60 },
    );
  });
});

test("options of files are checked, each with its path", () => {
  const wrong: [object, string][] = [
    [{}, "path"],
    [{ path: "x", damage: "pass" }, "damage"],
    [{ path: "x", damaged: "skip" }, "damaged"],
    [{ path: "x", maxRecordBytes: 0 }, "maxRecordBytes"],
    [{ path: "x", schema: {} }, "schema"],
    [{ path: "x", key: "k" }, "key"],
    [{ path: "x", delimiter: "ab" }, "delimiter"],
    [{ path: "x", quote: "\n" }, "quote"],
    [{ path: "x", quote: "," }, "quote"],
    [{ path: "x", columns: ["a", "a"] }, "columns"],
  ];
  for (const [options, path] of wrong) {
    expect(() => csvRows("rows", options as never)).toThrow(OptionError);
    expect(() => csvRows("rows", options as never)).toThrow(path);
  }
  expect(() => jsonLines("1", { path: "x" })).toThrow("name");
});

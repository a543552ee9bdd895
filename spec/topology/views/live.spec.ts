// The live view: what is written to a terminal while a topology runs.

import { bolt, grouping, liveDashboard, topology } from "signalbox/topology";
import { expect, it } from "vitest";
import { N, Source, Stage, upTo } from "../support.js";

it("a running topology is drawn over itself again and again, and for the last time when it has ended", async () => {
  await using stage = new Stage();
  const source = new Source(upTo(3));
  const running = await stage.start(topology("drawn").spout("source", source.spout).build());
  const written: string[] = [];
  const drawing = liveDashboard(
    running,
    { write: (text) => written.push(text), columns: 80 },
    { everyMs: 500 },
  );
  await stage.advance(1_000);
  expect(written).toHaveLength(3);
  expect(written[0]).toContain("drawn: running");
  expect(written[0]?.startsWith("\u001b[")).toBe(false);
  expect(written[1]?.startsWith("\u001b[")).toBe(true);
  await stage.until(running.stop());
  await stage.until(drawing);
  expect(written).toHaveLength(4);
  expect(written[3]).toContain("drawn: ended");
});

it("the drawing ends when its signal is aborted, and says what is wrong with its output", async () => {
  await using stage = new Stage();
  const running = await stage.start(topology("drawn").spout("source", new Source().spout).build());
  const over = new AbortController();
  const written: string[] = [];
  const drawing = liveDashboard(running, { write: (text) => written.push(text) }, { signal: over.signal });
  await stage.settle();
  over.abort();
  await stage.until(drawing);
  expect(written).toHaveLength(1);
  await expect(liveDashboard(running, {} as never)).rejects.toMatchObject({
    code: "ERR_OPTION",
    path: "output",
  });
});

it("log lines of the topology stand above the drawing, and go to the report again after it [O35]", async () => {
  await using stage = new Stage();
  const source = new Source();
  const throws = bolt({
    input: N,
    execute: ({ values: { n } }) => {
      throw new Error(`no ${n}`);
    },
  });
  const running = await stage.start(
    topology("drawn", { retries: 0 })
      .spout("source", source.spout)
      .bolt("throws", throws, { from: { "source.numbers": grouping.shuffle() } })
      .build(),
  );
  const over = new AbortController();
  const written: string[] = [];
  const drawing = liveDashboard(running, { write: (text) => written.push(text) }, { signal: over.signal });
  await stage.settle();
  source.put(1);
  await stage.settle();
  expect(stage.reports).toEqual([]);
  const [first = "", second = ""] = written;
  const height = first.split("\n").length - 1;
  expect(second.startsWith(`\u001b[${height}A`)).toBe(true);
  expect(second).toContain("error: failed a tuple of source.numbers: Error: no 1");
  expect(second.indexOf("no 1")).toBeLessThan(second.indexOf("drawn: running"));
  over.abort();
  await stage.until(drawing);
  source.put(2);
  await stage.settle();
  expect(stage.reports.join("\n")).toContain("no 2");
});

// The guide's table of metrics, against what is defined and what is on a real page.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { headOf } from "../../lib/service/telemetry/series.js";
import { everything } from "../service/telemetry/everything.js";
import { parseExposition } from "../service/telemetry/exposition.js";
import { ALL_METRICS, metricsTable } from "./metrics-table.js";

const PAGE = new URL("../../docs/guide/metrics.md", import.meta.url);

describe("docs/guide/metrics.md", () => {
  it("has every metric in its table: after a change, run this test with `--update` [L21]", async () => {
    const text = readFileSync(PAGE, "utf8");
    const written = text.replace(/\| metric \| kind[\s\S]*?\n(?!\|)/, `${metricsTable()}\n`);
    await expect(written).toMatchFileSnapshot(PAGE.pathname);
  });

  it("lists what a busy system really has on its page, with its kind and its labels [L21]", async () => {
    await using all = await everything();
    const page = parseExposition(all.metrics.text());
    const heads = new Map(ALL_METRICS.map((instrument) => [headOf(instrument).name, headOf(instrument)]));
    for (const [name, { type, samples }] of page) {
      const head = heads.get(name);
      expect([name, head?.kind]).toEqual([name, type]);
      const labels = Object.keys(samples[0]?.labels ?? {}).filter((label) => label !== "le");
      expect([name, ...labels]).toEqual([name, "system", ...(head?.labels ?? [])]);
    }
    // Durable flows and the signals of hosts have tests of their own. The host tells of delays and collections when there were some.
    const absent = [...heads.keys()].filter((name) => !page.has(name));
    expect(absent.filter((name) => !/_flow|_host_|eventloop_delay|_gc_/.test(name))).toEqual([]);
  });
});

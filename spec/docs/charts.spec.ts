// docs/charts.md and its pictures show what was measured: after a change, `npm run docs:charts`.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { drawChart } from "./chart.js";
import { chartsPage, drawSection, sections } from "./charts.js";
import { chartOf, type Measurement, tableOf } from "./figures.js";

const measured = (name: string): Measurement =>
  JSON.parse(readFileSync(new URL(`../../docs/performance/${name}.json`, import.meta.url), "utf8"));
const all = sections({
  processes: measured("processes"),
  services: measured("services"),
  durable: measured("durable"),
});

describe("the page of charts", () => {
  it("has the figures of the measurements", async () => {
    await expect(chartsPage(all)).toMatchFileSnapshot("../../docs/charts.md");
  });

  it.each(all)("has the picture $picture", async (section) => {
    await expect(drawSection(section)).toMatchFileSnapshot(`../../docs/images/${section.picture}`);
  });

  it.each(all)("shows all programs that $picture is about", ({ measurement, others, only }) => {
    const { groups } = chartOf("", measurement, others, only);
    expect(groups.map(({ name }) => name.replace(/ \(less is better\)$/, ""))).toEqual(only);
  });
});

const nobody = {
  otp: null,
  nact: null,
  xstate: null,
  node: null,
  pqueue: null,
  plimit: null,
  piscina: null,
  srvx: null,
};
const none = { ...nobody, dbos: null, bullmq: null, disk: null, off: null, sdk: null, nats: null };
const judged = { target: "-", beside: null, met: null, lowest: 1, highest: 1, medianUs: null };
const measurement: Measurement = {
  command: "c",
  load: "quiet",
  machine: { node: "v20", cpu: "x", otp: "25" },
  programs: [
    {
      ...none,
      ...judged,
      name: "a<b",
      unit: "perSecond",
      ours: 2_000_000,
      otp: 250_000,
      nact: 500_000,
      ratios: { ...none, otp: 8, nact: 4 },
    },
    { ...none, ...judged, name: "bytes", unit: "bytes", ours: 300, otp: 150, ratios: { ...none, otp: 0.5 } },
    { ...none, ...judged, name: "alone", unit: "perSecond", ours: 1, ratios: none },
  ],
};

describe("a chart", () => {
  const chart = chartOf("Title", measurement, ["otp", "nact"]);

  it("has the programs of others, too, and how many times better ours is", () => {
    expect(chart.groups.map(({ name, verdict }) => [name, verdict])).toEqual([
      ["a<b", "8.0 × OTP, 4.0 × nact"],
      ["bytes (less is better)", "0.50 × OTP"],
    ]);
    expect(chartOf("", measurement, ["nact"], ["bytes", "a<b"]).groups.map(({ verdict }) => verdict)).toEqual(
      ["4.0 × nact"],
    );
  });

  it("says the same in words and as a table", () => {
    expect(chart.description).toBe(
      "a<b: signalbox 2.00 M/s, OTP 250 k/s, nact 500 k/s; signalbox makes 8.0 × OTP, 4.0 × nact. " +
        "bytes (less is better): signalbox 300 B, OTP 150 B; signalbox makes 0.50 × OTP.",
    );
    expect(tableOf(chart).split("\n")[2]).toBe(
      "| a<b | 2.00 M/s | OTP 250 k/s, nact 500 k/s | 8.0 × OTP, 4.0 × nact |",
    );
  });

  it("is drawn with bars in proportion, each group by its own unit, and escapes names", () => {
    const svg = drawChart(chart);
    const widths = [...svg.matchAll(/class="(?:ours|other)"[^>]* width="([\d.]+)"/g)].map(([, width]) =>
      Number(width),
    );
    expect(widths).toEqual([280, 35, 70, 280, 140]);
    expect(svg).toContain('<title id="title">Title</title>');
    expect(svg).toContain("a&lt;b");
    expect(svg).not.toContain("a<b");
  });
});

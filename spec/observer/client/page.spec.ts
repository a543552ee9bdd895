// The files of the page: their size, and that they need no other host.

import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { ICON, INDEX, SCRIPT, STYLE } from "../../../lib/observer/page/assets.js";

/** Bytes of all files, gzipped. */
const MOST = 90_000;

it("has at most 90 kB gzipped in all [N1580]", () => {
  const size = [INDEX, SCRIPT, STYLE, ICON].map((text) => gzipSync(text, { level: 9 }).length);
  expect(size.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(MOST);
});

it("asks no other host for anything, and fits the Content-Security-Policy of the server", () => {
  const places = [...INDEX.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, place]) => place);
  expect(places.sort()).toEqual(["app.css", "app.js", "icon.svg"]);
  expect(INDEX).not.toMatch(/<style|style=|<script>| on\w+=/);
  expect(STYLE).not.toMatch(/url\(|@import/);
  // Names of the standards, which nothing loads.
  const known = /^https?:\/\/(?:www\.w3\.org|localhost)\b/;
  const urls = [...SCRIPT.matchAll(/https?:\/\/[^"'`\s]+/g)].map(([url]) => url);
  expect(urls.filter((url) => !known.test(url))).toEqual([]);
  expect(SCRIPT).not.toMatch(/\beval\(|new Function/);
});

it("makes no markup of texts", () => {
  const client = new URL("../../../lib/observer/client/", import.meta.url);
  const sources = readdirSync(client, { recursive: true, encoding: "utf8" }).filter((name) =>
    /\.tsx?$/.test(name),
  );
  expect(sources.length).toBeGreaterThan(20);
  for (const name of sources)
    expect(readFileSync(new URL(name, client), "utf8"), name).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write/i,
    );
});

// How long an error asks to wait, whoever asks.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { askedWait, httpDate, retryAfterOf } from "../../lib/process/retry-after.js";

const NOW = Date.UTC(2026, 0, 31, 23, 59, 30);

const withHeaders = (headers: unknown): Error => Object.assign(new Error("busy"), { response: { headers } });
const dated = (text: string): Error => withHeaders(new Headers({ "Retry-After": text }));

describe("the wait that an error asks for [J342]", () => {
  it.each([
    ["its retryAfterMs", Object.assign(new Error("busy"), { retryAfterMs: 1_500 }), 1_500],
    ["seconds of the header of its response", dated("90"), 90_000],
    ["a date of the header", dated("Sun, 01 Feb 2026 00:00:00 GMT"), 30_000],
    ["headers in a plain object", withHeaders({ "retry-after": 2 }), 2_000],
    ["headers of its own", Object.assign(new Error("busy"), { headers: { "retry-after": "3" } }), 3_000],
    ["a date in the past", dated("Sat, 31 Jan 2026 23:59:00 GMT"), undefined],
    ["no seconds", dated("0"), undefined],
    ["something else", dated("soon"), undefined],
    ["a date that is none", dated("Sun, 01 Foo 2026 00:00:00 GMT"), undefined],
    ["NaN", { retryAfterMs: Number.NaN }, undefined],
    ["no error", undefined, undefined],
    ["nothing", new Error("no"), undefined],
  ])("%s", (_what, error, ms) => {
    expect(retryAfterOf(error, NOW)).toBe(ms);
  });

  it("is counted from the date of the response, whatever the own clock says", () => {
    const headers = new Headers({
      "Retry-After": "Sun, 01 Feb 2026 00:00:00 GMT",
      Date: "Sat, 31 Jan 2026 23:59:50 GMT",
    });
    expect(retryAfterOf(withHeaders(headers), NOW + 3_600_000)).toBe(10_000);
  });

  it("is none where the error cannot be looked at", () => {
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error("no");
        },
      },
    );
    expect(retryAfterOf(hostile, NOW)).toBeUndefined();
    expect(askedWait(hostile, NOW)).toBe(0);
  });

  it("is an hour at most", () => {
    expect(askedWait(dated("86400"), NOW)).toBe(3_600_000);
  });
});

it("a date of HTTP is read as the platform reads it", () => {
  const most = Date.UTC(9999, 11, 31);
  fc.assert(
    fc.property(fc.integer({ min: Date.UTC(1600, 0, 1) / 1_000, max: most / 1_000 }), (seconds) => {
      const date = new Date(seconds * 1_000);
      expect(httpDate(date.toUTCString())).toBe(date.getTime());
    }),
  );
});

// Which requests the observer takes. Hostile ones are those that a browser sends for a foreign page, and those of strangers.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type GuardedRequest,
  type GuardRules,
  isLoopback,
  refusalOf,
} from "../../../lib/observer/server/guard.js";

const TOKEN = "a-token-of-some-length";
const RULES: GuardRules = { token: TOKEN, hosts: [], addresses: false, bodyBytes: 1_000 };
const ASK: GuardedRequest = {
  method: "POST",
  isApi: true,
  host: "localhost:4000",
  origin: "http://localhost:4000",
  fetchSite: "same-origin",
  authorization: `Bearer ${TOKEN}`,
  contentType: "application/json",
  contentLength: "10",
};
const status = (change: Partial<GuardedRequest>, rules: Partial<GuardRules> = {}): number | undefined =>
  refusalOf({ ...ASK, ...change }, { ...RULES, ...rules })?.status;
const page = (change: Partial<GuardedRequest>, rules?: Partial<GuardRules>): number | undefined =>
  status({ method: "GET", isApi: false, origin: undefined, authorization: undefined, ...change }, rules);

describe("a request to the observer", () => {
  it("is taken with the token, from its own page or from no page [N1566]", () => {
    expect(status({})).toBeUndefined();
    expect(status({ origin: undefined, fetchSite: undefined, contentLength: undefined })).toBeUndefined();
    expect(status({ contentType: "application/json; charset=utf-8" })).toBeUndefined();
  });

  it.each([
    ...[
      "evil.example",
      "evil.example:4000",
      "localhost.evil.example",
      "127.0.0.1.evil.example",
      "localhost.",
    ],
    ...[
      "127.0.0.1@evil.example",
      "10.0.0.5",
      "0.0.0.0",
      "[fe80::1]",
      "",
      "localhost:4000:1",
      "a b",
      "xlocalhost",
    ],
  ])("is refused for the host %j, with and without the token [N1564]", (host) => {
    expect(status({ host })).toBe(403);
    expect(page({ host })).toBe(403);
  });

  it("is refused without a host [N1564]", () => {
    expect(status({ host: undefined })).toBe(403);
  });

  it.each(["localhost", "LOCALHOST:80", "127.0.0.1:4000", "127.1.2.3", "[::1]:4000", "[::1]"])(
    "is taken for the host %j of the loopback [N1564]",
    (host) => {
      expect(page({ host })).toBeUndefined();
    },
  );

  it("is taken for hosts that are listed, with their port where one is given [N1564]", () => {
    const hosts = ["ops.shop.example", "other.example:8443", "fd00::5"];
    expect(page({ host: "Ops.Shop.example:4000" }, { hosts })).toBeUndefined();
    expect(page({ host: "other.example:8443" }, { hosts })).toBeUndefined();
    expect(page({ host: "other.example" }, { hosts })).toBe(403);
    expect(page({ host: "[fd00::5]:4000" }, { hosts })).toBeUndefined();
    expect(page({ host: "x.ops.shop.example" }, { hosts })).toBe(403);
  });

  it("is taken for any address, but for no name, where the observer listens beyond the loopback [N1564]", () => {
    expect(page({ host: "10.0.0.5:4000" }, { addresses: true })).toBeUndefined();
    expect(page({ host: "[fe80::1]" }, { addresses: true })).toBeUndefined();
    expect(page({ host: "evil.example" }, { addresses: true })).toBe(403);
    expect(page({ host: "10.0.0.5.example" }, { addresses: true })).toBe(403);
  });

  it.each([
    ...["http://evil.example", "null", "http://localhost:3000", "http://localhost:4000.evil.example"],
    ...["http://evil.example@localhost:4000", "file://localhost:4000", "http://127.0.0.1:4000"],
  ])("is refused for the origin %j [N1565]", (origin) => {
    expect(status({ origin })).toBe(403);
    expect(status({ origin, fetchSite: undefined })).toBe(403);
  });

  it.each(["cross-site", "same-site", "none", "", "else"])(
    "is refused for Sec-Fetch-Site %j [N1565]",
    (fetchSite) => {
      expect(status({ fetchSite })).toBe(403);
      expect(status({ fetchSite, origin: undefined })).toBe(403);
    },
  );

  it("is taken for the origin of a proxy whose host is listed [N1565]", () => {
    const origin = "https://ops.shop.example";
    expect(status({ origin })).toBe(403);
    expect(status({ origin }, { hosts: ["ops.shop.example"] })).toBeUndefined();
  });

  it.each([
    ...[
      undefined,
      "",
      "Bearer",
      "Bearer ",
      `Basic ${TOKEN}`,
      TOKEN,
      `Bearer ${TOKEN}x`,
      `Bearer ${TOKEN.slice(1)}`,
    ],
    ...[`Bearer ${TOKEN} ${TOKEN}`, `Bearer ${TOKEN.toUpperCase()}`],
  ])("is refused with the authorization %j [N1566]", (authorization) => {
    expect(status({ authorization })).toBe(401);
  });

  it("is refused for any other token [N1566]", () => {
    fc.assert(
      fc.property(fc.string(), (given) => {
        fc.pre(given.trim() !== TOKEN);
        expect(status({ authorization: `Bearer ${given}` })).toBe(401);
      }),
    );
  });

  it.each([
    undefined,
    "",
    "text/plain",
    "application/x-www-form-urlencoded",
    "text/plain;application/json",
    "application/jsonx",
  ])("is refused with the content type %j [N1567]", (contentType) => {
    expect(status({ contentType })).toBe(415);
  });

  it("is refused when its body is too long, and when its length is no number [N1567]", () => {
    expect(status({ contentLength: "1000" })).toBeUndefined();
    expect(status({ contentLength: "1001" })).toBe(413);
    expect(status({ contentLength: "1e1" })).toBe(400);
    expect(status({ contentLength: "-1" })).toBe(400);
  });

  it.each(["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"])(
    "to the operations is refused with the method %s [N1567]",
    (method) => {
      expect(status({ method })).toBe(405);
    },
  );

  it("for the page needs no token, and only GET and HEAD [N1566]", () => {
    expect(page({})).toBeUndefined();
    expect(page({ method: "HEAD" })).toBeUndefined();
    expect(page({ method: "POST" })).toBe(405);
    // A link of a foreign page leads to it.
    expect(page({ fetchSite: "cross-site" })).toBeUndefined();
  });

  it("is first judged by its host, so that a foreign page learns nothing about tokens [N1564]", () => {
    expect(status({ host: "evil.example", authorization: undefined, method: "GET" })).toBe(403);
  });

  it("never throws, whatever its headers are [N1564]", () => {
    const header = fc.option(fc.string(), { nil: undefined });
    fc.assert(
      fc.property(
        fc.record({
          host: header,
          origin: header,
          fetchSite: header,
          authorization: header,
          contentType: header,
        }),
        (given) => {
          expect(() => refusalOf({ ...ASK, ...given }, RULES)).not.toThrow();
        },
      ),
    );
  });
});

it("the loopback is the addresses 127 and ::1, and localhost [N1568]", () => {
  expect(["localhost", "127.0.0.1", "127.9.9.9", "::1"].every(isLoopback)).toBe(true);
  expect(["0.0.0.0", "::", "10.0.0.1", "shop", "127.example"].some(isLoopback)).toBe(false);
});

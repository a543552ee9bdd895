// Which status an error gets.

import { readFileSync } from "node:fs";
import { Hono } from "hono";
import { OptionError } from "signalbox";
import { FlowFailedError, FlowIdTakenError, FlowNotFoundError } from "signalbox/flow";
import { httpStatus } from "signalbox/service";
import { StoreClosedError } from "signalbox/store";
import { describe, expect, it } from "vitest";
import { ERROR_STATUSES } from "../../../lib/service/http/status.js";

describe("the status of an error", () => {
  it.each([
    [404, new FlowNotFoundError("a")],
    [409, new FlowIdTakenError("a", "shop", "other")],
    [503, new StoreClosedError("shop")],
    [500, new FlowFailedError("a", "failed", new Error("no"))],
    [500, new OptionError("a", 1, "a text")],
    [500, new Error("no")],
    [500, { code: "constructor" }],
    [500, undefined],
  ])("%i: %s [N340]", (status, error) => {
    expect(httpStatus(error)).toBe(status);
  });

  it("is 500 where the error cannot be looked at", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(httpStatus(proxy)).toBe(500);
  });

  it("knows codes of the library alone, and each once", () => {
    const known = readFileSync(new URL("../../../docs/errors.md", import.meta.url), "utf8");
    const codes = Object.values(ERROR_STATUSES).flat();
    expect(codes.filter((code) => !known.includes(code))).toEqual([]);
    expect(new Set(codes).size).toBe(codes.length);
  });

  it("is the answer of a router in one line", async () => {
    const app = new Hono();
    app.onError((error, c) => c.json({ error: error.name }, httpStatus(error)));
    app.get("/", () => {
      throw new FlowNotFoundError("a");
    });
    expect((await app.request("/")).status).toBe(404);
  });
});

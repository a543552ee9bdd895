// The options of an observer: what it refuses to start with.

import { OptionError, System } from "signalbox";
import { observer, observerHandler } from "signalbox/observer";
import { describe, expect, it } from "vitest";

const TOKEN = "a-token-of-this-test";
const refusal = (make: () => unknown): unknown => {
  try {
    return make();
  } catch (error) {
    return error;
  }
};

describe("an observer", () => {
  it.each(["0.0.0.0", "::", "10.0.0.5", "shop.example"])(
    "that listens at %s needs a token of the user's [N1568]",
    (host) => {
      expect(refusal(() => observer({ port: 0, host }))).toBeInstanceOf(OptionError);
      expect(refusal(() => observer({ port: 0, host }))).toMatchObject({ path: "token" });
      expect(refusal(() => observer({ port: 0, host, token: TOKEN }))).not.toBeInstanceOf(Error);
    },
  );

  it.each(["127.0.0.1", "127.1.2.3", "localhost", "::1"])("that listens at %s needs none [N1568]", (host) => {
    expect(refusal(() => observer({ port: 0, host }))).not.toBeInstanceOf(Error);
  });

  it.each(["", "short", "fifteen-letters", "with spaces in the token", "with,comma,in,the,token"])(
    "takes no weak or broken token, and keeps it out of the error: %j [N1568]",
    (token) => {
      const error = refusal(() => observer({ port: 0, token }));
      expect(error).toMatchObject({ path: "token" });
      if (token !== "") expect((error as Error).message).not.toContain(token);
    },
  );

  it.each([
    ["port", { port: -1 }],
    ["port", { port: 65_536 }],
    ["port", {}],
    ["host", { port: 0, host: "" }],
    ["actions", { port: 0, actions: "yes" }],
    ["hosts", { port: 0, hosts: "ops.example.com" }],
    ["hosts", { port: 0, hosts: ["http://ops.example.com"] }],
    ["hosts", { port: 0, hosts: ["*"] }],
    ["action", { port: 0, action: true }],
  ])("refuses a wrong %s: %j", (path, options) => {
    expect(refusal(() => observer(options as never))).toMatchObject({ code: "ERR_OPTION", path });
  });

  it("as a handler refuses the same", () => {
    const system = new System({ report: false });
    expect(refusal(() => observerHandler(system, { token: "short" }))).toMatchObject({ path: "token" });
    expect(refusal(() => observerHandler({} as never))).toMatchObject({ path: "system" });
  });
});

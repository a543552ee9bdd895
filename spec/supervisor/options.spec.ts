// Options are checked when a supervisor is defined: each error says where, what was found and what is allowed.

import {
  CHILD_DEFAULTS,
  type ChildSpec,
  type DynamicSupervisorOptions,
  dynamicSupervisor,
  OptionError,
  SUPERVISION_DEFAULTS,
  type SupervisorOptions,
  supervisor,
} from "signalbox";
import { describe, expect, it } from "vitest";
import { checkChild } from "../../lib/supervisor/child.js";
import { child, worker } from "./house.js";

function refusal(define: () => unknown): OptionError {
  try {
    define();
  } catch (error) {
    expect(error).toBeInstanceOf(OptionError);
    return error as OptionError;
  }
  throw new Error("nothing was refused");
}

type Loose<T> = { readonly [K in keyof T]?: unknown };

describe("a supervisor's options", () => {
  it.each<[Loose<SupervisorOptions>, string, string]>([
    [{ strategy: "one_for_none" }, "strategy", '"one_for_one", "one_for_all", "rest_for_one"'],
    [{ intensity: -1 }, "intensity", "a whole number, 0 or more"],
    [{ intensity: 1.5 }, "intensity", "a whole number"],
    [{ intensity: Number.NaN }, "intensity", "a whole number"],
    [{ periodMs: 0 }, "periodMs", "a number of milliseconds, 1 or more"],
    [{ periodMs: "5s" }, "periodMs", "a number of milliseconds"],
    [{ autoShutdown: "always" }, "autoShutdown", '"never", "any_significant", "all_significant"'],
    [{ backoff: 100 }, "backoff", "a backoff { minMs, maxMs"],
    [{ backoff: { minMs: 100, maxMs: 50 } }, "backoff.maxMs", "100 or more"],
    [{ label: "" }, "label", "a text that is not empty"],
    [{ name: "" }, "name", "a text that is not empty"],
    [{ onStart: "log" }, "onStart", "a function"],
    [{ children: "a" }, "children", "an array of child specs"],
    [{ children: [child("a"), child("a")] }, "children[1].id", "different from the ids"],
    [{ children: [child("a"), null] }, "children[1]", "a child spec"],
  ])("%j are refused, with the path %s", (options, path, allowed) => {
    const error = refusal(() => supervisor(options as SupervisorOptions));
    expect(error.path).toBe(path);
    expect(error.message).toContain(allowed);
  });

  it("have OTP's defaults", () => {
    expect(SUPERVISION_DEFAULTS).toEqual({ intensity: 1, periodMs: 5_000 });
    expect(CHILD_DEFAULTS).toEqual({
      restart: "permanent",
      shutdown: { worker: 5_000, supervisor: Number.POSITIVE_INFINITY },
      significant: false,
      startTimeoutMs: Number.POSITIVE_INFINITY,
    });
  });
});

describe("a child spec", () => {
  it.each<[Loose<ChildSpec>, string]>([
    [{ id: "" }, "children[0].id"],
    [{ id: 7 }, "children[0].id"],
    [{ start: undefined }, "children[0](a).start"],
    [{ start: { init: () => undefined } }, "children[0](a).start"],
    [{ start: "worker" }, "children[0](a).start"],
    [{ args: "abc" }, "children[0](a).args"],
    [{ restart: "always" }, "children[0](a).restart"],
    [{ shutdown: -1 }, "children[0](a).shutdown"],
    [{ shutdown: "kill" }, "children[0](a).shutdown"],
    [{ type: "server" }, "children[0](a).type"],
    [{ startTimeoutMs: -1 }, "children[0](a).startTimeoutMs"],
    [{ name: "" }, "children[0](a).name"],
  ])("with %j is refused, with the path %s", (more, path) => {
    const children = [{ ...child("a"), ...more } as ChildSpec];
    expect(refusal(() => supervisor({ children })).path).toBe(path);
  });

  it("may be significant only when the child can end by itself and auto-shutdown is on", () => {
    const define = (restart: "permanent" | "transient", autoShutdown: "never" | "any_significant"): unknown =>
      supervisor({ autoShutdown, children: [child("a", { restart, significant: true })] });
    expect(refusal(() => define("permanent", "any_significant")).message).toContain("permanent child");
    expect(refusal(() => define("transient", "never")).message).toContain("autoShutdown `never`");
    expect(() => define("transient", "any_significant")).not.toThrow();
  });

  it("of a supervisor has the type supervisor and unlimited time to stop", () => {
    const branch = checkChild("child", { id: "b", start: supervisor({}) }, "never");
    expect(branch).toMatchObject({ type: "supervisor", shutdown: Number.POSITIVE_INFINITY });
    const leaf = checkChild("child", { id: "l", start: worker }, "never");
    expect(leaf).toMatchObject({ type: "worker", shutdown: 5_000 });
    const odd = checkChild("child", { id: "l", start: worker, type: "supervisor" }, "never");
    expect(odd.shutdown).toBe(Number.POSITIVE_INFINITY);
  });
});

describe("a dynamic supervisor's options", () => {
  it.each<[Loose<DynamicSupervisorOptions>, string]>([
    [{ child: undefined }, "child"],
    [{ child: { id: "a" } }, "child(a).start"],
    [{ child: child("a", { restart: "transient", significant: true }) }, "child(a).significant"],
    [{ maxChildren: 0 }, "maxChildren"],
    [{ maxChildren: 1.5 }, "maxChildren"],
    [{ intensity: -1 }, "intensity"],
    [{ periodMs: 0 }, "periodMs"],
    [{ backoff: { minMs: 1 } }, "backoff.maxMs"],
    [{ label: "" }, "label"],
    [{ name: "" }, "name"],
  ])("%j are refused, with the path %s", (more, path) => {
    const options = { child: child("a"), ...more } as DynamicSupervisorOptions;
    expect(refusal(() => dynamicSupervisor(options)).path).toBe(path);
  });
});

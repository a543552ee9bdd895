// Options of a topology and its components: their defaults, and whose word counts.

import { OptionError } from "signalbox";
import {
  type ComponentConfig,
  spout,
  TOPOLOGY_DEFAULTS,
  type TopologyConfig,
  topology,
} from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { checkConfig, checkTopologyConfig, fullConfig } from "../../../lib/topology/definition/config.js";
import { N } from "../support.js";

const define = (config?: ComponentConfig): ReturnType<typeof spout<{ numbers: N }>> =>
  spout({ streams: { numbers: N }, next: () => undefined, ...(config !== undefined && { config }) });

describe("an option", () => {
  it("has a default, all of them in one table", () => {
    expect(topology("plain").spout("source", define()).build().blueprint.config).toEqual({
      ...TOPOLOGY_DEFAULTS,
      drainMs: TOPOLOGY_DEFAULTS.messageTimeoutMs,
    });
    expect(TOPOLOGY_DEFAULTS).toMatchObject({
      maxPending: 128,
      messageTimeoutMs: 30_000,
      receiveBuffer: 256,
      spoutWaitMs: 100,
      retries: 3,
      ackers: 4,
      ackerExecutors: 2,
      restarts: 5,
      debug: false,
    });
  });

  it("of the place comes before the component's own, and that before the topology's", () => {
    const configOf = (place: ComponentConfig, own: ComponentConfig, whole: TopologyConfig): unknown => {
      const built = topology("order", whole).spout("source", define(own), place).build();
      return built.blueprint.components[0]?.config.maxPending;
    };
    expect(configOf({ maxPending: 1 }, { maxPending: 2 }, { maxPending: 3 })).toBe(1);
    expect(configOf({}, { maxPending: 2 }, { maxPending: 3 })).toBe(2);
    expect(configOf({}, {}, { maxPending: 3 })).toBe(3);
    expect(configOf({}, {}, {})).toBe(128);
  });

  it("that is undefined is as if it were not there", () => {
    expect(checkConfig("config", { maxPending: undefined })).toEqual({});
  });

  it("`drainMs` is the message timeout, unless given", () => {
    expect(fullConfig({ messageTimeoutMs: 7_000 }).drainMs).toBe(7_000);
    expect(fullConfig({ messageTimeoutMs: 7_000, drainMs: 0 }).drainMs).toBe(0);
  });
});

describe("a wrong option", () => {
  const wrong: readonly [string, unknown][] = [
    ["maxPending", 0],
    ["maxPending", 1.5],
    ["spoutWaitMs", -1],
    ["retries", -1],
    ["retryBackoff", { minMs: 5, maxMs: 1 }],
    ["receiveBuffer", 0],
    ["tickMs", 0],
    ["intensity", -1],
    ["periodMs", 0],
    ["restartBackoff", 100],
    ["sampleRate", 1.1],
    ["sampleRate", Number.NaN],
    ["debug", "yes"],
    ["messageTimeoutMs", 0],
    ["ackers", 0],
    ["ackerExecutors", 0],
    ["ackerCapacity", 0],
    ["drainMs", -1],
    ["restarts", -1],
    ["restartsBackoff", {}],
  ];

  it.each(wrong)("is refused with its path: %s = %j", (name, value) => {
    const check = (): unknown => checkTopologyConfig("topology(config)", { [name]: value });
    expect(check).toThrow(OptionError);
    expect(check).toThrow(`topology(config).${name}`);
  });

  it("is refused when it is unknown, with the one that was meant", () => {
    expect(() => topology("wrong", { maxpending: 1 } as TopologyConfig)).toThrow(
      "topology(config).maxpending must be absent: did you mean maxPending?",
    );
    expect(() => topology("wrong", { messageTimeout: 1 } as TopologyConfig)).toThrow(
      "messageTimeout must be absent: did you mean messageTimeoutMs?",
    );
    expect(() => topology("wrong", null as never)).toThrow(OptionError);
  });

  it("is refused at a component when it is of the whole", () => {
    expect(() => define({ messageTimeoutMs: 1 } as ComponentConfig)).toThrow(OptionError);
  });

  it("may be without end, where that makes sense", () => {
    const endless = Number.POSITIVE_INFINITY;
    expect(
      checkTopologyConfig("config", {
        retries: endless,
        restarts: endless,
        intensity: endless,
        drainMs: endless,
      }),
    ).toBeDefined();
    expect(() => checkTopologyConfig("config", { maxPending: endless })).toThrow(OptionError);
  });
});

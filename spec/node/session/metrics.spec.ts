// What the metrics of a node say of its sessions with others.

import { defineServer, type Pid, System } from "signalbox";
import { prometheus, telemetry } from "signalbox/service";
import { testClock } from "signalbox/testing";
import { afterEach, describe, expect, test } from "vitest";
import { SESSION_DEFAULTS } from "../../../lib/node/session/limits.js";
import { Sessions } from "../../../lib/node/session/sessions.js";
import { parseExposition } from "../../service/telemetry/exposition.js";
import { FrameNetwork } from "./frame-network.js";

const running: { readonly clock: ReturnType<typeof testClock>; readonly system: System }[] = [];

afterEach(async () => {
  for (const { clock, system } of running.splice(0)) await clock.until(system.stop());
});

function systemOf(clock: ReturnType<typeof testClock>, name: string): System {
  const system = new System({ name, environment: clock.environment, report: false });
  running.push({ clock, system });
  return system;
}

/** The samples of the metrics of nodes, as `name{labels} value`. */
function samples(page: string): string[] {
  return [...parseExposition(page)]
    .filter(([name]) => name.startsWith("signalbox_node_"))
    .flatMap(([name, { samples: all }]) =>
      all.map(({ labels: { system: _, ...labels }, value }) =>
        [name.replace("signalbox_node_", ""), ...Object.values(labels), value].join(" "),
      ),
    );
}

describe("metrics of sessions", () => {
  test("count states, ends by reason and dead letters, and read queues, credit and round trips [N1315]", async () => {
    const clock = testClock();
    const network = new FrameNetwork();
    const [a, b, c] = ["a", "b", "c"].map((name) => systemOf(clock, name)) as [System, System, System];
    const page = prometheus(a, { runtime: false });
    expect(samples(page.text())).toEqual([]);
    for (const system of [a, b, c]) new Sessions(system, network.carrier(system.node));
    network.meet();
    await clock.advance(2_000);
    const calm = samples(page.text());
    expect(calm).toEqual(
      expect.arrayContaining(["sessions up 2", "sessions suspect 0", "sessions absent 0", "queued 0"]),
    );
    expect(calm).toContain(`credit ${SESSION_DEFAULTS.windowFrames}`);
    expect(calm).toContainEqual(expect.stringMatching(/^round_trip_seconds \d/));
    expect(calm).toContain("queued_size_bytes 0");
    expect(calm.filter((line) => /^(session_ends|dead_letters)/.test(line))).toEqual([]);

    const far = a.pidAt(b.address(b.spawn({ handle: () => undefined })));
    network.cut(a.node, b.node);
    a.send(far, "one");
    a.send(far, "two");
    expect(samples(page.text())).toContain("queued 2");
    await clock.advance(100);
    const held = samples(page.text());
    expect(held).toContain("queued 0");
    expect(held).toContain(`credit ${SESSION_DEFAULTS.windowFrames - 1}`);
    await clock.advance(SESSION_DEFAULTS.limitMs);
    const cut = samples(page.text());
    expect(cut).toContain("sessions up 1");
    expect(cut).toContainEqual(expect.stringMatching(/^session_ends_total (timeout|stalled) here 1$/));
    expect(cut).toContain("dead_letters_total noconnection 2");

    network.heal();
    await clock.advance(10_000);
    expect(samples(page.text())).toContain("sessions up 2");
    network.receiver(a.node).unreachable(c.node);
    await clock.settle();
    expect(samples(page.text())).toContain("session_ends_total unreachable here 1");
    await clock.until(b.stop());
    await clock.settle();
    expect(samples(page.text())).toContain("session_ends_total left there 1");
  });

  test("have no label with a name of another node [N1315]", async () => {
    const clock = testClock();
    const network = new FrameNetwork();
    const a = systemOf(clock, "a");
    const page = prometheus(a, { runtime: false });
    new Sessions(a, network.carrier(a.node));
    const counts: number[] = [];
    for (let i = 0; i < 20; i++) {
      const other = systemOf(clock, `node-${i}`);
      new Sessions(other, network.carrier(other.node));
      network.meet();
      await clock.advance(1_000);
      await clock.until(other.stop());
      await clock.settle();
      counts.push(samples(page.text()).length);
      expect(page.text()).not.toContain("node-");
    }
    expect(counts.at(-1)).toBe(counts[0]);
  });
});

describe("calls from other nodes", () => {
  test("are timed where they are handled, and counted where they are made [N1320]", async () => {
    const clock = testClock();
    const network = new FrameNetwork();
    const [a, b] = ["a", "b"].map((name) => systemOf(clock, name)) as [System, System];
    const pages = [a, b].map((system) => prometheus(system, { runtime: false, timeOneIn: 2 }));
    for (const system of [a, b]) new Sessions(system, network.carrier(system.node));
    network.meet();
    await clock.settle();
    const Desk = defineServer({ label: "desk", init: () => undefined, calls: { ask: () => 1 } });
    const { pid } = await clock.until(b.start(Desk));
    const desk = Desk.at(a, a.pidAt(b.address(pid)) as Pid<never>);
    for (let i = 0; i < 4; i++) await clock.until(desk.call.ask());
    const [here = "", there = ""] = pages.map((page) => page.text());
    expect(there).toContain('signalbox_message_duration_seconds_count{system="b",label="desk"} 2');
    expect(there).toContain('signalbox_mailbox_wait_seconds_count{system="b",label="desk"} 2');
    expect(there).not.toContain("signalbox_calls_total{");
    expect(here).toContain(
      'signalbox_calls_total{system="a",label="process",method="ask",outcome="replied"} 4',
    );
  });
});

describe("events", () => {
  test("name their node: those of telemetry the one of their system, those of sessions the other one [N1316]", async () => {
    const clock = testClock();
    const network = new FrameNetwork();
    const [a, b] = ["a", "b"].map((name) => systemOf(clock, name)) as [System, System];
    const told: unknown[] = [];
    const seen: string[] = [];
    for (const system of [a, b]) {
      for (const event of ["nodeUp", "nodeDown"] as const)
        system.events.on(event, ({ node }) => void told.push([event, system.name, node.name, node.id]));
      const stream = telemetry(system);
      stream.subscribe("call:end", ({ node, to }) => void seen.push(`call ${node} ${to}`));
      stream.subscribe("message:end", ({ node, process }) => void seen.push(`message ${node} ${process}`));
      new Sessions(system, network.carrier(system.node));
    }
    network.meet();
    await clock.settle();
    const pid = b.spawn<{ replyTo: never }>({ handle: (ctx, { replyTo }) => ctx.reply(replyTo, 1 as never) });
    const far = a.pidAt(b.address(pid));
    await clock.until(a.call(far, (replyTo) => ({ replyTo })));
    await clock.until(b.stop());
    await clock.settle();
    expect(seen).toEqual([`message ${b.node.id} <b.${pid.id}>`, `call ${a.node.id} <b.${pid.id}>`]);
    expect(told).toEqual(
      expect.arrayContaining([
        ["nodeUp", "a", "b", b.node.id],
        ["nodeUp", "b", "a", a.node.id],
        ["nodeDown", "a", "b", b.node.id],
      ]),
    );
  });
});

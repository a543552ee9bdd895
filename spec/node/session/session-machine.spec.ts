// Single transitions of the session machine.

import { describe, expect, test } from "vitest";
import type { Frame } from "../../../lib/node/session/frame-text.js";
import {
  decide,
  initial,
  type Session,
  type SessionConfig,
  type SessionEffect,
  type SessionEvent,
} from "../../../lib/node/session/session-machine.js";
import { CONFIG, LIMIT_MS } from "./session-model.js";

/** One end, whose other end is the test. */
class End {
  state: Session;

  constructor(config: Partial<SessionConfig> = {}, random = 0) {
    this.state = initial({ ...CONFIG, ...config }, 0, random);
  }

  do(event: SessionEvent): readonly SessionEffect[] {
    const [state, effects] = decide(this.state, event);
    this.state = state;
    return effects;
  }

  frame(frame: Frame, now = 0): readonly SessionEffect[] {
    return this.do({ type: "frame", now, frame });
  }

  send(text: string, isRefusable = true): readonly SessionEffect[] {
    return this.do({ type: "send", now: 0, text: { text, lane: 0, isRefusable, signal: text } });
  }

  hello(from: number, to: number, now = 0): readonly SessionEffect[] {
    const { versions, capabilities } = CONFIG;
    const credit = { frames: 6, size: 400 };
    return this.frame({ type: "hello", from, to, versions, credit, capabilities }, now);
  }

  /** Comes up with these counters. */
  up(mine: number, theirs: number, now = 0): this {
    while (this.state.counter < mine - 1) this.state.counter++;
    this.hello(theirs, 0, now);
    this.hello(theirs, mine, now);
    expect(this.state.phase).toMatchObject({ type: "up", mine, theirs });
    return this;
  }
}

function typesOf(effects: readonly SessionEffect[]): string[] {
  return effects.map((one) => (one.type === "transmit" ? one.frame.type : one.type));
}

const receipt = { ack: 0, credit: { frames: 6, size: 400 } };

describe("an end of a session", () => {
  test("11: a late bye, notice, hello or frame of an older epoch does not touch the new one [N1005]", () => {
    const end = new End().up(4, 7);
    const late: Frame[] = [
      { type: "bye", from: 6, to: 3, reason: "gap" },
      { type: "bye", from: 7, to: 3, reason: "left" },
      { type: "bye", from: 6, to: 4, reason: "timeout" },
      { type: "data", from: 6, to: 3, seq: 9, ...receipt, count: 1, body: "[1]" },
      { type: "beat", from: 6, to: 4, ...receipt, asks: true, at: 1, echo: 0, held: 0 },
    ];
    for (const frame of late) expect(end.frame(frame)).toEqual([]);
    expect(end.hello(6, 3)).toEqual([]);
    expect(end.hello(7, 3)).toEqual([]);
    expect(end.do({ type: "unreachable", now: 0, ends: { from: 3, to: 6 } })).toEqual([]);
    expect(end.do({ type: "unreachable", now: 0, ends: { from: 4, to: 0 } })).toEqual([]);
    expect(end.state.phase).toMatchObject({ type: "up", mine: 4, theirs: 7 });
    expect(typesOf(end.do({ type: "unreachable", now: 0, ends: { from: 4, to: 7 } }))).toEqual(["down"]);
  });

  test("9: heartbeats are spread over half an interval at random, so that many do not meet [N1006]", () => {
    const times = new Set<number>();
    for (let i = 0; i < 100; i++) {
      const end = new End({}, i / 100).up(1, 1);
      const { phase } = end.state;
      if (phase.type === "up") times.add(phase.beatAt);
    }
    expect(times.size).toBe(100);
    expect(Math.min(...times)).toBe(CONFIG.heartbeatMs / 2);
    expect(Math.max(...times)).toBeLessThan(CONFIG.heartbeatMs);
  });

  test("refuses a message beyond the bounds; a signal that may not be lost alone has twice the room, then the epoch ends [N1007]", () => {
    const end = new End({ batchSignals: 1_000, windowFrames: 1 }).up(1, 1);
    for (let i = 0; i < CONFIG.queueSignals; i++) expect(typesOf(end.send("1"))).not.toContain("refuse");
    expect(typesOf(end.send("1"))).toEqual(["refuse"]);
    for (let i = 0; i < CONFIG.queueSignals; i++) expect(end.send("1", false)).toEqual([]);
    expect(typesOf(end.send("1", false))).toEqual(["bye", "down", "refuse"]);
    expect(end.state.counts).toMatchObject({ lost: 2 * CONFIG.queueSignals, refused: 2 });
    expect(end.state.outbox.isEmpty).toBe(true);
  });

  test("takes an acknowledgement of what was never sent, and more parts than a text may have, as unreadable [N1008]", () => {
    const beat = { type: "beat", from: 1, to: 1, asks: false, at: 1, echo: 0, held: 0 } as const;
    expect(typesOf(new End().up(1, 1).frame({ ...beat, ...receipt, ack: 1 }))).toEqual(["bye", "down"]);
    const end = new End({ textSize: 100 }).up(1, 1);
    const part = { type: "part", from: 1, to: 1, ...receipt, isLast: false, body: "x".repeat(60) } as const;
    end.frame({ ...part, seq: 1 });
    expect(typesOf(end.frame({ ...part, seq: 2 }))).toContain("down");
  });

  test("tries again less and less often, and gives up until the node is seen or something is sent [N1009]", () => {
    const end = new End();
    end.do({ type: "seen", now: 0 });
    const hellos: number[] = [];
    let now = 0;
    for (let i = 0; i < 1_000 && Number.isFinite(end.state.armedAt); i++) {
      now = end.state.armedAt;
      if (typesOf(end.do({ type: "tick", now, random: 0.5 })).includes("hello")) hellos.push(now);
    }
    expect(end.state.phase).toMatchObject({ type: "absent", retryAt: Number.POSITIVE_INFINITY });
    expect(hellos.length).toBeLessThan(100);
    expect(now).toBeGreaterThan(20 * LIMIT_MS);
    expect(typesOf(end.do({ type: "seen", now }))).toContain("hello");
  });

  test("that slept ends its epoch once, also if the next one begins before the tick that is late [N1391]", () => {
    const end = new End().up(1, 1);
    const now = end.state.armedAt + LIMIT_MS;
    expect(typesOf(end.hello(2, 0, now))).toEqual(expect.arrayContaining(["bye", "down", "hello"]));
    const { phase } = end.state;
    end.hello(2, phase.type === "hello" ? phase.mine : -1, now);
    expect(end.state.phase).toMatchObject({ type: "up", theirs: 2 });
    expect(typesOf(end.do({ type: "tick", now, random: 0 }))).not.toContain("down");
    expect(end.state.counts.ends).toBe(1);
  });

  test("that slept refuses the signal by which it notices, as that belongs to the epoch that ends [N1391]", () => {
    const end = new End().up(1, 1);
    const now = end.state.armedAt + LIMIT_MS;
    const text = { text: "link", lane: 0, isRefusable: false, signal: "link" };
    expect(typesOf(end.do({ type: "send", now, text }))).toEqual(["bye", "down", "refuse", "arm"]);
    expect(end.state.outbox.isEmpty).toBe(true);
    expect(end.state.counts).toMatchObject({ ends: 1, refused: 1 });
  });
});

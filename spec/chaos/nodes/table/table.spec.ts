// The table of docs/guide/nodes.md, cell by cell: two processes over a real server of NATS, with their leases in a real PostgreSQL. A
// describe is a row, and a test is a cell: the title is the thing, and what becomes of it. spec/docs/nodes-table.spec.ts compares them.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ChildProgram, childProgram } from "../../../support/child-program.js";
import { describeNats, type NatsServer, startNats } from "../../../support/nats.js";
import { describePostgres, type PostgresServer, startPostgres } from "../../../support/postgres.js";
import { proving } from "../../../support/proof.js";
import {
  cut,
  healed,
  killed,
  LARGE,
  restarted,
  SENT,
  type Sight,
  serverRestarted,
  slowed,
  stopped,
  suspended,
} from "./faults.js";
import { Pair, type PairOptions } from "./pair.js";
import type { View } from "./words.js";

describe.runIf(proving)("two real processes", () => {
  describePostgres("what happens to each thing", () => {
    describeNats("of two nodes", () => {
      let program: ChildProgram;
      let nats: NatsServer;
      let postgres: PostgresServer;
      let places = 0;
      beforeAll(async () => {
        program = await childProgram(new URL("witness.ts", import.meta.url));
        [nats, postgres] = await Promise.all([startNats(), startPostgres()]);
      });
      afterAll(async () => {
        program.remove();
        await Promise.all([nats.stop(), postgres.stop()]);
      });

      /** Strikes a pair for each fault before the tests of a row. They see what came of it. */
      const sightsOf = (
        faults: () => readonly ((pair: Pair) => Promise<Sight>)[],
        options: Partial<PairOptions> = {},
      ): readonly Sight[] => {
        const sights: Sight[] = [];
        beforeAll(async () => {
          for (const fault of faults()) {
            const given = { program: program.args, nats, postgres, place: `row_${++places}`, ...options };
            await using pair = await Pair.begin(given);
            sights.push(await fault(pair));
          }
        });
        return sights;
      };

      describe("`kill -9`", () => {
        const sights = sightsOf(() => [killed]);

        it("links and monitors: one noconnection each, at the next frame", () => {
          for (const { near } of sights) {
            expect(near.signals.toSorted()).toEqual(ONCE);
            expect(near.downs).toEqual(["unreachable here"]);
          }
        });
        it("calls: fail with noconnection", () => {
          for (const { near } of sights) expect(near.calls).toEqual(LOST);
        });
        it("messages: dead letters", () => {
          for (const { near } of sights) expect(near.dead).toEqual([...numbers("at"), ...numbers("noticed")]);
        });
        it("dispatches: re-routed", () => {
          for (const { near } of sights) expect(near.ends).toEqual([REROUTED]);
        });
        it("groups: its consumers leave", () => {
          for (const { near } of sights) expect(near.group).toEqual(["near"]);
        });
        it("names: found no more", () => {
          for (const { found } of sights) expect(found.during).toBeUndefined();
        });
        it("singletons: start elsewhere when the lease is over", () => {
          for (const { near, token } of sights)
            expect([later(near, token), near.isHeld]).toEqual([true, true]);
        });
      });

      describe("a stop in order", () => {
        const sights = sightsOf(() => [stopped]);

        it("links and monitors: one shutdown each, as its processes end", () => {
          for (const { near } of sights) {
            expect(near.signals.toSorted()).toEqual(["down shutdown", "exit shutdown"]);
            expect(near.downs).toEqual(["left there"]);
          }
        });
        it("calls: fail with shutdown", () => {
          for (const { near } of sights) expect(near.calls).toEqual(["ERR_CALLEE_EXITED shutdown"]);
        });
        it("messages: dead letters", () => {
          for (const { near } of sights) expect(near.dead).toEqual([...numbers("at"), ...numbers("noticed")]);
        });
        it("dispatches: re-routed", () => {
          for (const { near } of sights) expect(near.ends).toEqual([REROUTED]);
        });
        it("groups: its consumers leave", () => {
          for (const { near } of sights) expect(near.group).toEqual(["near"]);
        });
        it("names: found no more", () => {
          for (const { found } of sights) expect(found.during).toBeUndefined();
        });
        it("singletons: end first, then start elsewhere at once", () => {
          for (const { near, token } of sights) expect(later(near, token)).toBe(true);
        });
      });

      describe("cut, one way", () => {
        const sights = sightsOf(() => [cut("sent"), cut("received")]);

        it("links and monitors: one noconnection at each end", () => {
          for (const { near, far } of sights)
            for (const one of [near, far as View]) expect(one.signals.toSorted()).toEqual(ONCE);
        });
        it("calls: fail with noconnection at both", () => {
          for (const { near, far } of sights)
            for (const one of [near, far as View]) expect(one.calls).toEqual(LOST);
        });
        it("messages: dead letters at their sender, though some arrive", () => {
          for (const { near, far } of sights) {
            expect(near.dead).toEqual([...numbers("at"), ...numbers("noticed")]);
            expect((far as View).dead).toEqual(numbers("at"));
          }
          // Those that go with the open direction.
          const [sent, received] = sights as [Sight, Sight];
          expect(numbers("at").every((n) => sent.far?.got.includes(n))).toBe(true);
          expect(numbers("at").every((n) => received.near.got.includes(n))).toBe(true);
        });
        it("dispatches: re-routed at both, so one may run twice", () => {
          for (const { near, far } of sights) {
            expect(near.ends).toEqual([REROUTED]);
            expect(far?.ends).toEqual([{ reply: "far", deliveredTo: "far", reroutedFrom: ["near"] }]);
            // The consumer at the other end has it still.
            expect([near.held, far?.held]).toEqual([["near"], ["far"]]);
          }
        });
        it("groups: each side keeps its own consumers", () => {
          for (const { near, far } of sights) expect([near.group, far?.group]).toEqual([["near"], ["far"]]);
        });
        it("names: found on the own side only", () => {
          for (const { found } of sights) expect(found.during).toBeUndefined();
        });
        it("singletons: end on the side without the store, then start on the other", () => {
          for (const { near, far, token } of sights)
            expect([far?.lost, later(near, token)]).toEqual([[token], true]);
        });
      });

      describe("cut, both ways", () => {
        const sights = sightsOf(() => [cut("both")]);

        it("links and monitors: one noconnection at each end", () => {
          for (const { near, far } of sights)
            for (const one of [near, far as View]) expect(one.signals.toSorted()).toEqual(ONCE);
        });
        it("calls: fail with noconnection at both", () => {
          for (const { near, far } of sights)
            for (const one of [near, far as View]) expect(one.calls).toEqual(LOST);
        });
        it("messages: dead letters at their sender", () => {
          for (const { near, far } of sights) {
            expect(near.dead).toEqual([...numbers("at"), ...numbers("noticed")]);
            expect(far?.dead).toEqual(numbers("at"));
            expect([near.got, far?.got]).toEqual([[], numbers("before")]);
          }
        });
        it("dispatches: re-routed at both, so one may run twice", () => {
          for (const { near, far } of sights) {
            expect(near.ends).toEqual([REROUTED]);
            expect(far?.ends).toEqual([{ reply: "far", deliveredTo: "far", reroutedFrom: ["near"] }]);
            expect([near.held, far?.held]).toEqual([["near"], ["far"]]);
          }
        });
        it("groups: each side keeps its own consumers", () => {
          for (const { near, far } of sights) expect([near.group, far?.group]).toEqual([["near"], ["far"]]);
        });
        it("names: found on the own side only", () => {
          for (const { found } of sights) expect(found.during).toBeUndefined();
        });
        it("singletons: end on the side without the store, then start on the other", () => {
          for (const { near, far, token } of sights)
            expect([far?.lost, later(near, token)]).toEqual([[token], true]);
        });
      });

      describe("the cut heals", () => {
        const sights = sightsOf(() => [healed]);

        it("links and monitors: stay ended; new ones are made", () => {
          for (const { near, far } of sights)
            for (const one of [near, far as View]) {
              expect(one.signals.toSorted()).toEqual(ONCE);
              expect(one.links).toBe(1);
            }
        });
        it("calls: stay failed; new ones are answered", () => {
          for (const { near, far, answer, found } of sights) {
            expect([near.calls, far?.calls]).toEqual([LOST, LOST]);
            expect(answer).toBe(`far ${found.before}`);
          }
        });
        it("messages: only new ones arrive", () => {
          for (const { far } of sights) expect(far?.got).toEqual([...numbers("before"), ...numbers("after")]);
        });
        it("dispatches: go to both sides again", () => {
          for (const { near } of sights) expect(near.ends).toEqual([REROUTED, AT_FAR]);
        });
        it("groups: have the consumers of both again", () => {
          for (const { near, far } of sights)
            expect([near.group, far?.group]).toEqual([
              ["far", "near"],
              ["far", "near"],
            ]);
        });
        it("names: found again, the same processes", () => {
          for (const { found } of sights) expect(found.after).toBe(found.before);
        });
        it("singletons: stay where they are; the old one cannot write", () => {
          for (const { near, far, token, write } of sights) {
            expect([later(near, token), near.isHeld, far?.tokens, far?.isHeld]).toEqual([
              ...[true, true],
              ...[[token], false],
            ]);
            expect(write).toBe("ERR_STORE_FENCED");
          }
        });
      });

      describe("killed, started again", () => {
        const sights = sightsOf(() => [restarted]);

        it("links and monitors: to a new process, if you make them", () => {
          for (const { near, far } of sights) {
            expect(near.signals.toSorted()).toEqual(ONCE);
            expect([near.links, far?.links]).toEqual([1, 1]);
          }
        });
        it("calls: to an old pid fail; the new process answers", () => {
          for (const { near, answer, found } of sights) {
            expect(near.calls).toEqual(LOST);
            expect(answer).toBe(`far ${found.after}`);
          }
        });
        it("messages: to an old pid are dead letters", () => {
          for (const { near, far } of sights) {
            expect(near.dead.slice(-10)).toEqual(Array.from({ length: 10 }, (_, i) => 40 + i));
            expect(far?.got).toEqual(numbers("after"));
          }
        });
        it("dispatches: go to its new consumers", () => {
          for (const { near } of sights) expect(near.ends).toEqual([REROUTED, AT_FAR]);
        });
        it("groups: its new consumers join", () => {
          for (const { near, far } of sights)
            expect([near.group, far?.group]).toEqual([
              ["far", "near"],
              ["far", "near"],
            ]);
        });
        it("names: lead to the new process", () => {
          for (const { found } of sights) {
            expect(found.after).toBeDefined();
            expect(found.after).not.toBe(found.before);
          }
        });
        it("singletons: stay where they are; it contends", () => {
          for (const { near, far, token } of sights)
            expect([later(near, token), near.isHeld, far?.tokens]).toEqual([true, true, []]);
        });
      });

      describe("`SIGSTOP`, `SIGCONT`", () => {
        const sights = sightsOf(() => [suspended]);

        it("links and monitors: one noconnection at each end, there when it goes on", () => {
          for (const { near, far } of sights) {
            for (const one of [near, far as View]) expect(one.signals.toSorted()).toEqual(ONCE);
            expect(far?.downs).toEqual(["slept here"]);
          }
        });
        it("calls: fail with noconnection at both", () => {
          for (const { near, far } of sights) expect([near.calls, far?.calls]).toEqual([LOST, LOST]);
        });
        it("messages: dead letters, none of which arrives later", () => {
          for (const { near, far } of sights) {
            expect(near.dead).toEqual([...numbers("at"), ...numbers("noticed")]);
            expect(far?.got).toEqual([...numbers("before"), ...numbers("after")]);
          }
        });
        it("dispatches: re-routed, so one may run twice", () => {
          for (const { near, far } of sights) {
            expect(near.ends).toEqual([REROUTED, AT_FAR]);
            expect(far?.held).toEqual(["far"]);
          }
        });
        it("groups: its consumers leave, and join again", () => {
          for (const { near } of sights) expect(near.group).toEqual(["far", "near"]);
        });
        it("names: not found, then found again", () => {
          for (const { found } of sights)
            expect([found.during, found.after]).toEqual([undefined, found.before]);
        });
        it("singletons: start elsewhere; the old one ends when it goes on, and cannot write", () => {
          for (const { near, far, token, write } of sights)
            expect([later(near, token), far?.lost, write]).toEqual([true, [token], "ERR_STORE_FENCED"]);
        });
      });

      describe("a slow node", () => {
        const sights = sightsOf(() => [slowed], { limitMs: 60_000, ttlMs: 60_000 });

        it("links and monitors: stay", () => {
          for (const { near, far } of sights) {
            expect([near.signals, near.downs, far?.signals, far?.downs]).toEqual([[], [], [], []]);
            expect([near.links, far?.links]).toEqual([1, 1]);
          }
        });
        it("calls: wait, until their own timeout", () => {
          for (const { near, answer, found } of sights)
            expect([near.calls, answer]).toEqual([[], `far ${found.before}`]);
        });
        it("messages: wait in order; beyond queueBytes they are dead letters at once", () => {
          for (const { near, far } of sights) {
            const large = Array.from({ length: LARGE.to - LARGE.from }, (_, i) => LARGE.from + i);
            expect(near.dead.length).toBeGreaterThan(0);
            expect(near.dead.every((n) => large.includes(n))).toBe(true);
            const arrived = large.filter((n) => !near.dead.includes(n));
            expect(arrived.length).toBeGreaterThan(0);
            expect(far?.got).toEqual([...numbers("before"), ...arrived, ...numbers("after")]);
          }
        });
        it("dispatches: wait for its reply, until their deadline", () => {
          for (const { near } of sights) expect(near.ends).toEqual([AT_FAR]);
        });
        it("groups: its consumers stay", () => {
          for (const { near } of sights) expect(near.group).toEqual(["far", "near"]);
        });
        it("names: found, later", () => {
          for (const { found } of sights) expect(found.during).toBe(found.before);
        });
        it("singletons: stay, while it renews in time", () => {
          for (const { near, far, token } of sights)
            expect([near.tokens, far?.tokens, far?.isHeld]).toEqual([[], [token], true]);
        });
      });

      describe("the server restarts", () => {
        let own: NatsServer;
        beforeAll(async () => {
          own = await startNats();
        });
        afterAll(() => own.stop());
        const sights = sightsOf(() => [(pair) => serverRestarted(own)(pair)], {
          get nats() {
            return own;
          },
        });

        it("links and monitors: one noconnection at each end, at once", () => {
          for (const { near, far } of sights)
            for (const one of [near, far as View]) {
              expect(one.signals.toSorted()).toEqual(ONCE);
              expect(one.downs).toEqual(["unreachable here"]);
            }
        });
        it("calls: fail with noconnection at both", () => {
          for (const { near, far } of sights) expect([near.calls, far?.calls]).toEqual([LOST, LOST]);
        });
        it("messages: dead letters, none of which arrives later", () => {
          for (const { near, far } of sights) {
            expect(near.dead).toEqual([...numbers("at"), ...numbers("noticed")]);
            expect(far?.got).toEqual([...numbers("before"), ...numbers("after")]);
          }
        });
        it("dispatches: re-routed at both, so one may run twice", () => {
          for (const { near, far } of sights) {
            expect(near.ends).toEqual([REROUTED, AT_FAR]);
            expect(far?.ends).toEqual([{ reply: "far", deliveredTo: "far", reroutedFrom: ["near"] }]);
          }
        });
        it("groups: each side keeps its own consumers, until the nodes meet again", () => {
          for (const { near, far } of sights)
            expect([near.group, far?.group]).toEqual([
              ["far", "near"],
              ["far", "near"],
            ]);
        });
        it("names: not found, then found again", () => {
          for (const { found } of sights)
            expect([found.during, found.after]).toEqual([undefined, found.before]);
        });
        it("singletons: stay: their leases are in the store", () => {
          for (const { near, far, token, write } of sights)
            expect([near.tokens, far?.tokens, far?.isHeld, write]).toEqual([[], [token], true, "written"]);
        });
      });
    });
  });
});

/** What a process sees of a link and a monitor that end once. */
const ONCE = ["down noconnection", "exit noconnection"];
const LOST = ["ERR_CALLEE_EXITED noconnection"];
const REROUTED = { reply: "near", deliveredTo: "near", reroutedFrom: ["far"] };
const AT_FAR = { reply: "far", deliveredTo: "far", reroutedFrom: [] };

function numbers(when: keyof typeof SENT): number[] {
  const [from, to] = SENT[when];
  return Array.from({ length: to - from }, (_, i) => from + i);
}

/** A node ran the singleton once, with a token above the one before. */
function later({ tokens }: View, token: number): boolean {
  return tokens.length === 1 && (tokens[0] as number) > token;
}

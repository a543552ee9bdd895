// The table of docs/guide/nodes.md, cell by cell: two processes over a real server of NATS, with their leases in a real PostgreSQL. Each
// row has a cell for each thing: the title is the thing, and what becomes of it. spec/docs/nodes-table.spec.ts compares them.

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

      /** A row: strikes a pair for each fault, and then holds what came of it to each cell. */
      const row = (
        name: string,
        faults: () => readonly ((pair: Pair) => Promise<Sight>)[],
        cells: Readonly<Record<string, (sight: Sight, fault: number) => void>>,
        options: Partial<PairOptions> = {},
      ): void => {
        describe(name, () => {
          const sights: Sight[] = [];
          beforeAll(async () => {
            for (const fault of faults()) {
              const given = { program: program.args, nats, postgres, place: `row_${++places}`, ...options };
              await using pair = await Pair.begin(given);
              sights.push(await fault(pair));
            }
          });
          it.each(Object.entries(cells))("%s", (_, holds) => sights.forEach(holds));
        });
      };

      row("`kill -9`", () => [killed], {
        "links and monitors: one noconnection each, at the next frame": ({ near }) => {
          expect(near.signals.toSorted()).toEqual(ONCE);
          expect(near.downs).toEqual(["unreachable here"]);
        },
        "calls: fail with noconnection": callsLost,
        "messages: dead letters": deadLetters,
        "dispatches: re-routed": rerouted,
        "groups: its consumers leave": consumersLeft,
        "names: found no more": notFound,
        "singletons: start elsewhere when the lease is over": ({ near, token }) => {
          expect([later(near, token), near.isHeld]).toEqual([true, true]);
        },
      });

      row("a stop in order", () => [stopped], {
        "links and monitors: one shutdown each, as its processes end": ({ near }) => {
          expect(near.signals.toSorted()).toEqual(["down shutdown", "exit shutdown"]);
          expect(near.downs).toEqual(["left there"]);
        },
        "calls: fail with shutdown": ({ near }) => {
          expect(near.calls).toEqual(["ERR_CALLEE_EXITED shutdown"]);
        },
        "messages: dead letters": deadLetters,
        "dispatches: re-routed": rerouted,
        "groups: its consumers leave": consumersLeft,
        "names: found no more": notFound,
        "singletons: end first, then start elsewhere at once": ({ near, token }) => {
          expect(later(near, token)).toBe(true);
        },
      });

      row("cut, one way", () => [cut("sent"), cut("received")], {
        "links and monitors: one noconnection at each end": endedOnce,
        "calls: fail with noconnection at both": allCallsLost,
        "messages: dead letters at their sender, though some arrive": ({ near, far }, fault) => {
          expect(near.dead).toEqual([...numbers("at"), ...numbers("noticed")]);
          expect(far?.dead).toEqual(numbers("at"));
          // The far node cannot send first, and then it cannot receive.
          const reached = fault === 0 ? far : near;
          expect(reached?.got).toEqual(expect.arrayContaining(numbers("at")));
        },
        "dispatches: re-routed at both, so one may run twice": reroutedAndHeld,
        "groups: each side keeps its own consumers": ownConsumers,
        "names: found on the own side only": notFound,
        "singletons: end on the side without the store, then start on the other": singletonMoved,
      });

      row("cut, both ways", () => [cut("both")], {
        "links and monitors: one noconnection at each end": endedOnce,
        "calls: fail with noconnection at both": allCallsLost,
        "messages: dead letters at their sender": ({ near, far }) => {
          expect(near.dead).toEqual([...numbers("at"), ...numbers("noticed")]);
          expect(far?.dead).toEqual(numbers("at"));
          expect([near.got, far?.got]).toEqual([[], numbers("before")]);
        },
        "dispatches: re-routed at both, so one may run twice": reroutedAndHeld,
        "groups: each side keeps its own consumers": ownConsumers,
        "names: found on the own side only": notFound,
        "singletons: end on the side without the store, then start on the other": singletonMoved,
      });

      row("the cut heals", () => [healed], {
        "links and monitors: stay ended; new ones are made": ({ near, far }) => {
          for (const one of [near, far as View]) {
            expect(one.signals.toSorted()).toEqual(ONCE);
            expect(one.links).toBe(1);
          }
        },
        "calls: stay failed; new ones are answered": ({ near, far, answer, found }) => {
          expect([near.calls, far?.calls]).toEqual([LOST, LOST]);
          expect(answer).toBe(`far ${found.before}`);
        },
        "messages: only new ones arrive": ({ far }) => {
          expect(far?.got).toEqual([...numbers("before"), ...numbers("after")]);
        },
        "dispatches: go to both sides again": ({ near }) => {
          expect(near.ends).toEqual([REROUTED, AT_FAR]);
        },
        "groups: have the consumers of both again": allConsumers,
        "names: found again, the same processes": ({ found }) => {
          expect(found.after).toBe(found.before);
        },
        "singletons: stay where they are; the old one cannot write": ({ near, far, token, write }) => {
          expect([later(near, token), near.isHeld, far?.tokens, far?.isHeld]).toEqual([
            ...[true, true],
            ...[[token], false],
          ]);
          expect(write).toBe("ERR_STORE_FENCED");
        },
      });

      row("killed, started again", () => [restarted], {
        "links and monitors: to a new process, if you make them": ({ near, far }) => {
          expect(near.signals.toSorted()).toEqual(ONCE);
          expect([near.links, far?.links]).toEqual([1, 1]);
        },
        "calls: to an old pid fail; the new process answers": ({ near, answer, found }) => {
          expect(near.calls).toEqual(LOST);
          expect(answer).toBe(`far ${found.after}`);
        },
        "messages: to an old pid are dead letters": ({ near, far }) => {
          expect(near.dead.slice(-10)).toEqual(Array.from({ length: 10 }, (_, i) => 40 + i));
          expect(far?.got).toEqual(numbers("after"));
        },
        "dispatches: go to its new consumers": ({ near }) => {
          expect(near.ends).toEqual([REROUTED, AT_FAR]);
        },
        "groups: its new consumers join": allConsumers,
        "names: lead to the new process": ({ found }) => {
          expect(found.after).toBeDefined();
          expect(found.after).not.toBe(found.before);
        },
        "singletons: stay where they are; it contends": ({ near, far, token }) => {
          expect([later(near, token), near.isHeld, far?.tokens]).toEqual([true, true, []]);
        },
      });

      row("`SIGSTOP`, `SIGCONT`", () => [suspended], {
        "links and monitors: one noconnection at each end, there when it goes on": ({ near, far }) => {
          for (const one of [near, far as View]) expect(one.signals.toSorted()).toEqual(ONCE);
          expect(far?.downs).toEqual(["slept here"]);
        },
        "calls: fail with noconnection at both": allCallsLost,
        "messages: dead letters, none of which arrives later": ({ near, far }) => {
          expect(near.dead).toEqual([...numbers("at"), ...numbers("noticed")]);
          expect(far?.got).toEqual([...numbers("before"), ...numbers("after")]);
        },
        "dispatches: re-routed, so one may run twice": ({ near, far }) => {
          expect(near.ends).toEqual([REROUTED, AT_FAR]);
          expect(far?.held).toEqual(["far"]);
        },
        "groups: its consumers leave, and join again": ({ near }) => {
          expect(near.group).toEqual(["far", "near"]);
        },
        "names: not found, then found again": foundAgain,
        "singletons: start elsewhere; the old one ends when it goes on, and cannot write": ({
          near,
          far,
          token,
          write,
        }) => {
          expect([later(near, token), far?.lost, write]).toEqual([true, [token], "ERR_STORE_FENCED"]);
        },
      });

      row(
        "a slow node",
        () => [slowed],
        {
          "links and monitors: stay": ({ near, far }) => {
            expect([near.signals, near.downs, far?.signals, far?.downs]).toEqual([[], [], [], []]);
            expect([near.links, far?.links]).toEqual([1, 1]);
          },
          "calls: wait, until their own timeout": ({ near, answer, found }) => {
            expect([near.calls, answer]).toEqual([[], `far ${found.before}`]);
          },
          "messages: wait in order; beyond queueBytes they are dead letters at once": ({ near, far }) => {
            const large = Array.from({ length: LARGE.to - LARGE.from }, (_, i) => LARGE.from + i);
            expect(near.dead.length).toBeGreaterThan(0);
            expect(near.dead.every((n) => large.includes(n))).toBe(true);
            const arrived = large.filter((n) => !near.dead.includes(n));
            expect(arrived.length).toBeGreaterThan(0);
            expect(far?.got).toEqual([...numbers("before"), ...arrived, ...numbers("after")]);
          },
          "dispatches: wait for its reply, until their deadline": ({ near }) => {
            expect(near.ends).toEqual([AT_FAR]);
          },
          "groups: its consumers stay": ({ near }) => {
            expect(near.group).toEqual(["far", "near"]);
          },
          "names: found, later": ({ found }) => {
            expect(found.during).toBe(found.before);
          },
          "singletons: stay, while it renews in time": ({ near, far, token }) => {
            expect([near.tokens, far?.tokens, far?.isHeld]).toEqual([[], [token], true]);
          },
        },
        { limitMs: 60_000, ttlMs: 60_000 },
      );

      row("the server restarts", () => [serverRestarted(nats)], {
        "links and monitors: one noconnection at each end, at once": ({ near, far }) => {
          for (const one of [near, far as View]) {
            expect(one.signals.toSorted()).toEqual(ONCE);
            expect(one.downs).toEqual(["unreachable here"]);
          }
        },
        "calls: fail with noconnection at both": allCallsLost,
        "messages: dead letters, none of which arrives later": ({ near, far }) => {
          expect(near.dead).toEqual([...numbers("at"), ...numbers("noticed")]);
          expect(far?.got).toEqual([...numbers("before"), ...numbers("after")]);
        },
        "dispatches: re-routed at both, so one may run twice": ({ near, far }) => {
          expect(near.ends).toEqual([REROUTED, AT_FAR]);
          expect(far?.ends).toEqual([REROUTED_BACK]);
        },
        "groups: each side keeps its own consumers, until the nodes meet again": allConsumers,
        "names: not found, then found again": foundAgain,
        "singletons: stay: their leases are in the store": ({ near, far, token, write }) => {
          expect([near.tokens, far?.tokens, far?.isHeld, write]).toEqual([[], [token], true, "written"]);
        },
      });
    });
  });
});

// ── cells that several rows have ────────────────────────────────────────────────────────────────────────────────

function endedOnce({ near, far }: Sight): void {
  for (const one of [near, far as View]) expect(one.signals.toSorted()).toEqual(ONCE);
}

function callsLost({ near }: Sight): void {
  expect(near.calls).toEqual(LOST);
}

function allCallsLost({ near, far }: Sight): void {
  expect([near.calls, far?.calls]).toEqual([LOST, LOST]);
}

function deadLetters({ near }: Sight): void {
  expect(near.dead).toEqual([...numbers("at"), ...numbers("noticed")]);
}

function rerouted({ near }: Sight): void {
  expect(near.ends).toEqual([REROUTED]);
}

/** Each node re-routes its own, and the consumer at the other end has it still. */
function reroutedAndHeld({ near, far }: Sight): void {
  expect([near.ends, far?.ends]).toEqual([[REROUTED], [REROUTED_BACK]]);
  expect([near.held, far?.held]).toEqual([["near"], ["far"]]);
}

function consumersLeft({ near }: Sight): void {
  expect(near.group).toEqual(["near"]);
}

function ownConsumers({ near, far }: Sight): void {
  expect([near.group, far?.group]).toEqual([["near"], ["far"]]);
}

function allConsumers({ near, far }: Sight): void {
  for (const one of [near, far]) expect(one?.group).toEqual(["far", "near"]);
}

function notFound({ found }: Sight): void {
  expect(found.during).toBeUndefined();
}

function foundAgain({ found }: Sight): void {
  expect([found.during, found.after]).toEqual([undefined, found.before]);
}

function singletonMoved({ near, far, token }: Sight): void {
  expect([far?.lost, later(near, token)]).toEqual([[token], true]);
}

/** What a process sees of a link and a monitor that end once. */
const ONCE = ["down noconnection", "exit noconnection"];
const LOST = ["ERR_CALLEE_EXITED noconnection"];
const REROUTED = { reply: "near", deliveredTo: "near", reroutedFrom: ["far"] };
const REROUTED_BACK = { reply: "far", deliveredTo: "far", reroutedFrom: ["near"] };
const AT_FAR = { reply: "far", deliveredTo: "far", reroutedFrom: [] };

function numbers(when: keyof typeof SENT): number[] {
  const [from, to] = SENT[when];
  return Array.from({ length: to - from }, (_, i) => from + i);
}

/** A node ran the singleton once, with a token above the one before. */
function later({ tokens }: View, token: number): boolean {
  return tokens.length === 1 && (tokens[0] as number) > token;
}

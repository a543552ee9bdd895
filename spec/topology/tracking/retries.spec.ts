// What a spout task has under way: a machine, held against a model that keeps a list of stories.

import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import type { PendingTuple } from "../../../lib/topology/tracking/pending-tuple.js";
import { type Cause, type Decision, Retries } from "../../../lib/topology/tracking/retries.js";

function tupleOf(id: unknown): PendingTuple {
  return {
    id,
    stream: "numbers",
    values: {},
    task: undefined,
    attempts: 0,
    setbacks: 0,
    born: 0,
    emittedAt: undefined,
    deadBecause: undefined,
    letters: 0,
    inFlight: false,
    onTasks: undefined,
    settled: false,
    serial: 0,
    trace: undefined,
  };
}

const acker = { name: "an acker" };

describe("the retries of a spout's task", () => {
  it("flies until its tree is done, and that counts once", () => {
    const pending = new Retries(3, false);
    const one = tupleOf(1);
    pending.emitted(one, 0, 7, acker);
    expect(pending.inFlight).toBe(1);
    expect(pending.done(0, 7)).toEqual({ type: "acked", pending: one });
    expect(pending.inFlight).toBe(0);
    expect(pending.done(0, 7)).toBeUndefined();
    expect(pending.failed(0, 7, "failed")).toBeUndefined();
  });

  it("knows both halves of a root's id", () => {
    const pending = new Retries(0, false);
    pending.emitted(tupleOf(1), 1, 2, acker);
    expect(pending.done(2, 1)).toBeUndefined();
    expect(pending.done(1, 3)).toBeUndefined();
    expect(pending.done(1, 2)?.type).toBe("acked");
  });

  it("is retried as often as there are retries, and each wait has its number", () => {
    const pending = new Retries(2, false);
    const one = tupleOf(1);
    const decisions: (Decision | undefined)[] = [];
    for (let root = 1; root <= 3; root++) {
      pending.emitted(one, 0, root, acker);
      decisions.push(pending.failed(0, root, root === 3 ? "expired" : "failed"));
    }
    expect(decisions).toEqual([
      { type: "retry", pending: one, attempt: 1 },
      { type: "retry", pending: one, attempt: 2 },
      { type: "failed", pending: one, failure: { type: "expired", attempts: 3, deadLettered: false } },
    ]);
  });

  it("has a dead letter when these have a reader, and has failed when the letter is done", () => {
    const pending = new Retries(0, true);
    const one = tupleOf(1);
    pending.emitted(one, 0, 1, acker);
    expect(pending.failed(0, 1, "expired")).toEqual({ type: "letter", pending: one, attempt: 0 });
    pending.emitted(one, 0, 2, acker);
    expect(one).toMatchObject({ attempts: 1, letters: 1, deadBecause: "expired" });
    expect(pending.done(0, 2)).toEqual({
      type: "failed",
      pending: one,
      failure: { type: "expired", attempts: 1, deadLettered: true },
    });
  });

  it("fails as it failed first, whatever becomes of the letter", () => {
    const pending = new Retries(0, true);
    const one = tupleOf(1);
    pending.emitted(one, 0, 1, acker);
    pending.failed(0, 1, "failed");
    pending.emitted(one, 0, 2, acker);
    expect(pending.failed(0, 2, "expired")).toMatchObject({
      type: "failed",
      failure: { type: "failed", attempts: 1, deadLettered: false },
    });
  });

  it("spends no retry when it came back, and waits longer each time in a row", () => {
    const pending = new Retries(1, false);
    const one = tupleOf(1);
    const fail = (root: number, cause: Cause): string => {
      pending.emitted(one, 0, root, acker);
      return told(pending.failed(0, root, cause) as Decision);
    };
    expect([fail(1, "returned"), fail(2, "returned"), fail(3, "failed")]).toEqual([
      "again 1",
      "again 2",
      "again 1",
    ]);
    expect([fail(4, "returned"), fail(5, "failed")]).toEqual(["again 1", "failed failed after 2"]);
  });

  it("in flight spends no retry when the process ended; one that waited for its retry has spent its try", () => {
    const [flying, waiting] = [tupleOf(1), tupleOf(2)];
    const before = new Retries(1, false);
    before.emitted(flying, 0, 1, acker);
    before.emitted(waiting, 0, 2, acker);
    before.failed(0, 2, "failed");
    const after = new Retries(1, false);
    for (const [root, one] of [flying, waiting].entries()) {
      after.inherit(one);
      after.emitted(one, 1, root + 1, acker);
    }
    expect(told(after.failed(1, 1, "failed") as Decision)).toBe("again 1");
    expect(told(after.failed(1, 2, "failed") as Decision)).toBe("failed failed after 2");
  });

  it("fails for that all the same when there are no retries at all", () => {
    const pending = new Retries(0, false);
    pending.emitted(tupleOf(1), 0, 1, acker);
    expect(told(pending.failed(0, 1, "returned") as Decision)).toBe("failed failed after 1");
  });

  it("fails with its acker, and only that acker's does", () => {
    const pending = new Retries(0, false);
    const other = { name: "another" };
    pending.emitted(tupleOf(1), 0, 1, acker);
    pending.emitted(tupleOf(2), 0, 2, other);
    pending.emitted(tupleOf(3), 0, 3, acker);
    const gone = pending.ackerGone(acker);
    expect(gone.map(({ type, pending: { id } }) => [type, id]).sort()).toEqual([
      ["failed", 1],
      ["failed", 3],
    ]);
    expect(pending.inFlight).toBe(1);
    expect(pending.ackerGone(acker)).toEqual([]);
  });
});

// ── against a model ────────────────────────────────────────────────────────────────────────────────────────────────

type Step =
  | { readonly do: "emit" }
  | { readonly do: "done" | Cause; readonly pick: number }
  | { readonly do: "acker"; readonly acker: 0 | 1 | 2 }
  | { readonly do: "stray" }
  /** The spout's process ends, and the next has its tuples. */
  | { readonly do: "end" };

const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.constant<Step>({ do: "emit" }) },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constantFrom<"done" | Cause>("done", "failed", "expired", "returned"),
        pick: fc.nat(),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant("acker" as const),
        acker: fc.constantFrom(0 as const, 1 as const, 2 as const),
      }),
    },
    { weight: 1, arbitrary: fc.constant<Step>({ do: "stray" }) },
    { weight: 1, arbitrary: fc.constant<Step>({ do: "end" }) },
  ),
  { maxLength: 120 },
);

/** The story of one tuple: how each of its flights ended, in order; the last may be open. */
interface Story {
  readonly id: number;
  readonly flights: {
    readonly root: number;
    readonly acker: number;
    end: "done" | Cause | "ended" | undefined;
  }[];
}

/** What ought to become of a tuple with this story: read off the whole of it, from its beginning. */
function judge({ flights }: Story, retries: number, letters: boolean): string {
  const all = flights.map(({ end }) => end);
  if (all.at(-1) === undefined) return "flies";
  // A flight that failed by no fault of its own is as if it had not been; without retries it counts as any other.
  const ends =
    retries === 0
      ? all.map((end) => (end === "returned" ? "failed" : end))
      : all.filter((end) => end !== "returned" && end !== "ended");
  const setbacks = retries === 0 ? 0 : all.length - 1 - all.findLastIndex((end) => end !== "returned");
  const tries = ends.slice(0, retries + 1);
  const sent = ends.slice(retries + 1);
  if (tries.includes("done")) return "acked";
  if (setbacks > 0) return `${tries.length <= retries ? "again" : "letter"} ${setbacks}`;
  if (tries.length <= retries) return `again ${tries.length}`;
  const outcome = `failed ${tries[retries]} after ${retries + 1}`;
  if (letters && sent.includes("done")) return `${outcome}, lettered`;
  return letters && sent.length <= retries ? `letter ${sent.length}` : outcome;
}

function told(decision: Decision): string {
  switch (decision.type) {
    case "acked":
      return "acked";
    case "retry":
      return `again ${decision.attempt}`;
    case "letter":
      return `letter ${decision.attempt}`;
    case "failed": {
      const { type, attempts, deadLettered } = decision.failure;
      return `failed ${type} after ${attempts}${deadLettered ? ", lettered" : ""}`;
    }
    default:
      return decision satisfies never;
  }
}

describe("any history", () => {
  test.prop([steps, fc.nat({ max: 3 }), fc.boolean()], { numRuns: 150 })(
    "comes out as its stories say, and each tuple ends once, acked or failed",
    (history, retries, letters) => {
      let pending = new Retries(retries, letters);
      const ackers = [{}, {}, {}];
      const stories = new Map<PendingTuple, Story>();
      const ended: PendingTuple[] = [];
      let roots = 0;
      const fly = (one: PendingTuple): void => {
        const root = ++roots;
        const acker = (root * 7) % 3;
        pending.emitted(one, -root, root, ackers[acker] as object);
        (stories.get(one) as Story).flights.push({ root, acker, end: undefined });
      };
      const record = (one: PendingTuple, end: "done" | Cause, decision: Decision | undefined): void => {
        const story = stories.get(one) as Story;
        (story.flights.at(-1) as Story["flights"][number]).end = end;
        expect(decision?.pending).toBe(one);
        expect(told(decision as Decision)).toBe(judge(story, retries, letters));
        if (decision?.type === "acked" || decision?.type === "failed") ended.push(one);
        else fly(one);
      };
      const open = (): PendingTuple[] =>
        [...stories].filter(([, { flights }]) => flights.at(-1)?.end === undefined).map(([one]) => one);
      for (const step of history) {
        const flying = open();
        if (step.do === "emit") {
          const one = tupleOf(stories.size);
          stories.set(one, { id: stories.size, flights: [] });
          fly(one);
        } else if (step.do === "stray") {
          expect(pending.done(1, 1)).toBeUndefined();
          expect(pending.failed(-1, 2, "failed")).toBeUndefined();
        } else if (step.do === "end") {
          // Without retries it is the source's affair.
          if (retries === 0) continue;
          pending = new Retries(retries, letters);
          for (const one of flying) {
            (stories.get(one)?.flights.at(-1) as Story["flights"][number]).end = "ended";
            pending.inherit(one);
            fly(one);
          }
        } else if (step.do === "acker") {
          const of = flying.filter((one) => stories.get(one)?.flights.at(-1)?.acker === step.acker);
          const decisions = pending.ackerGone(ackers[step.acker] as object);
          expect(new Set(decisions.map((decision) => decision.pending))).toEqual(new Set(of));
          expect(decisions).toHaveLength(of.length);
          for (const decision of decisions) record(decision.pending, "returned", decision);
        } else if (flying.length > 0) {
          const one = flying[step.pick % flying.length] as PendingTuple;
          const { root } = (stories.get(one) as Story).flights.at(-1) as Story["flights"][number];
          const decision =
            step.do === "done" ? pending.done(-root, root) : pending.failed(-root, root, step.do);
          record(one, step.do, decision);
        }
        expect(pending.inFlight).toBe(open().length);
        expect(new Set(ended).size).toBe(ended.length);
        for (const one of stories.keys()) expect(one.attempts).toBeLessThanOrEqual(retries + 1);
      }
      expect(ended.length + pending.inFlight).toBe(stories.size);
    },
  );
});

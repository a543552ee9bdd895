// As outcomes.spec.ts, for what the users, conversations and members of a consumer group share.

import { ConsumerGroup, consumer, type Pid, type System } from "signalbox";
import { describe, test } from "vitest";
import { expectAllOutcomes } from "../support/outcomes.js";

/** A process that does one thing when it gets a message. */
function does(system: System, what: () => void): Pid<unknown> {
  const pid = system.spawn<unknown>({ handle: () => what() });
  system.send(pid, "go");
  return pid;
}

/** A consumer of the group that works until it is told to stop. */
function worker(system: System, group: ConsumerGroup, id: string): Pid<unknown> {
  const pid = system.spawn(consumer(() => undefined)) as unknown as Pid<unknown>;
  group.join(pid, { id });
  return pid;
}

describe("a search with reduction sees the outcomes of one without:", () => {
  test("code looks at the load of a consumer", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const group = new ConsumerGroup();
      worker(system, group, "a");
      void system.dispatch(group, "work");
      does(system, () => {
        const [one] = group.consumers;
        seen.load = `${one?.inFlight} ${one?.delivered}`;
      });
    }));

  test("code looks at the members of a group that no system knows yet", () =>
    expectAllOutcomes(
      (sim, seen) => {
        const system = sim.system();
        const group = new ConsumerGroup();
        const pid = system.spawn(consumer(() => undefined));
        does(system, () => {
          seen.members = group.consumers.length;
        });
        does(system, () => group.join(pid));
      },
      ["members: 0", "members: 1"],
    ));

  test("a routing function changes while a dispatch begins", () =>
    expectAllOutcomes(
      (sim, seen) => {
        const system = sim.system();
        const group = new ConsumerGroup({ patienceMs: 0 });
        worker(system, group, "a");
        does(system, () => {
          system.dispatch(group, "work").then(
            ({ deliveredTo }) => {
              seen.end = deliveredTo;
            },
            (error) => {
              seen.end = error.name;
            },
          );
        });
        does(system, () => {
          group.route = () => undefined;
        });
      },
      ["end: NoConsumerError", "end: a"],
    ));

  test("a caller gives up a dispatch while its consumer acknowledges", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const group = new ConsumerGroup();
      const work = consumer((_payload, delivery) => {
        seen.acknowledged = delivery.ack();
      });
      group.join(system.spawn(work), { id: "a" });
      const giveUp = new AbortController();
      system.dispatch(group, "work", { signal: giveUp.signal }).catch(() => undefined);
      does(system, () => giveUp.abort());
    }));
});

// Systems joined by a wire whose groups know each other: what a cluster gives the groups, without a cluster.

import type { Pid, System } from "signalbox";
import { type GroupPeers, NodeGroups } from "../../../lib/node/groups/groups.js";
import type { GroupMessage } from "../../../lib/node/groups/messages.js";
import { Wire } from "../../support/wire.js";

interface Seat {
  readonly system: System;
  readonly groups: NodeGroups;
}

/** Nodes that a test connects and cuts off. */
export class Peers {
  readonly wire: Wire = new Wire({ copies: true });
  readonly #seats: Seat[] = [];

  join(name: string): Seat {
    const system = this.wire.join(name);
    const peers: GroupPeers = {
      system,
      groupsOf: (node) => {
        const there = this.#seats.find((seat) => seat.system.node.id === node.id) as Seat;
        return system.pidAt(there.system.address(there.groups.pid)) as Pid<GroupMessage>;
      },
    };
    const seat = { system, groups: new NodeGroups(peers) };
    this.#seats.push(seat);
    return seat;
  }

  /** Every node is told of every other one. */
  meet(): void {
    for (const [a, b] of this.#pairs()) a.groups.changed(b.system.node, true);
  }

  /** The connections of a system are lost. */
  cutOff(lost: System): void {
    for (const [a, b] of this.#pairs()) {
      if (a.system !== lost && b.system !== lost) continue;
      a.system.nodeDown(b.system.node.id);
      a.groups.changed(b.system.node, false);
    }
  }

  *#pairs(): Iterable<readonly [Seat, Seat]> {
    for (const a of this.#seats) for (const b of this.#seats) if (a !== b) yield [a, b];
  }
}

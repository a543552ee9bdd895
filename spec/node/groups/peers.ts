// Systems joined by a wire whose groups know each other: what a cluster gives the groups, without a cluster.

import type { Pid, System } from "signalbox";
import { type GroupFollower, type GroupPeers, NodeGroups } from "../../../lib/node/groups/groups.js";
import type { GroupMessage } from "../../../lib/node/groups/messages.js";
import { Wire } from "../../support/wire.js";

interface Seat {
  readonly system: System;
  readonly agent: Pid<GroupMessage>;
  readonly follower: GroupFollower;
}

/** Nodes that a test connects and cuts off. */
export class Peers {
  readonly wire: Wire = new Wire({ copies: true });
  readonly #seats: Seat[] = [];

  join(name: string): { readonly system: System; readonly groups: NodeGroups } {
    const system = this.wire.join(name);
    const peers: GroupPeers = {
      system,
      follow: (agent, follower) => {
        const seat = { system, agent, follower };
        this.#seats.push(seat);
        return () => void this.#seats.splice(this.#seats.indexOf(seat), 1);
      },
    };
    return { system, groups: new NodeGroups(peers) };
  }

  /** Every node knows every other one. */
  meet(): void {
    for (const [a, b] of this.#pairs())
      a.follower.up(a.system.pidAt(b.system.address(b.agent)) as Pid<GroupMessage>);
  }

  /** The connections of a system are lost. */
  cutOff(lost: System): void {
    for (const [a, b] of this.#pairs()) {
      if (a.system !== lost && b.system !== lost) continue;
      a.system.nodeDown(b.system.node.id);
      a.follower.down(b.system.node);
    }
  }

  *#pairs(): Iterable<readonly [Seat, Seat]> {
    for (const a of this.#seats) for (const b of this.#seats) if (a !== b) yield [a, b];
  }
}

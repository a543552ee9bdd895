// The queues of a store as channels.ts uses them: which table names their channels, and which messages have to be sent.

import type { Store, Table } from "../../store/index.js";
import type { CarriedQueues } from "../messages/channels.js";
import { MESSAGE_LIMITS } from "../messages/limits.js";
import { newRound } from "./rounds.js";
import { channels, queued } from "./tables.js";

/** Most messages that one look reads. Those behind wait: messages in front are sent first. */
const LOOKED_AT = 500;

export function carriedQueues(store: Store): CarriedQueues {
  return {
    store,
    table: channels as Table,
    naming: [],
    place: (queue) => ({ queue }),
    prefixOf: (queue) => queue,
    resend: async (queue) => {
      const limit = MESSAGE_LIMITS.portion;
      for (let after = 0; ; ) {
        const rows = await store.scan(queued, { index: "ready", prefix: [queue], after, limit });
        await newRound(store, queue, rows, { ready: queue, held: null }, { unsent: queue });
        after = rows.at(-1)?.number ?? after;
        if (rows.length < limit) return;
      }
    },
    suspect: async (queue) => {
      const rows = await store.scan(queued, { index: "ready", prefix: [queue], limit: LOOKED_AT });
      const sent = rows.find(({ unsent }) => unsent === null);
      if (sent === undefined) return undefined;
      return async () => {
        const [now] = await store.get(queued, [[sent.number]]);
        return now !== undefined && now.ready !== null && now.unsent === null && now.round === sent.round;
      };
    },
  };
}

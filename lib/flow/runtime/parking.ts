import { ConflictError } from "../../store/index.js";
import { flows } from "../journal/tables.js";
import type { Letter } from "../machine/state.js";
import { roomTopics } from "../queues/queues.js";
import type { HostState } from "./host-state.js";
import { lettersOf } from "./reading.js";

/** How a flow is given back. */
export interface Parked {
  readonly status: string;
  readonly due: number | null;
  /** Its journal has the cancellation: the wish for it is no reason to look at the flow again. */
  readonly isCancelled: boolean;
}

/** Gives a flow back to the store, if it has no mail behind `lastLetter`. Gives that mail. */
export function park(host: HostState, number: number, lastLetter: number, to: Parked): Promise<Letter[]> {
  return host.background.until(`park ${number}`, () => tryToPark(host, number, lastLetter, to));
}

async function tryToPark(
  host: HostState,
  number: number,
  lastLetter: number,
  { status, due, isCancelled }: Parked,
): Promise<Letter[]> {
  const { store, claim, queues } = host;
  for (;;) {
    const [row] = await store.get(flows, [[number]]);
    if (row?.holder !== claim.token) {
      // The answer to an earlier attempt was lost: the flow is in the store, and may be another host's by now.
      if (row !== undefined && row.due !== null) host.taking.alarmAt(row.due);
      return [];
    }
    const letters = await lettersOf(store, number, lastLetter);
    if (letters.length > 0) return letters;
    const wished = row.wish !== null && row.wish !== "pause" && !(row.wish === "cancel" && isCancelled);
    const at = wished ? 0 : due;
    // A flow that waits for people gives its slot back. A flow that waits for time or mail does so if its queue says so.
    const leaves = status === "paused" || (at !== 0 && queues.releases(row.slot));
    try {
      await store.commit({
        claim,
        expect: [{ table: flows, key: [number], is: { holder: row.holder, mail: row.mail, wish: row.wish } }],
        writes: [
          {
            type: "update",
            table: flows,
            key: [number],
            set: {
              status,
              due: at,
              holder: null,
              updated: host.now(),
              ...(status === "paused" && { wish: null }),
              ...(leaves && { slot: null }),
            },
          },
        ],
        notify: leaves ? roomTopics(row) : [],
      });
    } catch (error) {
      if (error instanceof ConflictError) continue;
      throw error;
    }
    if (at !== null) host.taking.alarmAt(at);
    return [];
  }
}

// The state of a session with another node in words, and how much it needs a look. Pure.

import type { NodeSummary } from "../../../admin/system/operations.js";
import { plural } from "./format.js";

export interface NodeWords {
  readonly tone: "good" | "warn" | "bad" | "quiet";
  /** Undefined: nothing needs to be said. */
  readonly why: string | undefined;
}

export function nodeWords({ state, session }: Pick<NodeSummary, "state" | "session">): NodeWords {
  switch (state) {
    case "here":
      return { tone: "quiet", why: "this system" };
    case "up": {
      const { credit, queued, lost, gaps } = session ?? {};
      if (credit !== undefined && credit.frames <= 0)
        return {
          tone: "warn",
          why: `no credit: ${plural(queued?.signals ?? 0, "signal")} wait for the other node`,
        };
      if ((lost ?? 0) > 0)
        return { tone: "warn", why: `${plural(lost as number, "signal")} lost when an epoch ended` };
      return {
        tone: "good",
        why: (gaps ?? 0) > 0 ? `${plural(gaps as number, "gap")} found and closed` : undefined,
      };
    }
    case "suspect":
      return { tone: "warn", why: "nothing was heard for half of the limit" };
    case "hello":
      return { tone: "warn", why: "the nodes introduce themselves" };
    case "refused":
      return { tone: "bad", why: "the other node refuses: another secret, version or name" };
    case "absent":
      return { tone: "bad", why: "nothing is heard of it" };
    case "left":
      return { tone: "quiet", why: "it has said goodbye" };
    default:
      return state satisfies never;
  }
}

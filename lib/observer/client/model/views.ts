// The views that the page watches, as the feed fills them. A value is a whole one with all changes since; a change of another revision
// than the one at hand means that something was missed, and then the stream is asked for again.

import type { Fault } from "../../../admin/fault.js";
import type { Json } from "../../../admin/json-view.js";
import { applied, type Patch } from "../../feed/difference.js";

export type { Fault };

export interface ViewState {
  /** The last value. It stays while an error is shown, and while another whole one comes. */
  readonly value?: Json;
  readonly error?: Fault | undefined;
  /** The number of the value in the stream. Undefined: no whole value has come since the stream began. */
  readonly revision: number | undefined;
}

export type FeedEvent =
  | { readonly type: "whole"; readonly key: string; readonly revision: number; readonly value: Json }
  | {
      readonly type: "change";
      readonly key: string;
      readonly revision: number;
      readonly from: number;
      readonly patch: Patch;
    }
  | { readonly type: "fault"; readonly key: string; readonly error: Fault }
  | { readonly type: "reset"; readonly key: string };

export const viewBegin: ViewState = { revision: undefined };

/** A view after an event of the feed. Undefined: the event does not fit, and the stream has to begin again. */
export function decideView(view: ViewState, event: FeedEvent): ViewState | undefined {
  switch (event.type) {
    case "whole":
      return { value: event.value, revision: event.revision };
    case "change":
      if (view.revision !== event.from || view.value === undefined) return undefined;
      return { value: applied(view.value, event.patch), revision: event.revision };
    case "fault":
      return { ...view, error: event.error };
    case "reset":
      return { ...view, revision: undefined };
    default:
      return event satisfies never;
  }
}

/** A view when its stream begins again: numbers of revisions mean nothing in another stream. */
export const viewAgain = (view: ViewState): ViewState => ({ ...view, revision: undefined });

/** An event of the stream. Undefined: a later version's, which this page does not know. @throws SyntaxError */
export function feedEvent(type: string, data: string): FeedEvent | undefined {
  if (!["whole", "change", "fault", "reset"].includes(type)) return undefined;
  return { type, ...(JSON.parse(data) as object) } as FeedEvent;
}

/** The name of a view in the feed: the same question has the same one, in whatever order its arguments are written. */
export function viewKey(op: string, args: Readonly<Record<string, unknown>>): string {
  const sorted = Object.entries(args)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `${op} ${JSON.stringify(Object.fromEntries(sorted))}`;
}

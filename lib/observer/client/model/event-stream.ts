// Reads a text/event-stream (https://html.spec.whatwg.org/multipage/server-sent-events.html) piece by piece. EventSource cannot send
// a header, and a token in a URL would end in logs.

export interface StreamEvent {
  readonly type: string;
  readonly data: string;
}

/** Characters of an event that has not ended. More of them is a stream that this page does not read. */
export const MAX_EVENT = 16_000_000;

export interface StreamState {
  /** The line that has begun. */
  readonly rest: string;
  readonly type: string;
  readonly data: readonly string[];
  /** Characters of the event so far. */
  readonly size: number;
}

export const streamBegin: StreamState = { rest: "", type: "message", data: [], size: 0 };

/** The events that end in this piece. @throws RangeError when one does not end */
export function readStream(
  state: StreamState,
  piece: string,
): readonly [StreamState, readonly StreamEvent[]] {
  const events: StreamEvent[] = [];
  // A carriage return at the end may be half of a line end.
  const lines = (state.rest + piece).split(/\r\n|\n|\r(?!$)/);
  const rest = lines.pop() as string;
  let { type, size } = state;
  let data = [...state.data];
  for (const line of lines) {
    if (line === "") {
      if (data.length > 0) events.push({ type, data: data.join("\n") });
      type = "message";
      data = [];
      size = 0;
      continue;
    }
    size += line.length;
    const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "event") type = value;
    else if (field === "data") data.push(value);
  }
  if (size + rest.length > MAX_EVENT)
    throw new RangeError(`an event of the feed has over ${MAX_EVENT} characters`);
  return [{ rest, type, data, size }, events];
}

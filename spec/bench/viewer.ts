// A client of an observer, without a page: it asks for the views of the page of processes, and applies the differences.

import { applied, type Patch } from "../../lib/observer/feed/difference.js";
import type { Seen, Viewer } from "./observer.js";

/** What the page of processes shows, and the overview above it. */
const VIEWS = [
  { key: "top", op: "system.top", args: { by: "handled", limit: 50 }, hz: 4 },
  { key: "overview", op: "system.overview", args: {}, hz: 1 },
];

interface FeedEvent {
  readonly key: string;
  readonly value?: unknown;
  readonly patch?: Patch;
}

/** Resolves when the first answer is there. */
export async function openViewer({ url, token }: { url: string; token: string }): Promise<Viewer> {
  const gone = new AbortController();
  let came: () => void = () => undefined;
  let failed: (error: Error) => void = () => undefined;
  const first = new Promise<void>((resolve, reject) => {
    came = resolve;
    failed = reject;
  });
  let answers = 0;
  let top: unknown;
  const take = (type: string, { key, value, patch }: FeedEvent): void => {
    if (type === "fault") failed(new Error(`the view ${key} failed`));
    if (key !== "top" || (type !== "whole" && type !== "change")) return;
    top = type === "whole" ? value : applied(top as never, patch as Patch);
    answers++;
    came();
  };
  const response = await fetch(new URL("api/feed", url.replace(/#.*/, "")), {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ views: VIEWS }),
    signal: gone.signal,
  });
  if (!response.ok) throw new Error(`the observer answered ${response.status}: ${await response.text()}`);
  const reading = read(response, take).catch((error: unknown) => {
    if (!gone.signal.aborted) throw error;
  });
  await Promise.race([first, reading]);
  return {
    end: async (): Promise<Seen> => {
      gone.abort();
      await reading;
      return { answers, total: (top as { readonly total: number }).total };
    },
  };
}

async function read(response: Response, take: (type: string, event: FeedEvent) => void): Promise<void> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    const events = text.split("\n\n");
    text = events.pop() as string;
    for (const event of events) {
      const type = /^event: ?(.*)$/m.exec(event)?.[1];
      const data = /^data: ?(.*)$/m.exec(event)?.[1];
      if (type !== undefined && data !== undefined) take(type, JSON.parse(data) as FeedEvent);
    }
  }
}

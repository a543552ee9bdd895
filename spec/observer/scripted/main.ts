// The scripted service as a program: it prints where its observer and its admin socket are, does what each line on its standard input says, and ends
// with its input.
//
// `--actions` lets its observer change things, and `--past` gives it a second flow host with a store of its own.
//
//     round             one round of work, with a crash and a re-route
//     break WHY         the printer breaks down
//     spawn COUNT       so many more processes
//     fast COUNT        opens a feed of COUNT differences of each view, as fast as its reader, and says where

import { createInterface } from "node:readline";
import { observer } from "signalbox/observer";
import { fastFeed } from "./fast-feed.js";
import { scripted } from "./service.js";

let listening = (_url: string): void => undefined;
const url = new Promise<string>((resolve) => {
  listening = resolve;
});
const actions = process.argv.includes("--actions");
const service = await scripted(
  () => [
    {
      id: "observer",
      start: observer({ port: 0, actions, traces: true, onListening: (at) => listening(at.url) }),
    },
  ],
  process.argv.includes("--past"),
);
const say = (value: object): void => console.log(JSON.stringify(value));
say({ url: await url, socket: service.socket });

let fast: Awaited<ReturnType<typeof fastFeed>> | undefined;

const DEEDS: Readonly<Record<string, (rest: string) => unknown>> = {
  round: () => service.round(),
  break: (why) => service.breakDown(why),
  fast: async (count) => {
    fast = await fastFeed(await url, Number(count));
    return { url: fast.url };
  },
  sent: () => ({ sent: fast?.sent ?? 0 }),
  spawn: (count) => {
    for (let n = 0; n < Number(count); n++)
      service.system.spawn({ handle: () => undefined }, { label: `idle-${n}` });
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const [, word = "", rest = ""] = /^(\w+) ?(.*)$/.exec(line) ?? [];
  const found = await DEEDS[word]?.(rest);
  say({ done: line, ...(typeof found === "object" && found) });
}
await fast?.close();
await service.stop();

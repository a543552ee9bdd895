// Prints by how many gzipped bytes a bundle of processes, supervisors and servers shrinks when a part of the library is
// left out: `node .ci/size-parts.mjs`. Code that parts share is counted for none of them.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";

const lib = fileURLToPath(new URL("../lib/", import.meta.url));
const ENTRY = `${lib}entry.js`;
const PARTS = {
  supervisors: /^supervisor\//,
  servers: /^behaviour\//,
  "dispatch (`system.dispatch` itself)": /^dispatch\//,
  "the host: clock, turns, owners of promises": /^process\/(production|scheduler|origin)\.ts/,
  "links, monitors, exit signals": /^process\/(links|monitor|exit-signal)\.ts/,
  mailboxes: /^process\/mailbox\.ts/,
  "selective receive": /^process\/(receive|body-context)\.ts/,
  "calls and their timeouts": /^process\/(calls|request)\.ts/,
  timers: /^process\/(owned-timer|timer-queue)\.ts/,
  groups: /^process\/groups\.ts/,
  "reports of crashes and restarts": /report[\w-]*\.ts/,
  "errors with their texts": /\/errors\.ts/,
  "texts about values": /^process\/show\.ts/,
  "sender context": /^process\/sender-context\.ts/,
  "restart backoff": /^process\/backoff\.ts/,
  "other nodes, without a transport": /^process\/out-of-reach\.ts/,
};

/** The names that a module exports, for an empty one in its place. */
function empty(id) {
  const exported = readFileSync(id, "utf8").matchAll(
    /^export (?:abstract )?(?:const|let|function|class) (\w+)/gm,
  );
  return { code: [...exported].map(([, name]) => `export class ${name} {}`).join("\n"), moduleType: "js" };
}

async function weigh(without) {
  const bundle = await rolldown({
    input: ENTRY,
    external: /^(?:eventemitter3|nanoid)$/,
    platform: "neutral",
    tsconfig: `${lib}../tsconfig.json`,
    resolve: { extensionAlias: { ".js": [".ts", ".js"] } },
    shimMissingExports: true,
    logLevel: "silent",
    plugins: [
      {
        name: "parts",
        resolveId: (id) => (id === ENTRY ? id : null),
        load: (id) => {
          if (id === ENTRY) return 'export { System, defineServer, supervisor } from "./index.js";';
          return without?.test(id.slice(lib.length)) ? empty(id) : null;
        },
      },
    ],
  });
  const { output } = await bundle.generate({ minify: true });
  return gzipSync(output[0].code, { level: 9 }).length;
}

const whole = await weigh();
const rows = [["all of it", whole]];
for (const [part, files] of Object.entries(PARTS)) {
  const saved = whole - (await weigh(files));
  if (saved === 0) throw new Error(`no module of the bundle is part of ${part}: ${files}`);
  rows.push([part, saved]);
}
rows.sort((a, b) => b[1] - a[1]);
console.log(`| part | bytes |\n|---|---:|\n${rows.map((row) => `| ${row.join(" | ")} |`).join("\n")}`);

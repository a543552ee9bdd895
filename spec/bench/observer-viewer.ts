// A viewer of observer.ts: `observer-viewer.js URL TOKEN` looks at the processes as a page does, four times a second, until its standard input ends. Then
// it prints what it has seen.

import { openViewer } from "./viewer.js";

const [url = "", token = ""] = process.argv.slice(2);
const viewer = await openViewer({ url, token });
process.stdout.write("ready\n");
for await (const _ of process.stdin);
process.stdout.write(JSON.stringify(await viewer.end()));

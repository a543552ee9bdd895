// The demonstration: work in threads while the event loop stays free, a full queue, a job that hangs, a caller that gives up.

import { System, supervisor } from "signalbox";
import { blurred, imagePool } from "./image-pool.js";
import type { Image } from "./images.js";

const system = new System({ name: "photos", report: false });
const Pool = imagePool({ size: 2, maxQueue: 2 });
await system.start(supervisor({ children: [{ id: "images", start: Pool, shutdown: 10_000 }] }));
// By name: the handle still works after a restart of the pool.
const images = Pool.at(system, "images");

function image(width: number, height: number, grey = 0): Image {
  return { width, height, points: new Uint8Array(width * height).fill(grey) };
}
const codeOf = (error: Error & { readonly code?: string }): string => error.code ?? error.message;

// The heart beats in this thread; the work is in another one.
let beats = 0;
const heart = setInterval(() => beats++, 1);
const { points } = await blurred(images, image(500, 500, 100), 3);
clearInterval(heart);
console.log(`blurred ${points.length} points; the event loop stayed free: ${beats > 0}`);

// Two jobs run, two wait, one is refused at once.
const many = Array.from({ length: 5 }, () => blurred(images, image(200, 200), 3).then(() => "done", codeOf));
console.log((await Promise.all(many)).join(" "));

// A step of 0 never ends. The thread is killed, another one takes its place, and other jobs go on.
const hangs = images.with({ deadlineMs: 100 }).run.firstRow(image(10, 10), 0);
const fine = images.run.firstRow(image(10, 10, 100));
console.log(`row ${await fine}, and ${await hangs.catch(codeOf)}`);

const user = new AbortController();
const seen = images.with({ signal: user.signal, onProgress: () => user.abort(new Error("the user left")) });
console.log(await seen.run.blur(image(500, 500), 3).catch(codeOf));

await system.stop();

// What a program does with its time, from a profile of V8. A function of V8 itself, such as JSON.stringify, counts as the function
// that calls it.

/** The first that fits is it. */
const GROUPS = [
  [
    "writes to the pipe",
    ({ functionName }) => /^(writeUtf8String|writev|handleWriteReq)$/.test(functionName),
  ],
  ["JSON of what goes out", ({ functionName, url }) => functionName === "encode" && ours(url)],
  ["JSON of what comes in", ({ functionName, url }) => isDecoder(functionName, url)],
  ["garbage collector", ({ functionName }) => functionName === "(garbage collector)"],
  ["the component's own code", ({ url }) => url.endsWith("/word-count.mjs")],
  ["signalbox", ({ url }) => ours(url)],
  ["Node", () => true],
];

const ours = (url) => url.includes("/dist/");
const isDecoder = (name, url) =>
  name === "decodeUTF8" || (ours(url) && ["#take", "#isEnd", "push"].includes(name));

/** Shares of the time in which the program was not idle, by group, as they are listed. */
export function shares({ nodes, samples, timeDeltas }) {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const times = new Map(GROUPS.map(([name]) => [name, 0]));
  let all = 0;
  for (const [at, id] of samples.entries()) {
    const frame = frames.get(id);
    if (frame.functionName === "(idle)") continue;
    const [name] = GROUPS.find(([, fits]) => fits(frame));
    times.set(name, times.get(name) + timeDeltas[at]);
    all += timeDeltas[at];
  }
  return [...times].map(([what, us]) => ({ what, share: us / all }));
}

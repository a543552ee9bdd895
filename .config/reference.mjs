// Builds the API reference from TSDoc into .build/reference, and fails when fewer than 98 % of what users can see is
// documented, or when a function one starts with has no example. TypeDoc needs the compiler's JavaScript API, which
// TypeScript 7 does not have: its `import "typescript"` is answered with TypeScript 6 (docs/decisions/0030).

import { register } from "node:module";
import { fileURLToPath } from "node:url";

const hook = `
  const api = ${JSON.stringify(import.meta.resolve("typescript-api"))};
  export const resolve = (name, context, next) =>
    name === "typescript" ? { url: api, shortCircuit: true } : next(name, context);
`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
const { Application, OptionDefaults, ReflectionKind } = await import("typedoc");

const { ENTRIES } = await import("./entries.mjs");

const root = fileURLToPath(new URL("..", import.meta.url));
const LEAST = 0.98;
/** Each of these begins something, so its TSDoc shows how. */
const STARTS = [
  "System", "defineServer", "supervisor", "dynamicSupervisor", "ConsumerGroup", "consumer", "isolated",
  "topology", "spout", "bolt", "spoutFrom", "batchBolt", "windowBolt", "shellBolt", "shellSpout", "runComponent",
  "defineStateMachine", "task", "taskSupervisor", "taskStream", "Registry", "partitionSupervisor", "inspect", "Stash",
  "fairMailbox", "run", "httpServer", "pool", "circuitBreaker", "rateLimiter", "retryPolicy", "telemetry", "prometheus",
  "instrument", "fromXState", "explore", "simulate", "pipelineHost", "runPipeline", "definePipeline", "route", "queue", "testClock", "probe", "checkLinearizable", "assertLinearizable",
];

const app = await Application.bootstrap({
  entryPoints: ENTRIES.map((name) => `${root}lib/${name}.ts`),
  tsconfig: `${root}tsconfig.json`,
  name: "signalbox",
  readme: `${root}README.md`,
  out: `${root}.build/reference`,
  blockTags: [...OptionDefaults.blockTags, "@remedy"],
  excludeInternal: true,
  excludePrivate: true,
  excludeProtected: true,
  excludeExternals: true,
  skipErrorChecking: true,
  logLevel: "Error",
});
const project = await app.convert();
if (project === undefined) throw new Error("TypeDoc could not read lib");

/** What carries a comment of its own: exports, and the members that a user reads or writes. */
const COUNTED =
  ReflectionKind.Class | ReflectionKind.Interface | ReflectionKind.TypeAlias | ReflectionKind.Function |
  ReflectionKind.Variable | ReflectionKind.Enum | ReflectionKind.Property | ReflectionKind.Method |
  ReflectionKind.Accessor | ReflectionKind.Constructor | ReflectionKind.Namespace;
const commentOf = (item) =>
  item.comment ?? item.signatures?.find(({ comment }) => comment)?.comment ?? item.getSignature?.comment ??
  item.setSignature?.comment ?? item.type?.declaration?.comment ??
  item.type?.declaration?.signatures?.find(({ comment }) => comment)?.comment;
const items = project.getReflectionsByKind(COUNTED).filter((item) => {
  const inherited = item.inheritedFrom !== undefined || item.signatures?.every(({ inheritedFrom }) => inheritedFrom);
  const where = item.sources?.[0]?.fullFileName ?? "";
  // The library constructs its errors, and users catch them. A discriminant such as `type: "exit"` documents itself.
  const ofError = item.kindOf(ReflectionKind.Constructor) && item.parent?.children?.some(({ name }) => name === "code");
  const discriminant = item.type?.type === "literal";
  return !inherited && !ofError && !discriminant && where.startsWith(`${root}lib/`);
});
const missing = items.filter((item) => commentOf(item) === undefined);
const nameless = STARTS.filter((name) => {
  const found = items.find((item) => item.name === name && item.parent?.kindOf(ReflectionKind.Module));
  return found === undefined || !commentOf(found)?.blockTags.some(({ tag }) => tag === "@example");
});

if (!process.argv.includes("--check")) await app.generateDocs(project, `${root}.build/reference`);
const share = (items.length - missing.length) / items.length;
for (const item of missing) {
  const { fileName, line } = item.sources?.[0] ?? { fileName: "?", line: 0 };
  console.log(`no TSDoc: ${fileName}:${line} ${item.getFullName()}`);
}
for (const name of nameless) console.log(`no example: ${name}`);
console.log(`${items.length - missing.length} of ${items.length} documented (${(share * 100).toFixed(1)} %)`);
if (share < LEAST || nameless.length > 0) process.exitCode = 1;

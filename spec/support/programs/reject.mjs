// A program that leaves a promise rejected, and prints what it meets of that. The URLs after the first two arguments
// are copies of the library, each with a system that is at work meanwhile.

const [reason, listeners, ...urls] = process.argv.slice(2);

const REASONS = {
  error: () => Object.assign(new Error("of the host"), { code: "ERR_HOST" }),
  text: () => "only a text",
  nothing: () => undefined,
};

const say = (...words) => process.stdout.write(`${words.map(String).join(" ")}\n`);

for (const url of urls) {
  const { System } = await import(url);
  const system = new System({ name: "beside" });
  const echo = system.spawn({ handle: (ctx, to) => ctx.reply(to, "yes") });
  await system.call(echo, (to) => to);
}

const seen = (error) => (error instanceof Error ? `${error.name} ${error.code}` : String(error));
if (listeners === "rejection")
  process.on("unhandledRejection", (error, promise) => say("rejection", seen(error), promise === floating));
if (listeners === "exception")
  process.on("uncaughtException", (error, origin) => say("exception", seen(error), origin));
process.on("uncaughtExceptionMonitor", (error, origin) => say("monitor", seen(error), origin));
process.on("warning", (warning) => say("warning", warning.name));
process.on("exit", (code) => say("exit", code));

// From here on the stack is the same with and without the library. How the host came here is in the frames above it.
Error.stackTraceLimit = 2;
await new Promise(setImmediate);
const floating = Promise.reject(REASONS[reason]());
setImmediate(() => say("still here"));

// A program with a process in each copy of the library whose promise rejects, and one whose promise does not.

const say = (...words) => process.stdout.write(`${words.join(" ")}\n`);

const systems = [];
for (const [n, url] of process.argv.slice(2).entries()) {
  const { System } = await import(url);
  const system = new System({ name: `copy${n}`, report: false });
  system.events.on("exit", ({ pid, reason }) => say(pid, reason.type, reason.error?.message));
  system.spawn(
    async (ctx) => {
      await ctx.receive();
    },
    { label: "bystander" },
  );
  systems.push(system);
}
for (const system of systems) {
  // Work of one copy that sets the other going: the turn is not its own.
  const other = systems.find((one) => one !== system) ?? system;
  system.spawn(
    async () => {
      other.spawn(
        async (ctx) => {
          void Promise.reject(new Error("nobody awaits it"));
          await ctx.receive();
        },
        { label: "culprit" },
      );
    },
    { label: "starter" },
  );
}
process.on("exit", () => {
  for (const system of systems) say(system.name, system.population);
});
